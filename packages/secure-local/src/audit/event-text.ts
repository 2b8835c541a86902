// Writes an event as the middle of a JSON line: redacted, bounded, and free of everything that could end or forge a
// line.
import { createHmac, hash } from "node:crypto";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import type { AuditEvent, AuditSink } from "./audit-event.js";
import { TELLING } from "./call-records.js";
import { holdsKnownDigits } from "./number-secrets.js";
import { recordKey } from "./owned-files.js";
import {
  isSecretKey,
  mayHoldSecret,
  REDACTED,
  type ReachedAs,
  redactText,
  replaceKnown,
  secretsVersion,
} from "./secret-shapes.js";
import { followsFiles, renewSecrets } from "./secret-spellings.js";

// Copies a value with its secrets replaced and its size bounded, at any depth.
//
// What is kept does not depend on the order in which a caller wrote the members: what names the thing that a call reaches for comes
// first, then the shortest, and long ones share what is left. So nobody pushes the name of a file out by a long text before it.

/** Deeper than any call a person would want to read; the parser of messages stops at 64. */
const MAX_DEPTH = 32;
/** Characters of text kept in one record: enough for the longest SQL, small enough that a log line stays a line. */
const MAX_TEXT = 24_576;
/** Values kept in one record, so that a list of a million zeros costs little. */
const MAX_VALUES = 2_000;
/** Of a name of a member. Longer ones are no names. */
const MAX_NAME = 1_024;
/** Of a text that names what a call reaches for: SQL of `query_database` has no more. */
const MAX_TOLD = 20_000;
/** A secret that begins before a cut is found whole in so many characters more. */
const BEYOND = 4_096;

/** What one text may have. */
interface TextBudget {
  text: number;
  /** Whether anything was left out. */
  cut: boolean;
  /** Whether anything that is no secret for certain was taken for one; one for all parts of a value. */
  readonly guess: { made: boolean };
  /** Of what a call reaches for, a record has to say what it is: no more of it is taken for a secret than has to be. */
  readonly reached?: ReachedAs | undefined;
}

interface Budget extends TextBudget {
  values: number;
}

/** A copy that is safe to log. Never throws: what cannot be copied is named instead. */
export function redactValue(value: unknown): unknown {
  return copy(value, 0, wholeBudget());
}

function wholeBudget(): Budget {
  return { text: MAX_TEXT, values: MAX_VALUES, cut: false, guess: { made: false } };
}

/** One text that is safe to log. */
export function redactString(text: string): string {
  return bounded(text, wholeBudget());
}

/** What stands for a secret in a policy, and in a text in which its value was known. */
const STANDS_FOR_SECRET = /(\$\{secret:[^${}]*\}|\[secret [^[\]]*\])/;
/** What comes before a secret and is none: after the split a rule would take it for the value. */
const BEFORE_SECRET =
  /(?:(?:authorization|cookie)["']?[ \t]{0,10}[=:][ \t]{0,10}["']?)?(?:(?:bearer|basic|token)[ \t]{0,10})?$/i;

/** The same of a command or address as the policy has it: the names of its secrets stay, or nobody could read it. */
export function redactLaunch(text: string): string {
  const parts = replaceKnown(text).split(STANDS_FOR_SECRET);
  return parts.map((part, at) => (at % 2 === 1 ? part : withoutSecrets(part, at + 1 < parts.length))).join("");
}

function withoutSecrets(part: string, isFollowed: boolean): string {
  const end = isFollowed ? part.search(BEFORE_SECRET) : part.length;
  return redactString(part.slice(0, end)) + part.slice(end);
}

function copy(value: unknown, depth: number, budget: Budget): unknown {
  switch (typeof value) {
    case "string":
      return bounded(value, budget);
    case "number":
      return holdsKnownDigits(value) ? REDACTED : value;
    case "boolean":
      return value;
    case "object":
      if (value === null) return null;
      if (depth >= MAX_DEPTH) {
        budget.cut = true;
        return "[too deep]";
      }
      if (saysItself(value)) return copy(itself(value), depth + 1, budget);
      return Array.isArray(value) ? copyArray(value, depth, budget) : copyObject(value, depth, budget);
    case "undefined":
      return undefined;
    default:
      return `[${typeof value}]`;
  }
}

/** Numbers kept by their digits, dates and the like, which have no members to copy. */
function saysItself(value: object): value is { toJSON(): unknown } {
  return "toJSON" in value && typeof value.toJSON === "function";
}

function itself(value: { toJSON(): unknown }): unknown {
  try {
    return value.toJSON();
  } catch {
    return "[unreadable]";
  }
}

function copyArray(values: readonly unknown[], depth: number, budget: Budget): unknown[] {
  const kept = values.length <= budget.values ? values : values.slice(0, Math.max(0, budget.values - 1));
  const out = copyShared(
    kept.map((value) => ({ value })),
    depth,
    budget,
  );
  return kept === values ? out : [...out, left(values.length - kept.length, budget)];
}

function copyObject(object: object, depth: number, budget: Budget): Record<string, unknown> {
  const out: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const all = Object.keys(object);
  const toldAt = (key: string): number | undefined => (depth === 0 ? TOLD.get(key) : undefined);
  const keys =
    all.length <= budget.values
      ? all
      : [...all]
          .sort((a, b) => Number(toldAt(a) === undefined) - Number(toldAt(b) === undefined))
          .slice(0, Math.max(0, budget.values - 1));
  // However many names there are, something is left for what they name.
  const longest = Math.max(1, Math.min(MAX_NAME, Math.floor(budget.text / 2 / keys.length)));
  const names = keys.map((key) => {
    const room = toldAt(key) === undefined ? longest : MAX_NAME;
    const part: TextBudget = { text: room, cut: false, guess: budget.guess };
    const name = bounded(key, part);
    budget.text -= room - part.text;
    budget.cut ||= part.cut;
    return name;
  });
  const members = keys.map((key) => ({
    value: isSecretKey(key) ? HIDDEN : property(object, key),
    told: toldAt(key),
    reached: reachedBy(key),
  }));
  const copies = copyShared(members, depth, budget);
  // Two names may be one once their secrets are gone.
  for (const [index, name] of names.entries())
    out[Object.hasOwn(out, name) ? `${name} #${index + 1}` : name] = copies[index];
  if (keys !== all) out["…"] = left(all.length - keys.length, budget);
  return out;
}

function left(count: number, budget: Budget): string {
  budget.cut = true;
  return `[${count} more]`;
}

/** What stands for the value of a member that is named like a secret. */
const HIDDEN = Symbol("a secret by its name");
/** Members by which calls name what they reach for. */
const TOLD: ReadonlyMap<string, number> = new Map(
  ["command", "arguments", ...TELLING].map((name, place) => [name, place]),
);

/** Members that name a place by its path. */
const PLACES: ReadonlySet<string> = new Set(["path", "file"]);

/** Members that hold what is run, whatever tool they belong to. */
const RUN_MEMBERS: ReadonlySet<string> = new Set(["cmd", "script", "code", "args", "argv", "shell", "statement"]);

/** How a member names what the call reaches for, at any depth; undefined where it does not. */
function reachedBy(key: string): ReachedAs | undefined {
  if (PLACES.has(key)) return "place";
  return TOLD.has(key) || RUN_MEMBERS.has(key) ? "words" : undefined;
}

interface Member {
  readonly value: unknown;
  readonly reached?: ReachedAs | undefined;
  /** How early it names what the call reaches for; undefined where it does not. */
  readonly told?: number | undefined;
}

/** Copies of the members in their order. Each may have as much of the budget as each other, and what a short one leaves goes to the rest. */
function copyShared(members: readonly Member[], depth: number, budget: Budget): unknown[] {
  budget.values -= members.length;
  const sized = members.map(({ value, told, reached = budget.reached }, index) => ({
    ...{ value, told, reached, index },
    size: sizeOf(value, budget.text + 1),
  }));
  const reserved = reservedFor(sized, budget);
  const copies: unknown[] = [];
  // The arguments of a command are read from the first on: none of them pushes out one that stands before it.
  const inOrder = budget.reached !== undefined;
  const turns = inOrder ? sized : sized.sort((one, other) => one.size - other.size);
  for (const [done, { value, index, reached: how }] of turns.entries()) {
    const others = inOrder ? 1 : sized.length - done;
    const text = Math.floor(budget.text / others);
    const part: Budget = {
      text: text + (reserved.get(index) ?? 0),
      values: Math.floor(Math.max(0, budget.values) / others),
      cut: false,
      guess: budget.guess,
      reached: how,
    };
    const { values } = part;
    if (value === HIDDEN) part.guess.made = true;
    copies[index] = value === HIDDEN ? REDACTED : copy(value, depth + 1, part);
    budget.text += part.text - text;
    budget.values += part.values - values;
    budget.cut ||= part.cut;
  }
  return copies;
}

/** What is set aside for members that name what the call reaches for, by their places: those that are looked at first go first. */
function reservedFor(
  members: readonly { readonly told?: number | undefined; readonly index: number; readonly size: number }[],
  budget: Budget,
): ReadonlyMap<number, number> {
  const telling = members.filter(({ told }) => told !== undefined).sort((a, b) => (a.told ?? 0) - (b.told ?? 0));
  return new Map(
    telling.map(({ index, size }) => {
      const text = Math.min(size, MAX_TOLD, budget.text);
      budget.text -= text;
      return [index, text];
    }),
  );
}

/** Characters of all texts in a value, up to `most`; of what lies deeper than it is looked at, as many as there may be. */
function sizeOf(value: unknown, most: number): number {
  let size = 0;
  const waiting: unknown[] = [value];
  for (let looked = 0; waiting.length > 0; looked += 1) {
    if (looked > MAX_VALUES || size >= most) return most;
    const each = waiting.pop();
    if (typeof each === "string") size += each.length;
    else if (Array.isArray(each)) waiting.push(...(each.slice(0, MAX_VALUES) as unknown[]));
    else if (typeof each === "object" && each !== null) {
      for (const key of Object.keys(each).slice(0, MAX_VALUES)) {
        size += key.length;
        waiting.push(property(each, key));
      }
    }
  }
  return Math.min(size, most);
}

function property(object: object, key: string): unknown {
  try {
    return (object as Record<string, unknown>)[key];
  } catch {
    return "[unreadable]";
  }
}

/** The beginning and the end of what is too long: the middle says the least. */
function bounded(text: string, budget: TextBudget): string {
  const clean = (piece: string): string => {
    const known = replaceKnown(piece);
    const safe = redactText(piece, budget.reached, known);
    budget.guess.made ||= safe !== known;
    return safe;
  };
  if (text.length <= budget.text) {
    budget.text -= text.length;
    return clean(text);
  }
  // Rather one lost half of a surrogate pair than a record that grows with what a caller sends.
  const after = Math.floor(budget.text / 4);
  const before = budget.text - after;
  const lead = text.slice(0, before + BEYOND);
  const cleaned = clean(lead);
  // What stands at the border of a piece may be half a secret: none of it is kept, however short the piece has become.
  const first = cleaned.slice(
    0,
    Math.min(before, lead.length < text.length ? Math.max(0, cleaned.length - BEYOND) : before),
  );
  const last = after === 0 ? "" : endOf(text, { from: Math.max(before, text.length - after - BEYOND), after, clean });
  const cut = text.length - budget.text;
  [budget.text, budget.cut] = [0, true];
  return `${first}[${cut} characters cut]${last}`;
}

interface End {
  readonly from: number;
  /** Characters that are kept. */
  readonly after: number;
  readonly clean: (text: string) => string;
}

function endOf(text: string, { from, after, clean }: End): string {
  const cleaned = clean(text.slice(from));
  return cleaned.slice(Math.max(BEYOND, cleaned.length - after));
}

/** The event's fields as `,"name":value…`, in a fixed order. Fields that are undefined are left out. Never throws. */
export function eventText(event: AuditEvent): string {
  if (followsFiles) renewSecrets();
  const { id, connection, decision, duration_ms: duration } = event;
  const whole: string[] = [];
  const value = (name: "upstream" | "result" | "detail"): string => {
    const budget = wholeBudget();
    const written = `,"${name}":${valueText(event[name], budget)}`;
    if (budget.cut || budget.guess.made) whole.push(wholeText(name, json(event[name])));
    return written;
  };
  const words = (name: TextOf, given: string, usual = true): string => {
    const { written, isWhole } = usual ? usualText(given) : textOf(given);
    if (!isWhole) whole.push(wholeText(name, given));
    return `,"${name}":${written}`;
  };
  let text = `,"kind":${usualText(event.kind).written}`;
  if (id !== undefined) text += `,"id":${typeof id === "number" ? JSON.stringify(id) : textOf(id).written}`;
  if (connection !== undefined) text += `,"connection":${connection}`;
  if (event.principal !== undefined) text += words("principal", event.principal);
  if (event.client !== undefined) text += words("client", event.client);
  if (event.revision !== undefined) text += `,"revision":${usualText(event.revision).written}`;
  if (event.profile !== undefined) text += `,"profile":${usualText(event.profile).written}`;
  if (event.method !== undefined) text += words("method", event.method);
  if (event.tool !== undefined) text += words("tool", event.tool);
  if (event.server !== undefined) text += words("server", event.server);
  if (event.arguments !== undefined) text += argumentsText(event.arguments, whole);
  if (decision) {
    const line = decision.line === undefined ? "" : `,"line":${decision.line}`;
    text += `,"decision":{"allowed":${decision.allowed},"rule":${usualText(decision.rule).written}${line}}`;
  }
  if (duration !== undefined) text += `,"duration_ms":${JSON.stringify(duration)}`;
  if (event.upstream !== undefined) text += value("upstream");
  if (event.outcome !== undefined) text += `,"outcome":${usualText(event.outcome).written}`;
  if (event.result !== undefined) text += value("result");
  if (event.error_id !== undefined) text += words("error_id", event.error_id, false);
  if (event.error !== undefined) text += words("error", event.error, false);
  if (event.policy !== undefined) text += `,"policy":${usualText(event.policy).written}`;
  if (event.detail !== undefined) text += value("detail");
  return whole.length === 0 ? text : `${text},"whole_hmac":{${whole.join(",")}}`;
}

/** Fields that are a text of somebody else's. */
type TextOf = "principal" | "client" | "method" | "tool" | "server" | "error_id" | "error";

/** Tells two texts apart that a record cannot hold as they are, and tells nobody without the key what they were. */
function wholeText(name: string, text = ""): string {
  return `"${name}":"${createHmac("sha256", recordKey()).update(text).digest("hex")}"`;
}

/** A text as a record has it. */
interface Written {
  readonly written: string;
  /** Whether that is all that was given, but for secrets that are known. */
  readonly isWhole: boolean;
}

/** Texts kept with their written form: the names, rules and outcomes of a server fit many times over. */
const MAX_USUAL = 512;
/** Longer texts are rarely the same twice. */
const MAX_USUAL_LENGTH = 128;
const usual = new Map<string, Written>();
let usualVersion = 0;

/** A text of which a server has few: its written form is made once. */
function usualText(text: string): Written {
  if (usualVersion !== secretsVersion()) usual.clear();
  usualVersion = secretsVersion();
  const known = usual.get(text);
  if (known !== undefined) return known;
  const made = textOf(text);
  if (text.length <= MAX_USUAL_LENGTH) {
    if (usual.size >= MAX_USUAL) usual.clear();
    usual.set(text, made);
  }
  return made;
}

function textOf(text: string): Written {
  const isShort = text.length <= MAX_TEXT;
  if (isShort && !mayHoldSecret(text)) return { written: JSON.stringify(text), isWhole: true };
  const redacted = redactString(text);
  return { written: escapeUnseen(JSON.stringify(redacted)), isWhole: isShort && redacted === replaceKnown(text) };
}

/**
 * The common value is short, holds no secret and is written as it is; only others are copied, cut and redacted first. What
 * a reader of the log would not see counts as what may hold a secret, so that a plain text needs no second look.
 */
function valueText(value: unknown, budget: Budget = wholeBudget()): string {
  const plain = hasLongText(value) ? undefined : json(value);
  if (plain !== undefined && plain.length <= MAX_TEXT && !mayHoldSecret(plain)) return plain;
  return escapeUnseen(json(copy(value, 0, budget)) ?? "null");
}

/** What a record cannot hold whole is told by its hash, so that whoever has the call can show that it was this one. */
function argumentsText(value: unknown, others: string[]): string {
  const budget = wholeBudget();
  const text = `,"arguments":${valueText(value, budget)}`;
  // A plain hash would let whoever knows the rest find out a short secret by trying.
  if (budget.guess.made) others.push(wholeText("arguments", json(value)));
  const whole = budget.cut ? json(value) : undefined;
  return whole === undefined ? text : `${text},"arguments_sha256":"${hash("sha256", whole, "hex")}"`;
}

/** Whether a text right inside the value is longer than a record keeps: a megabyte need not be written to be cut. */
function hasLongText(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  try {
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key];
      if (typeof member === "string" && member.length > MAX_TEXT) return true;
    }
    return false;
  } catch {
    return true;
  }
}

/** Undefined when the value cannot be written: it is cyclic, too deep, or throws when it is read. */
function json(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

// Seals records into a chain: each line carries the hash of the line before and, last, the hash of its own bytes.
//
//   {"seq":7,"prev":"<hash of line 6>","time":"…","kind":"…",…,"hash":"<sha-256 of all bytes before ,\"hash\">"}
//
// Whoever edits, removes, inserts or moves a line breaks the chain at that line. What the chain alone cannot show is
// that whole lines were cut off at the end: for that see `log-head.ts`.

/** The `prev` of the first line of a file. */
export const GENESIS: string = "0".repeat(64);

/** The place of a record in its file: its number, counted from 1, and its hash. */
export interface RecordLink {
  readonly seq: number;
  readonly hash: string;
}

const PREFIX = /^\{"seq":([1-9][0-9]{0,15}),"prev":"([0-9a-f]{64})","time":"/;
const SUFFIX = /^,"hash":"([0-9a-f]{64})"\}$/;
const SUFFIX_LENGTH = ',"hash":""}'.length + 64;
/** Longer than any line the limits of a record allow, each character written as an escape included. */
export const MAX_LINE_BYTES: number = 1024 * 1024;

/** The bytes of a record before its hash. */
export function lineBody(seq: number, prev: string, fields: string): string {
  return `${lineBegin(seq, prev)}${isoTime(Date.now())}"${fields}`;
}

/** What a record begins with, as its place alone makes it. */
export function lineBegin(seq: number, prev: string): string {
  return `{"seq":${seq},"prev":"${prev}","time":"`;
}

/** Hash of a body, as 64 hexadecimal digits. */
export function bodyHash(body: string | Buffer): string {
  return hash("sha256", body, "hex");
}

/** What ends the line of a body that has this hash, its newline included. */
export function sealText(digest: string): string {
  return `,"hash":"${digest}"}\n`;
}

/** Reads one line (without its newline). Returns its place and the hash it claims to follow, or what is wrong with it. */
export function readLine(line: Buffer): (RecordLink & { readonly prev: string }) | string {
  const end = line.length - SUFFIX_LENGTH;
  if (end <= 0) return "the line is not a record of this program";
  const suffix = SUFFIX.exec(line.toString("latin1", end));
  const prefix = PREFIX.exec(line.toString("latin1", 0, Math.min(end, 128)));
  if (suffix?.[1] === undefined || prefix?.[2] === undefined) return "the line is not a record of this program";
  if (bodyHash(line.subarray(0, end)) !== suffix[1]) return "the line was changed: its hash does not fit its text";
  return { seq: Number(prefix[1]), prev: prefix[2], hash: suffix[1] };
}

let lastTime = 0;
let lastText = "";

/** Most records of a burst fall into one millisecond, and the text of a date costs as much as the rest of a line. */
function isoTime(now: number): string {
  if (now !== lastTime) {
    lastTime = now;
    lastText = utcText(new Date(now));
  }
  return lastText;
}

/** As `toISOString` until the year 9999. That one has V8 load the time zones of the world: 0.8 MB for the life of a server. */
function utcText(time: Date): string {
  const day = `${time.getUTCFullYear()}-${digits(time.getUTCMonth() + 1, 2)}-${digits(time.getUTCDate(), 2)}`;
  const clock = [time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds()].map((part) => digits(part, 2));
  return `${day}T${clock.join(":")}.${digits(time.getUTCMilliseconds(), 3)}Z`;
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}

// Sinks without a file: one that remembers every event, one that forgets them, for tests and measurements.

const DONE: Promise<void> = Promise.resolve();

/** Keeps the lines a file would have held. Set `failure` to make every later record fail. */
export class MemoryAudit implements AuditSink {
  readonly lines: string[] = [];
  failure: Error | undefined;
  checkpoints: AuditSink["checkpoints"];
  #prev: string = GENESIS;

  record(event: AuditEvent): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    const body = lineBody(this.lines.length + 1, this.#prev, eventText(event));
    this.#prev = bodyHash(body);
    this.lines.push(body + sealText(this.#prev));
    return DONE;
  }

  /** The records, parsed. */
  records(): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  close(): Promise<void> {
    return DONE;
  }
}

/** Records nothing. */
export const noAudit: AuditSink = { record: () => DONE, close: () => DONE, failure: undefined };
