// Turns cells as PostgreSQL writes them into cells of an answer.
import { Buffer } from "node:buffer";
import type { Cell } from "./databases.js";
import { MAX_CELL } from "./statement-limits.js";

/** Object ids of types (PostgreSQL's pg_type.dat). */
const BOOL = 16;
const BYTEA = 17;
const WHOLE: ReadonlySet<number> = new Set([20, 21, 23, 26]);
const FLOAT: ReadonlySet<number> = new Set([700, 701]);

/** Whole numbers beyond 2^53 and decimals stay texts: as numbers they would be others. */
export function postgresCell(text: string | null, type: number): Cell {
  if (text === null) return null;
  if (type === BOOL) return text === "t";
  if (type === BYTEA && text.startsWith("\\x")) return bytesCell(text);
  if (WHOLE.has(type) && Number.isSafeInteger(Number(text))) return Number(text);
  if (FLOAT.has(type) && Number.isFinite(Number(text))) return Number(text);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL)}… (${text.length} characters in all)` : text;
}

function bytesCell(text: string): Cell {
  const shown = Math.floor((MAX_CELL * 3) / 4);
  return { base64: Buffer.from(text.slice(2, 2 + shown * 2), "hex").toString("base64"), bytes: (text.length - 2) / 2 };
}

/** Columns of one name get different ones. */
export function distinctNames(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.map((name) => {
    let distinct = name;
    for (let count = 1; seen.has(distinct); count += 1) distinct = `${name}:${count}`;
    seen.add(distinct);
    return distinct;
  });
}
