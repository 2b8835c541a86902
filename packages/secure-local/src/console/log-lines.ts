// Reads the records of logs again, from their files: one by its line, or all of a time in the order of time.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { recordOf, textOf } from "../audit/call-records.js";
import { archivesOf } from "../audit/log-file.js";

/** A line of a log, and where it begins in its file. */
interface FoundLine {
  readonly text: string;
  readonly offset: number;
  readonly ino: number;
}

/** A line by its number, counted from 1; undefined where the file has none. */
export async function lineAt(file: string, wanted: number): Promise<FoundLine | undefined> {
  if (!existsSync(file)) return undefined;
  let [number, offset] = [0, 0];
  // Byte by byte a character, so that places are those of the file whatever is in it.
  for await (const line of linesOf(file, "latin1")) {
    number += 1;
    if (number === wanted)
      return { text: Buffer.from(line, "latin1").toString("utf8"), offset, ino: statSync(file).ino };
    offset += line.length + 1;
  }
  return undefined;
}

/** Every record of these logs from a time, those of all logs in the order of time. */
export async function* recordsOf(
  logs: readonly string[],
  { since = -Infinity, until = Infinity }: { readonly since?: number | undefined; readonly until?: number | undefined },
): AsyncIterable<string> {
  const readers = logs.map((log) => inTime(log)[Symbol.asyncIterator]());
  const heads = await Promise.all(readers.map((reader) => reader.next()));
  for (;;) {
    let first = -1;
    for (const [index, head] of heads.entries()) {
      const before = heads[first];
      if (head.done !== true && (before === undefined || before.done === true || head.value.at < before.value.at))
        first = index;
    }
    const [head, reader] = [heads[first], readers[first]];
    if (head === undefined || head.done === true || reader === undefined) return;
    if (head.value.at >= since && head.value.at < until) yield head.value.text;
    heads[first] = await reader.next();
  }
}

async function* inTime(log: string): AsyncGenerator<{ readonly at: number; readonly text: string }, undefined> {
  for (const file of [...archivesOf(log), log]) {
    if (!existsSync(file)) continue;
    for await (const text of linesOf(file, "utf8")) {
      const record = recordOf(text);
      if (record !== undefined) yield { at: Date.parse(textOf(record["time"])) || 0, text };
    }
  }
  return undefined;
}

function linesOf(file: string, encoding: "latin1" | "utf8"): AsyncIterable<string> {
  return createInterface({ input: createReadStream(file, { encoding }), crlfDelay: Infinity });
}
