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
  const readers = logs.map((log) => inTime(log));
  try {
    const heads = await Promise.all(readers.map((reader) => reader.next()));
    for (;;) {
      const first = earliest(heads);
      const [head, reader] = [heads[first], readers[first]];
      if (head === undefined || head.done === true || reader === undefined) return;
      if (head.value.at >= since && head.value.at < until) yield head.value.text;
      heads[first] = await reader.next();
    }
  } finally {
    await Promise.all(readers.map((reader) => reader.return(undefined)));
  }
}

interface Timed {
  readonly at: number;
  readonly text: string;
}

/** Which of them is the first by its time; -1 where none is left. */
function earliest(heads: readonly IteratorResult<Timed>[]): number {
  let first = -1;
  let least = Infinity;
  for (const [index, head] of heads.entries())
    if (head.done !== true && (first < 0 || head.value.at < least)) [first, least] = [index, head.value.at];
  return first;
}

async function* inTime(log: string): AsyncGenerator<Timed, undefined> {
  for (const file of [...archivesOf(log), log]) {
    if (!existsSync(file)) continue;
    for await (const text of linesOf(file, "utf8")) {
      const record = recordOf(text);
      if (record !== undefined) yield { at: Date.parse(textOf(record["time"])) || 0, text };
    }
  }
  return undefined;
}

/** The file is closed also where nobody reads to its end. */
async function* linesOf(file: string, encoding: "latin1" | "utf8"): AsyncIterable<string> {
  const input = createReadStream(file, { encoding });
  try {
    yield* createInterface({ input, crlfDelay: Infinity });
  } finally {
    input.destroy();
  }
}
