// Names the files of a log that are full: `<log>.<number of the last record>`, so that they sort in the order of the chain.
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Wide enough for every number a record can have. */
const DIGITS = 16;
const NUMBER = /^\d{16}$/;

/** The name under which a log is put away whose last record has this number. */
export function archivePath(log: string, lastSeq: number): string {
  return `${log}.${String(lastSeq).padStart(DIGITS, "0")}`;
}

/** The full files of a log, the oldest first. */
export function archivesOf(log: string): string[] {
  const prefix = `${basename(log)}.`;
  let names: string[];
  try {
    names = readdirSync(dirname(log));
  } catch {
    return [];
  }
  const full = names.filter((name) => name.startsWith(prefix) && NUMBER.test(name.slice(prefix.length)));
  return full.sort().map((name) => join(dirname(log), name));
}
