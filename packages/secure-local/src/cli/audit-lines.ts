// Reads audit logs line by line, in the order of time over several, finds the records that are wanted, joins them into calls,
// and says what a check of the logs found.
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import {
  callerOf,
  CallJoiner,
  type LogRecord,
  membersOf,
  objectOf,
  policyLoaded,
  type PolicyLoaded,
  recordOf,
  ruleOf,
  textOf,
} from "../audit/call-records.js";
import type { ArchivedFile } from "../audit/archive.js";
import { archivesOf, LineCutter } from "../audit/log-file.js";
import { openAtOnce, whyUnread } from "../audit/owned-files.js";
import type { Restored } from "../audit/restored.js";
import { recordsWith, verifyAudit, type VerifyOptions } from "../audit/verify-audit.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { UsageError } from "./command-line.js";
import { ExitCode, fitted, outputWidth, showProgress, styled } from "./terminal.js";

interface LogLine {
  readonly record: LogRecord;
  readonly line: string;
  /** The log it stands in, whichever of its files. */
  readonly log: string;
}

/** Beside the record's own fields, for people alone: what its policy is called. No line of a log has it. */
export const POLICY_NAME = "policy name";

/** Likewise: the kinds of all records that a call was joined from. */
const RECORD_KINDS = "kinds of its records";

export function kindsOf({ [RECORD_KINDS]: kinds }: LogRecord): readonly unknown[] {
  return Array.isArray(kinds) ? kinds : [];
}

/** Policies that are kept by name: what is older is shown by its hash. */
const MAX_POLICIES = 1_000;
/** Digits by which records name the policy in force. */
const LABEL_DIGITS = 12;

/** Tells which policy was in force at a record: the logs say of each, when it is taken up, which file it is. */
export class PolicyNames {
  readonly #names = new Map<string, string>();

  /** `known`: policies of this machine, which no record may have told of. */
  constructor(known: readonly PolicyLoaded[] = []) {
    for (const each of known) this.#learn(each);
  }

  /** The record with the name of its policy, where that is known. */
  named(record: LogRecord): LogRecord {
    const loaded = policyLoaded(record["detail"]);
    if (loaded !== undefined) this.#learn(loaded);
    const label = record["policy"] ?? loaded?.hash.slice(0, LABEL_DIGITS);
    const name = typeof label === "string" ? this.#names.get(label) : undefined;
    return name === undefined ? record : { ...record, [POLICY_NAME]: name };
  }

  #learn({ file, hash }: PolicyLoaded): void {
    const [oldest] = this.#names.size < MAX_POLICIES ? [] : this.#names.keys();
    if (oldest !== undefined) this.#names.delete(oldest);
    const name = file === undefined ? "built in" : basename(file).replace(/\.(?:ya?ml|json)$/i, "");
    this.#names.set(hash.slice(0, LABEL_DIGITS), name);
  }
}

/** A log with its full files, in the order of the chain and in bounded memory. Lines that are no records are passed over: `audit verify` names them. */
export async function* readLog(log: string): AsyncIterable<LogLine> {
  for (const file of [...archivesOf(log), log]) {
    const fd = fdOf(file);
    if (fd === undefined) continue;
    const cutter = new LineCutter();
    for await (const chunk of createReadStream(file, { fd }) as AsyncIterable<Buffer>) {
      for (const line of cutter.take(chunk)) {
        const record = recordOf(line);
        if (record !== undefined) yield { record, line, log };
      }
    }
  }
}

/** Undefined where there is none. @throws UsageError for what is no file: of a pipe nobody knows whether it ends */
function fdOf(file: string): number | undefined {
  try {
    return openAtOnce(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UsageError(`${file} is no audit log: ${whyUnread(error)}; name another with --audit`, { cause: error });
  }
}

/** Several logs as one: servers that run at the same time write one each. Each keeps its own order, whatever its clock did. */
export async function* readLogs(
  logs: readonly string[],
  names: PolicyNames = new PolicyNames(),
): AsyncIterable<LogLine> {
  const readers = logs.map((log) => readLog(log)[Symbol.asyncIterator]());
  const heads = await Promise.all(readers.map((reader) => reader.next()));
  for (;;) {
    let first: number | undefined;
    for (const [at, head] of heads.entries()) {
      if (head.done === true) continue;
      if (first === undefined || timeOf(head.value) < timeOf(heads[first]?.value as LogLine)) first = at;
    }
    if (first === undefined) return;
    const line = heads[first]?.value as LogLine;
    yield { ...line, record: names.named(line.record) };
    heads[first] = (await readers[first]?.next()) as IteratorResult<LogLine>;
  }
}

/** Times are written alike, so their texts have their order. */
function timeOf({ record: { time } }: LogLine): string {
  return typeof time === "string" ? time : "";
}

// Reads which records are wanted: `tool=NAME since=1h decision=denied` and words that must appear.

/** Whether a record is wanted; the line it was read from is given for words. */
export type RecordFilter = (record: LogRecord, line: string) => boolean;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FIELDS = [
  "tool",
  "server",
  "client",
  "principal",
  "profile",
  "kind",
  "outcome",
  "method",
  "policy",
  "connection",
  "id",
];
const KEYS = [...FIELDS, "since", "until", "decision"];

/** @throws UsageError for a key there is not, or a value that cannot be */
export function recordFilter(words: readonly string[], now: number = Date.now()): RecordFilter {
  const ended = words.find((word) => word.includes("\0"));
  // No record says it so: a log writes it as an escape.
  if (ended !== undefined)
    throw new UsageError(`${JSON.stringify(ended)} has a NUL character; write * in its place, as in tool=a*b`);
  const tests = words.map((word) => {
    const [, key, value] = /^([a-z]+)=(.*)$/s.exec(word) ?? [];
    return key === undefined || value === undefined ? containing(word) : testOf(key, value, now);
  });
  return (record, line) => tests.every((test) => test(record, line));
}

function testOf(key: string, value: string, now: number): RecordFilter {
  if (FIELDS.includes(key)) {
    const pattern = new RegExp(`^${value.split("*").map(escaped).join(".*")}$`, "s");
    const fits = (field: unknown): boolean =>
      (typeof field === "string" || typeof field === "number") && pattern.test(`${field}`);
    // A policy is asked for by its hash, or as the table calls it.
    if (key === "policy")
      return ({ policy, profile, [POLICY_NAME]: name }) =>
        [policy, name].some(
          (each) => fits(each) || (typeof profile === "string" && fits(`${textOf(each)}/${profile}`)),
        );
    // A call has the kinds of all its records besides.
    if (key === "kind") return (record) => fits(record["kind"]) || kindsOf(record).some(fits);
    return ({ [key]: field }) => fits(field);
  }
  switch (key) {
    case "since":
    case "until": {
      const limit = instantOf(key, value, now);
      const sign = key === "since" ? 1 : -1;
      return ({ time }) => sign * Date.parse(String(time)) >= sign * limit;
    }
    case "decision":
      if (value !== "allowed" && value !== "denied") throw new UsageError(`decision=${value}: write allowed or denied`);
      return value === "denied" ? isDenied : ({ decision }) => allowedBy(decision) === true;
    default:
      throw new UsageError(`a record has no "${key}"; there are ${KEYS.join(", ")}, or a word that must appear`);
  }
}

/** Before the call, or where an allowed tool reached for what it may not have. */
export function isDenied({ decision, outcome }: LogRecord): boolean {
  return allowedBy(decision) === false || outcome === "denied";
}

function allowedBy(decision: unknown): unknown {
  return (decision as { readonly allowed?: unknown } | undefined)?.allowed;
}

function containing(word: string): RecordFilter {
  const wanted = word.toLowerCase();
  return (_record, line) => line.toLowerCase().includes(wanted);
}

/** A day, or a time of it. Whatever else the platform takes for a date, as `10` for one of 2001, is a slip of the hand. */
const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

/** `2026-01-31`, `2026-01-31T12:00:00Z`, or how long ago, as in `90m`. */
function instantOf(key: string, value: string, now: number): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  const date = DATE.test(value) ? Date.parse(value) : NaN;
  const time = count === undefined || unit === undefined ? date : now - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isFinite(time)) return time;
  throw new UsageError(
    `${key}=${value} is no time; write 2026-01-31, 2026-01-31T12:00:00Z, or 90m, 24h, 7d for that long ago`,
  );
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

// Makes one line of all the records of a call: who asked for what, what was decided by which rule, and how it ended.

/** A call with its outcome, or another event of the log. */
export interface AuditEntry {
  /** The records of a call as one: the fields of the first, and outcome, duration and detail of the last. */
  readonly record: LogRecord;
  /** The lines it was read from. */
  readonly line: string;
}

/** Entries that are held back until the first of them has ended. */
const MAX_HELD = 1_000;

interface Held {
  record: LogRecord;
  line: string;
  done: boolean;
}

/** In the order in which they began. */
export async function* callsOf(lines: AsyncIterable<LogLine>): AsyncIterable<AuditEntry> {
  const calls = new EntryJoiner(true);
  for await (const line of lines) yield* calls.take(line);
  yield* calls.rest();
}

/** Joins records as they come; what it gives out has its outcome, or has waited long enough. */
export class EntryJoiner {
  readonly #queue = new Set<Held>();
  readonly #calls = new CallJoiner<Held>((call) => (call.done = true));
  readonly #ordered: boolean;

  /** @param ordered whether calls are given out as they began; otherwise each as soon as it has ended */
  constructor(ordered: boolean) {
    this.#ordered = ordered;
  }

  *take({ record, line, log }: LogLine): Iterable<AuditEntry> {
    let isFirst = false;
    const hold = (): Held => {
      isFirst = true;
      const held: Held = { record, line, done: false };
      this.#queue.add(held);
      return held;
    };
    const { call, step } = this.#calls.join(record, log, hold) ?? { call: hold(), step: "ended" };
    if (step === "begun") call.record = { ...record, kind: "call" };
    if (step === "ended") call.done = true;
    const kinds = kindsOf(call.record);
    if (!isFirst) {
      call.record = step === "ended" ? ended(call.record, record) : asked(call.record, record);
      call.line += `\n${line}`;
    }
    call.record = { ...call.record, [RECORD_KINDS]: [...kinds, record["kind"]] };
    yield* this.#ready();
  }

  /** What has not ended, last. */
  *rest(): Iterable<AuditEntry> {
    for (const { record, line } of this.#queue) yield { record, line };
  }

  *#ready(): Iterable<AuditEntry> {
    for (const first of this.#queue) {
      const waits = !first.done && this.#queue.size <= MAX_HELD;
      if (waits && this.#ordered) return;
      if (waits) continue;
      this.#queue.delete(first);
      yield { record: first.record, line: first.line };
    }
  }
}

function asked({ detail: _, ...kept }: LogRecord, { kind, detail, time }: LogRecord): LogRecord {
  // Nobody was asked where an earlier answer was remembered.
  const isRemembered = membersOf(detail)["remembered"] === true;
  const approval = isRemembered ? "remembered" : textOf(kind).slice("approval.".length);
  return { ...kept, approval, ...(approval === "asked" ? { [ASKED]: time } : { [ANSWERED]: time }) };
}

function ended(begun: LogRecord, record: LogRecord): LogRecord {
  const { outcome, duration_ms: duration, error, detail, upstream, time } = record;
  return { [ANSWERED]: time, ...begun, outcome, duration_ms: duration, upstream, error, detail };
}

/** When a person was asked, and when that was over: the duration of a call leaves it out. */
const ASKED = "when a person was asked";
const ANSWERED = "when that was over";

/** Nobody reads a question and answers it in less. */
const SEEN_MS = 500;

/** Of a call that was not made; empty where nobody was asked. */
function askedText({ [ASKED]: from, [ANSWERED]: to, outcome, approval }: LogRecord): string {
  const ms = Date.parse(textOf(to)) - Date.parse(textOf(from));
  // What was over at once was put to nobody: there was no place to show it.
  if (outcome === "ok" || Number.isNaN(ms) || ms < SEEN_MS) return "";
  const silent = approval === "asked" ? ", and nobody answered" : "";
  return `; a person was asked for ${Math.round(ms / 1_000)} s${silent}`;
}

/** How it ended, in one word: `ok`, `denied`, `error`, …; `unfinished` for a call whose end is not on record. */
export function outcomeOf({ kind, outcome, decision, approval }: LogRecord): string {
  if (outcome === "ok" && (approval === "given" || approval === "remembered"))
    return approval === "given" ? "approved" : approval;
  if (typeof outcome === "string") return outcome;
  if (kind === "call") return "unfinished";
  const { allowed } = (decision ?? {}) as { readonly allowed?: unknown };
  return allowed === undefined ? "" : allowed === true ? "allowed" : "denied";
}

/** The rule that decided with its line, or what else the record gives as the reason. */
export function ruleText(record: LogRecord): string {
  const { rule, line } = ruleOf(record);
  return line === undefined ? rule : `${rule} (line ${line})`;
}

// Writes an entry as one line of a table for a person, harmless to the terminal.

interface Widths {
  readonly time: number;
  readonly client: number;
  readonly policy: number;
  readonly tool: number;
  readonly object: number;
  readonly outcome: number;
  /** Undefined: as long as it is. */
  readonly rule: number | undefined;
}

const USUAL = { time: 19, client: 18, policy: 10, tool: 16, outcome: 18 } as const;
/** Where no terminal ends the line: names of clients with their version, and of servers' tools, are longer. */
const WIDE: Widths = { ...USUAL, client: 24, tool: 24, object: 60, rule: undefined };
/** For terminals of 80 columns: the month to the minute, no policy, no milliseconds. */
const NARROW = { time: 11, client: 10, policy: 0, tool: 12, outcome: 9 } as const;
/** For those of 60 the client is left out, too. */
const NARROWER = { ...NARROW, client: 0 } as const;
const GAP = 2;
/** Characters of an object, and of a rule, below which nobody recognises it; in a narrow terminal their beginning has to do. */
const LEAST = { usual: 13, narrower: 8 } as const;

/** Columns of a width of 0 are left out. Object and rule share what the others leave. */
function widthsFor(columns: number | undefined): Widths {
  if (columns === undefined) return WIDE;
  const left = (fixed: Omit<Widths, "object" | "rule">): number => {
    const widths = Object.values(fixed).filter((width) => width > 0);
    return columns - widths.reduce((sum, width) => sum + width + GAP, GAP);
  };
  const shared = (fixed: Omit<Widths, "object" | "rule">, most: number): Widths => {
    return { ...fixed, object: Math.ceil(most / 2), rule: Math.floor(most / 2) };
  };
  if (left(USUAL) >= 2 * LEAST.usual) return shared(USUAL, left(USUAL));
  if (left(NARROW) >= 2 * LEAST.usual) return shared(NARROW, left(NARROW));
  return shared(NARROWER, Math.max(2 * LEAST.narrower, left(NARROWER)));
}

/** The head of the table; the time is that of whoever reads it. */
export function tableHead(): string {
  const widths = widthsFor(outputWidth());
  const time = `time (${zone(new Date())})`;
  const cells = {
    client: "client",
    policy: "policy",
    tool: "tool",
    object: "object",
    outcome: "outcome",
    rule: "rule",
  };
  return row({ time: time.length > widths.time ? "time" : time, ...cells }, widths);
}

/** Time, client, policy, tool, object, outcome and rule, as far as the terminal has room for them. */
export function tableRow(record: LogRecord): string {
  const widths = widthsFor(outputWidth());
  const { time, method, tool, kind, duration_ms: duration } = record;
  const isWide = widths.policy > 0;
  const took = isWide && typeof duration === "number" ? ` ${Math.round(duration)} ms` : "";
  const caller = callerOf(record);
  const text = row(
    {
      time: isWide ? localTime(time) : shortTime(time),
      // Where there is no room for the whole of it, the version goes first.
      client: caller.length > widths.client ? caller.replace(/ \S+$/, "") : caller,
      policy: policyNameOf(record),
      tool: String(method).startsWith("resources/") ? "resource" : (tool ?? kind),
      object: objectOf(record),
      outcome: `${outcomeOf(record)}${took}`,
      rule: ruleText(record) + askedText(record),
    },
    widths,
  );
  return isDenied(record) ? styled("red", text) : text;
}

/** The policy in force as a person calls it, and the profile of it; eight digits of its hash where nobody said which file it is. */
export function policyNameOf({ policy, profile, [POLICY_NAME]: name }: LogRecord): string {
  const called = typeof name === "string" ? name : typeof policy === "string" ? policy.slice(0, 8) : "";
  return typeof profile === "string" ? `${called}/${profile}` : called;
}

/** `2026-11-23 14:03:05` in the reader's own time, of a text or of milliseconds since 1970; what is no time stays as it is. */
export function localTime(time: unknown): string {
  const at = new Date(typeof time === "number" ? time : String(time));
  if (Number.isNaN(at.getTime())) return textOf(time);
  const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(twoDigits).join("-");
  return `${day} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":")}`;
}

/** `11-23 14:03` of the same, for a narrow terminal. */
function shortTime(time: unknown): string {
  const text = localTime(time);
  return /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? text.slice(5, 16) : text;
}

/** `UTC+01:00`. */
export function zone(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "-" : "+"}${twoDigits(Math.floor(size / 60))}:${twoDigits(size % 60)}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** Columns stay below each other: what is longer is cut, and whole in --json. In a terminal no line is longer than it. */
function row(cells: Readonly<Record<keyof Widths, unknown>>, widths: Widths): string {
  return COLUMNS.filter((column) => widths[column] !== 0)
    .map((column) => {
      // A column that is blank would be taken for one that is missing.
      const text = cleanLine(seen(textOf(cells[column]))) || NOTHING;
      const width = widths[column];
      return width === undefined ? text : fitted(text, width).padEnd(width);
    })
    .join(" ".repeat(GAP))
    .trimEnd();
}

/** What nobody would see is written as an escape, and what reads like an escape with a backslash more: no two texts look alike. */
function seen(text: string): string {
  const written = text
    .replace(/\\(?=[\\nrtux])/g, "\\\\")
    .replace(/[\n\r\t]/g, (sign) => JSON.stringify(sign).slice(1, -1));
  return escapeUnseen(written);
}

const NOTHING = "-";
const COLUMNS: readonly (keyof Widths)[] = ["time", "client", "policy", "tool", "object", "outcome", "rule"];

// Says in words what a check of logs found.

/** What a check found of one log. */
export interface Verified {
  readonly file: string;
  readonly ok: boolean;
  readonly said: string;
  /** The first bad line, as FILE:LINE. */
  readonly at?: string;
  readonly records?: number;
  /** It could not be read, or something beside it that tells whether it is whole. */
  readonly notChecked?: true;
  readonly continues?: ArchivedFile;
}

/** As `verify` of each of them. */
export async function verifiedLogs(files: readonly string[], options: VerifyOptions): Promise<Verified[]> {
  showProgress(`verifying ${files.join(", ")}`);
  return Promise.all(files.map((file) => verify(file, options)));
}

async function verify(file: string, options: VerifyOptions): Promise<Verified> {
  try {
    const report = await verifyAudit(file, options);
    const {
      ok,
      records,
      files = 1,
      checkpoints,
      badFile = file,
      firstBadLine,
      reason = "",
      unread,
      tornTail,
      inJournal,
      continues,
      earlierArchives = [],
      archive,
      restored = [],
    } = report;
    const at = `${badFile}${firstBadLine === undefined ? "" : `:${firstBadLine}`}`;
    if (!ok) return { file, ok, at, said: reason, records, ...(unread && { notChecked: unread }) };
    const notes = [
      files > 1 ? ` in ${files} files` : "",
      ", none changed, missing or added",
      checkpoints === undefined ? "" : `; ${vouching(checkpoints)}`,
      tornTail === undefined ? "" : `; an unfinished last line of ${tornTail} bytes, which the next start repairs`,
      inJournal === undefined ? "" : `; ${inJournal} more in its journal, which the next start puts back`,
      continues === undefined ? "" : `; continues from ${continuesText(continues)}`,
      ...earlierArchives.map((each) => `; before that, ${continuesText(each)}`),
      archive === undefined ? "" : `; an archive, which ends with record ${archive}`,
      ...restored.map((each) => `; ${lossText(each)}`),
    ];
    const before = continues === undefined ? {} : { continues };
    return { file, ok, records, said: `${records} records${notes.join("")}`, ...before };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const said = isMissing ? "there is no file of that name" : `it cannot be read: ${whyUnread(error)}; put that right`;
    return { file, ok: false, said, notChecked: true };
  }
}

/** A log that nobody signed for may be anybody's. */
function vouching(checkpoints: number): string {
  return checkpoints === 0 ? "vouched for by no checkpoint" : agreeing(checkpoints, "signed checkpoint");
}

/** What a restore that was accepted has cost. Who and why are the words of a person. */
function lossText({ time, by, why, seq, known }: Restored): string {
  const lost = known > seq ? `${recordsWith(seq + 1, known, "is")} lost` : "nothing that was signed is lost";
  return escapeUnseen(`RESTORED from a copy, accepted on ${localTime(time)} by ${by} (${why}): ${lost}`);
}

/** Which file came before what is there, and what is known of it. */
export function continuesText({ file, to, time, seq }: ArchivedFile): string {
  return `${file}, archived to ${to} at ${time}, verified up to record ${seq}`;
}

/** `1 witness agrees`, `2 witnesses agree`. */
export function agreeing(count: number, noun: string): string {
  if (count === 1) return `1 ${noun} agrees`;
  return `${count} ${noun}${noun.endsWith("s") ? "es" : "s"} agree`;
}

/** What could not be read was not found to be changed. */
export function verdictOn(all: readonly { readonly ok: boolean; readonly notChecked?: true }[]): number {
  if (all.every(({ ok }) => ok)) return ExitCode.Ok;
  return all.every(({ ok, notChecked }) => ok || notChecked) ? ExitCode.Usage : ExitCode.Failed;
}
