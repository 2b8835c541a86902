// Reads audit logs line by line, in the order of time over several, and finds the records that are wanted.
import { createReadStream, existsSync } from "node:fs";
import { basename } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { type LogRecord, policyLoaded, type PolicyLoaded, recordOf, textOf } from "../audit/call-records.js";
import { MAX_LINE_BYTES } from "../audit/event-text.js";
import { archivesOf } from "../audit/log-file.js";
import { UsageError } from "./command-line.js";

export interface LogLine {
  readonly record: LogRecord;
  readonly line: string;
  /** The log it stands in, whichever of its files. */
  readonly log: string;
}

/** Beside the record's own fields, for people alone: what its policy is called. No line of a log has it. */
export const POLICY_NAME = "policy name";

/** Likewise: the kinds of all records that a call was joined from. */
export const RECORD_KINDS = "kinds of its records";

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

/** Cuts text into lines; of one that is longer than any record the rest is dropped. */
export class LineCutter {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** The whole lines that have come up to now. */
  take(chunk: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_BYTES) this.#rest = "";
    return lines;
  }
}

/** A log with its full files, in the order of the chain and in bounded memory. Lines that are no records are passed over: `audit verify` names them. */
export async function* readLog(log: string): AsyncIterable<LogLine> {
  for (const file of [...archivesOf(log), log]) {
    if (!existsSync(file)) continue;
    const cutter = new LineCutter();
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      for (const line of cutter.take(chunk)) {
        const record = recordOf(line);
        if (record !== undefined) yield { record, line, log };
      }
    }
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

/** `2026-01-31`, `2026-01-31T12:00:00Z`, or how long ago, as in `90m`. */
function instantOf(key: string, value: string, now: number): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  const time = count === undefined || unit === undefined ? Date.parse(value) : now - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isFinite(time)) return time;
  throw new UsageError(
    `${key}=${value} is no time; write 2026-01-31, 2026-01-31T12:00:00Z, or 90m, 24h, 7d for that long ago`,
  );
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
