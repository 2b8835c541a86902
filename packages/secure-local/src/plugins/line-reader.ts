// Cuts what a plugin writes into lines, none of them longer than a limit.
import { StringDecoder } from "node:string_decoder";
import type { Readable } from "node:stream";

/** Characters of one line: a result of the largest size, and what JSON adds to it. */
export const MAX_LINE: number = 4 * 1024 * 1024;

export interface LineReaderOptions {
  readonly line: (text: string) => void;
  /** A line got too long; nothing is read any more. */
  readonly tooLong: () => void;
}

export function readLines(stream: Readable, { line, tooLong }: LineReaderOptions): void {
  const decoder = new StringDecoder("utf8");
  let parts: string[] = [];
  let length = 0;
  let stopped = false;
  stream.on("error", () => undefined);
  stream.on("data", (chunk: Buffer) => {
    if (stopped) return;
    const pieces = decoder.write(chunk).split("\n");
    const last = pieces.pop() as string;
    for (const piece of pieces) {
      const whole = parts.length === 0 ? piece : parts.join("") + piece;
      parts = [];
      length = 0;
      if (whole.trim() !== "") line(whole);
    }
    parts.push(last);
    length += last.length;
    if (length <= MAX_LINE) return;
    stopped = true;
    parts = [];
    tooLong();
  });
}
