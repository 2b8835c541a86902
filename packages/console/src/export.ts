// Has the browser keep a file of records. Its name says what is in it, and of which day it is.
import { addressOf, ask } from "./request.js";

type Query = Readonly<Record<string, string | number | undefined>>;

/** The calls that fit, with every record of theirs. */
export function exportCalls(query: Query): Promise<void> {
  return keep(query, "calls");
}

/** Every record of a time: those of calls and all others. */
export function exportRecords(query: Query): Promise<void> {
  return keep({ ...query, all: "yes" }, "records");
}

async function keep(query: Query, what: string): Promise<void> {
  const response = await ask(addressOf("/api/export", query), { method: "GET" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = `audit-${what}-${dayOf(new Date())}.jsonl`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The day in the reader's own zone. */
function dayOf(at: Date): string {
  const two = (part: number): string => `${part}`.padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
