// Reads files line by line in bounded memory: a file that is no log may have no end of line at all.
import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { MAX_LINE_BYTES } from "./event-text.js";
import { openAtOnce } from "./owned-files.js";

/** Cuts text into lines; of one that is longer than any record the rest is dropped. */
export class LineCutter {
  readonly #decoder = new StringDecoder("utf8");
  /** What has come of the line that is not whole. */
  #parts: string[] = [];
  #length = 0;

  /** The whole lines that have come up to now. */
  take(chunk: Buffer): string[] {
    const lines = this.#decoder.write(chunk).split("\n");
    const rest = lines.pop() ?? "";
    if (lines.length > 0) lines[0] = this.end() + (lines[0] ?? "");
    this.#length += rest.length;
    if (this.#length > MAX_LINE_BYTES) this.#parts = [];
    else if (rest !== "") this.#parts.push(rest);
    return lines;
  }

  /** What stands behind the last whole line. */
  end(): string {
    const rest = this.#parts.join("");
    this.#parts = [];
    this.#length = 0;
    return rest;
  }
}

/** The lines of a file, with what stands behind the last end of line. Throws as `openAtOnce` does. */
export async function* linesOf(file: string): AsyncIterable<string> {
  const cutter = new LineCutter();
  const fd = openAtOnce(file);
  for await (const chunk of createReadStream(file, { fd }) as AsyncIterable<Buffer>) yield* cutter.take(chunk);
  const rest = cutter.end();
  if (rest !== "") yield rest;
}
