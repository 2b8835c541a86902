// Makes one line of all the records of a call: who asked for what, what was decided by which rule, and how it ended.
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { isDenied, type LogLine, type LogRecord } from "./audit-lines.js";
import { fitted, outputWidth, styled } from "./terminal.js";

/** A call with its outcome, or another event of the log. */
export interface AuditEntry {
  /** The records of a call as one: the fields of the first, and outcome, duration and detail of the last. */
  readonly record: LogRecord;
  /** The lines it was read from. */
  readonly line: string;
}

/** Calls whose end has not been read yet: those that are under way, and those that a crash cut off. */
const MAX_OPEN = 1_000;
const CALL_KINDS: ReadonlySet<unknown> = new Set(["call.intent", "call.result"]);
const APPROVALS: ReadonlySet<unknown> = new Set(["approval.asked", "approval.given", "approval.denied"]);

interface Open {
  record: LogRecord;
  line: string;
  done: boolean;
}

/** In the order in which they began. */
export async function* callsOf(lines: AsyncIterable<LogLine>): AsyncIterable<AuditEntry> {
  const calls = new CallJoiner(true);
  for await (const line of lines) yield* calls.take(line);
  yield* calls.rest();
}

/** Joins records as they come; what it gives out has its outcome, or has waited long enough. */
export class CallJoiner {
  readonly #queue = new Set<Open>();
  readonly #open = new Map<string, Open>();
  readonly #ordered: boolean;

  /** @param ordered whether calls are given out as they began; otherwise each as soon as it has ended */
  constructor(ordered: boolean) {
    this.#ordered = ordered;
  }

  *take({ record, line, log }: LogLine): Iterable<AuditEntry> {
    const key = keyOf(record, log);
    const before = key === undefined ? undefined : this.#open.get(key);
    if (key !== undefined && record["kind"] === "call.intent") {
      // Ids begin anew with each server: the one before was cut off.
      if (before !== undefined) before.done = true;
      const begun = { record: { ...record, kind: "call" }, line, done: false };
      this.#open.set(key, begun);
      this.#queue.add(begun);
    } else if (key !== undefined && before !== undefined && APPROVALS.has(record["kind"])) {
      const { detail: _, ...kept } = before.record;
      before.record = { ...kept, approval: String(record["kind"]).slice("approval.".length) };
      before.line += `\n${line}`;
    } else if (key !== undefined && before !== undefined && record["kind"] === "call.result") {
      const { outcome, duration_ms: duration, error, detail, upstream } = record;
      before.record = { ...before.record, outcome, duration_ms: duration, upstream, error, detail };
      before.line += `\n${line}`;
      before.done = true;
      this.#open.delete(key);
    } else {
      this.#queue.add({ record, line, done: true });
    }
    yield* this.#ready();
  }

  /** What has not ended, last. */
  *rest(): Iterable<AuditEntry> {
    for (const { record, line } of this.#queue) yield { record, line };
  }

  *#ready(): Iterable<AuditEntry> {
    for (const first of this.#queue) {
      const waits = !first.done && this.#queue.size <= MAX_OPEN;
      if (waits && this.#ordered) return;
      if (waits) continue;
      this.#queue.delete(first);
      yield { record: first.record, line: first.line };
    }
  }
}

function keyOf({ kind, id, connection }: LogRecord, log: string): string | undefined {
  if (id === undefined || !(CALL_KINDS.has(kind) || APPROVALS.has(kind))) return undefined;
  return JSON.stringify([log, connection, id]);
}

/** Arguments by which tools name what they reach for, the most telling first. */
const OBJECTS = ["path", "file", "url", "uri", "host", "query", "sql", "pattern", "expression", "name"];

/** What a call was about: a path, URL, query, command or URI; its arguments where none of them is known. */
export function objectOf({ method, tool, arguments: args, detail }: LogRecord): string {
  if (typeof tool === "string" && typeof method === "string" && method.startsWith("resources/")) return tool;
  const told = (detail ?? {}) as Readonly<Record<string, unknown>>;
  const about = ["endpoint", "command"].map((name) => told[name]).find((each) => typeof each === "string");
  if (typeof about === "string") return about;
  if (typeof args !== "object" || args === null) return "";
  const values = args as Readonly<Record<string, unknown>>;
  if (typeof values["command"] === "string") {
    const rest = Array.isArray(values["arguments"]) ? values["arguments"] : [];
    return [values["command"], ...rest.map(asText)].join(" ");
  }
  const found = OBJECTS.find((name) => typeof values[name] === "string");
  if (found !== undefined) return values[found] as string;
  return Object.keys(values).length === 0 ? "" : JSON.stringify(values);
}

/** How it ended, in one word: `ok`, `denied`, `error`, …; `unfinished` for a call whose end is not on record. */
export function outcomeOf({ kind, outcome, decision, approval }: LogRecord): string {
  if (typeof outcome === "string") return outcome === "ok" && approval === "given" ? "approved" : outcome;
  if (kind === "call") return "unfinished";
  const { allowed } = (decision ?? {}) as { readonly allowed?: unknown };
  return allowed === undefined ? "" : allowed === true ? "allowed" : "denied";
}

/** The rule that decided with its line, or what else the record gives as the reason. */
export function ruleOf({ decision, detail }: LogRecord): string {
  const { rule, line } = (decision ?? {}) as { readonly rule?: unknown; readonly line?: unknown };
  const told = (detail ?? {}) as { readonly rule?: unknown; readonly reason?: unknown };
  // What refused an allowed call on its way says more than what allowed it.
  const why = asText(told.rule ?? rule ?? told.reason);
  return line === undefined || told.rule !== undefined ? why : `${why} (line ${asText(line)})`;
}

// Writes an entry as one line of a table for a person, harmless to the terminal.

const WIDTHS = { time: 19, client: 18, tool: 16, object: 40, outcome: 18 } as const;
const GAP = 2;
/** Characters of an object, and of a rule, below which nobody recognises it. */
const LEAST = 16;

/** The head of the table; the time is that of whoever reads it. */
export function tableHead(): string {
  return row([`time (${zone(new Date())})`, "client", "tool", "object", "outcome", "rule"]);
}

/** Time, client, tool, object, outcome and rule. */
export function tableRow(record: LogRecord): string {
  const { time, client, principal, method, tool, kind, duration_ms: duration } = record;
  const took = typeof duration === "number" ? ` ${Math.round(duration)} ms` : "";
  const who = client ?? principal;
  const what = String(method).startsWith("resources/") ? "resource" : (tool ?? kind);
  const cells = [localTime(time), who, what, objectOf(record), `${outcomeOf(record)}${took}`, ruleOf(record)];
  return isDenied(record) ? styled("red", row(cells)) : row(cells);
}

/** `2026-11-23 14:03:05` in the reader's own time; what is no time stays as it is. */
export function localTime(time: unknown): string {
  const at = new Date(String(time));
  if (Number.isNaN(at.getTime())) return asText(time);
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

/** In a terminal no line is longer than it: object and rule share what is left. */
function row(cells: readonly unknown[]): string {
  const widths = Object.values(WIDTHS);
  const columns = outputWidth();
  const fixed = WIDTHS.time + WIDTHS.client + WIDTHS.tool + WIDTHS.outcome + (cells.length - 1) * GAP;
  const left = columns === undefined ? undefined : Math.max(LEAST * 2, columns - fixed);
  return cells
    .map((cell, at) => {
      const text = cleanLine(asText(cell));
      if (at === cells.length - 1) return left === undefined ? text : fitted(text, Math.floor(left / 2));
      if (at === OBJECT) {
        const width = left === undefined ? WIDTHS.object : Math.ceil(left / 2);
        return (left === undefined ? text : fitted(text, width)).padEnd(width);
      }
      return (left === undefined ? text : fitted(text, widths[at] ?? 0)).padEnd(widths[at] ?? 0);
    })
    .join(" ".repeat(GAP))
    .trimEnd();
}

const OBJECT = Object.keys(WIDTHS).indexOf("object");

function asText(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}
