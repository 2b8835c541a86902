// Makes one line of all the records of a call: who asked for what, what was decided by which rule, and how it ended.
import { CallJoiner, callerOf, type LogRecord, membersOf, objectOf, ruleOf, textOf } from "../audit/call-records.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { isDenied, kindsOf, type LogLine, POLICY_NAME, RECORD_KINDS } from "./audit-lines.js";
import { fitted, outputWidth, styled } from "./terminal.js";

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

function asked({ detail: _, ...kept }: LogRecord, { kind, detail }: LogRecord): LogRecord {
  // Nobody was asked where an earlier answer was remembered.
  const isRemembered = membersOf(detail)["remembered"] === true;
  return { ...kept, approval: isRemembered ? "remembered" : textOf(kind).slice("approval.".length) };
}

function ended(begun: LogRecord, record: LogRecord): LogRecord {
  const { outcome, duration_ms: duration, error, detail, upstream } = record;
  return { ...begun, outcome, duration_ms: duration, upstream, error, detail };
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

const WIDTHS = { time: 19, client: 18, policy: 10, tool: 16, object: 40, outcome: 18 } as const;
/** Where no terminal ends the line: names of clients with their version, and of servers' tools, are longer. */
const WIDE = { ...WIDTHS, client: 24, tool: 24, object: 60 } as const;
const GAP = 2;
/** Characters of an object, and of a rule, below which nobody recognises it. */
const LEAST = 16;

/** The head of the table; the time is that of whoever reads it. */
export function tableHead(): string {
  return row([`time (${zone(new Date())})`, "client", "policy", "tool", "object", "outcome", "rule"]);
}

/** Time, client, policy, tool, object, outcome and rule. */
export function tableRow(record: LogRecord): string {
  const { time, method, tool, kind, duration_ms: duration } = record;
  const took = typeof duration === "number" ? ` ${Math.round(duration)} ms` : "";
  const what = String(method).startsWith("resources/") ? "resource" : (tool ?? kind);
  const outcome = `${outcomeOf(record)}${took}`;
  const who = callerText(callerOf(record));
  const cells = [localTime(time), who, policyNameOf(record), what, objectOf(record), outcome, ruleText(record)];
  return isDenied(record) ? styled("red", row(cells)) : row(cells);
}

/** Where a terminal has no room for the whole of it, the version goes first. */
function callerText(caller: string): string {
  const room = outputWidth() === undefined || caller.length <= WIDTHS.client;
  return room ? caller : caller.replace(/ \S+$/, "");
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

/** Columns stay below each other: what is longer is cut, and whole in --json. In a terminal no line is longer than it: object and rule share what is left. */
function row(cells: readonly unknown[]): string {
  const columns = outputWidth();
  const widths: readonly number[] = Object.values(columns === undefined ? WIDE : WIDTHS);
  const { time, client, policy, tool, outcome } = WIDTHS;
  const fixed = time + client + policy + tool + outcome + (cells.length - 1) * GAP;
  const left = columns === undefined ? undefined : Math.max(LEAST * 2, columns - fixed);
  return cells
    .map((cell, at) => {
      // A column that is blank would be taken for one that is missing.
      const text = cleanLine(textOf(cell)) || NOTHING;
      if (at === cells.length - 1) return left === undefined ? text : fitted(text, Math.floor(left / 2));
      const width = at === OBJECT && left !== undefined ? Math.ceil(left / 2) : (widths[at] ?? 0);
      return fitted(text, width).padEnd(width);
    })
    .join(" ".repeat(GAP))
    .trimEnd();
}

const NOTHING = "-";
const OBJECT = Object.keys(WIDTHS).indexOf("object");
