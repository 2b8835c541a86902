// Keeps a small file beside the log that remembers how many records there were, so that a cut-off end is noticed.
//
// It is written after the records it counts are on the disk, so it is never ahead of an honest log. It lags by up to
// `HEAD_RECORDS` records while a server runs and is exact after a clean stop. Whoever can rewrite the log and this file
// can also forge both: copy the file elsewhere to guard against that.
import * as fs from "node:fs";
import type { Link } from "./chain.js";

/**
 * Records after which the head is written again. Replacing a file costs as much as writing hundreds of records, and a
 * server that stops cleanly leaves an exact head whatever this number is.
 */
export const HEAD_RECORDS = 10_000;

/** The head's name for a log. */
export function headPath(log: string): string {
  return `${log}.head`;
}

/** Replaces the head in one step: readers see the old or the new one, never half. */
export function writeHead(log: string, link: Link): void {
  const path = headPath(log);
  const temporary = `${path}.${process.pid}`;
  fs.writeFileSync(temporary, `{"records":${link.seq},"hash":"${link.hash}"}\n`, { mode: 0o600 });
  fs.renameSync(temporary, path);
}

/** The head of a log; undefined when there is none or it is unreadable. */
export function readHead(log: string): Link | undefined {
  try {
    const { records, hash } = JSON.parse(fs.readFileSync(headPath(log), "utf8")) as Record<string, unknown>;
    if (Number.isSafeInteger(records) && typeof hash === "string") return { seq: records as number, hash };
  } catch {
    // No head, or not a whole one: the chain of the log itself still holds.
  }
  return undefined;
}
