// Writes an event as the middle of a JSON line: redacted, bounded, and free of everything that could end or forge a line.
import { hash } from "node:crypto";
import type { AuditEvent, AuditSink } from "./audit-event.js";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { MAX_TEXT, redactString, redactValue } from "./redact.js";
import { followsFiles, renewSecrets } from "./secret-files.js";
import { mayHoldSecret, secretsVersion } from "./secret-shapes.js";

/** The event's fields as `,"name":value…`, in a fixed order. Fields that are undefined are left out. Never throws. */
export function eventText(event: AuditEvent): string {
  if (followsFiles) renewSecrets();
  const { id, connection, decision, duration_ms: duration } = event;
  let text = `,"kind":${usualText(event.kind)}`;
  if (id !== undefined) text += `,"id":${typeof id === "number" ? JSON.stringify(id) : anyText(id)}`;
  if (connection !== undefined) text += `,"connection":${connection}`;
  if (event.principal !== undefined) text += `,"principal":${usualText(event.principal)}`;
  if (event.client !== undefined) text += `,"client":${usualText(event.client)}`;
  if (event.revision !== undefined) text += `,"revision":${usualText(event.revision)}`;
  if (event.profile !== undefined) text += `,"profile":${usualText(event.profile)}`;
  if (event.method !== undefined) text += `,"method":${usualText(event.method)}`;
  if (event.tool !== undefined) text += `,"tool":${usualText(event.tool)}`;
  if (event.server !== undefined) text += `,"server":${usualText(event.server)}`;
  if (event.arguments !== undefined) text += `,"arguments":${valueText(event.arguments)}`;
  if (decision) {
    const line = decision.line === undefined ? "" : `,"line":${decision.line}`;
    text += `,"decision":{"allowed":${decision.allowed},"rule":${usualText(decision.rule)}${line}}`;
  }
  if (duration !== undefined) text += `,"duration_ms":${JSON.stringify(duration)}`;
  if (event.upstream !== undefined) text += `,"upstream":${valueText(event.upstream)}`;
  if (event.outcome !== undefined) text += `,"outcome":${usualText(event.outcome)}`;
  if (event.result !== undefined) text += `,"result":${valueText(event.result)}`;
  if (event.error_id !== undefined) text += `,"error_id":${anyText(event.error_id)}`;
  if (event.error !== undefined) text += `,"error":${anyText(event.error)}`;
  if (event.policy !== undefined) text += `,"policy":${usualText(event.policy)}`;
  if (event.detail !== undefined) text += `,"detail":${valueText(event.detail)}`;
  return text;
}

/** Texts kept with their written form: the names, rules and outcomes of a server fit many times over. */
const MAX_USUAL = 512;
/** Longer texts are rarely the same twice. */
const MAX_USUAL_LENGTH = 128;
const usual = new Map<string, string>();
let usualVersion = 0;

/** A text of which a server has few: its written form is made once. */
function usualText(text: string): string {
  if (usualVersion !== secretsVersion()) usual.clear();
  usualVersion = secretsVersion();
  const known = usual.get(text);
  if (known !== undefined) return known;
  const written = anyText(text);
  if (text.length <= MAX_USUAL_LENGTH) {
    if (usual.size >= MAX_USUAL) usual.clear();
    usual.set(text, written);
  }
  return written;
}

function anyText(text: string): string {
  if (text.length <= MAX_TEXT && !mayHoldSecret(text)) return JSON.stringify(text);
  return escapeUnseen(JSON.stringify(redactString(text)));
}

/**
 * The common value is short, holds no secret and is written as it is; only others are copied, cut and redacted first. What
 * a reader of the log would not see counts as what may hold a secret, so that a plain text needs no second look.
 */
function valueText(value: unknown): string {
  const plain = hasLongText(value) ? undefined : json(value);
  if (plain !== undefined && plain.length <= MAX_TEXT && !mayHoldSecret(plain)) return plain;
  return escapeUnseen(json(redactValue(value)) ?? "null");
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
  return `{"seq":${seq},"prev":"${prev}","time":"${isoTime(Date.now())}"${fields}`;
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
