// Reads which records are wanted: `tool=NAME since=1h decision=denied` and words that must appear.
import { UsageError } from "./command-line.js";

export type LogRecord = Readonly<Record<string, unknown>>;

/** Whether a record is wanted; the line it was read from is given for words. */
export type RecordFilter = (record: LogRecord, line: string) => boolean;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FIELDS = ["tool", "principal", "kind", "outcome", "method", "policy", "connection", "id"];
const KEYS = [...FIELDS, "since", "until", "decision"];

/** @throws UsageError for a key there is not, or a value that cannot be */
export function recordFilter(words: readonly string[], now: number = Date.now()): RecordFilter {
  const tests = words.map((word) => {
    const [, key, value] = /^([a-z]+)=(.*)$/s.exec(word) ?? [];
    return key === undefined || value === undefined ? containing(word) : testOf(key, value, now);
  });
  return (record, line) => tests.every((test) => test(record, line));
}

function testOf(key: string, value: string, now: number): RecordFilter {
  if (FIELDS.includes(key)) {
    const pattern = new RegExp(`^${value.split("*").map(escaped).join(".*")}$`, "s");
    return ({ [key]: field }) => (typeof field === "string" || typeof field === "number") && pattern.test(`${field}`);
  }
  switch (key) {
    case "since":
    case "until": {
      const limit = timeOf(key, value, now);
      const sign = key === "since" ? 1 : -1;
      return ({ time }) => sign * Date.parse(String(time)) >= sign * limit;
    }
    case "decision":
      if (value !== "allowed" && value !== "denied") throw new UsageError(`decision=${value}: write allowed or denied`);
      return value === "denied" ? isDenied : ({ decision }) => allowedBy(decision) === true;
    default:
      throw new UsageError(`a record has no ${key}; there are ${KEYS.join(", ")}, or a word that must appear`);
  }
}

/** Before the call, or where an allowed tool reached for what it may not have. */
function isDenied({ decision, outcome }: LogRecord): boolean {
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
function timeOf(key: string, value: string, now: number): number {
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
