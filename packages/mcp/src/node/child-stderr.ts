// The last lines a child wrote to standard error: they are what explains its end.
import { visibleText } from "../jsonrpc/visible-text.js";

/** As many as fit on a screen together with the error they explain. */
export const STDERR_LINES = 20;
// A line of a stack trace or a log; longer ones are dumps.
const LINE_CHARACTERS = 500;
// Bytes kept of one line: every character of UTF-8 has at most four.
const LINE_BYTES = LINE_CHARACTERS * 4;
const NEWLINE = 10;

/** Memory is bounded, however much is written and wherever its lines end. */
export class StderrTail {
  readonly #clean: (text: string) => string;
  readonly #onLine: ((line: string) => void) | undefined;
  #lines: string[] = [];
  #begun: Buffer[] = [];
  #begunBytes = 0;

  /** `clean` takes out what nobody may see; `onLine` is given every line, decoded and cut, controls and all. */
  constructor(clean: (text: string) => string, onLine?: (line: string) => void) {
    this.#clean = clean;
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    if (this.#onLine === undefined) {
      start = startOfTail(chunk);
      if (start > 0) this.#forgetBegun();
    }
    for (let end = chunk.indexOf(NEWLINE, start); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#extend(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#extend(chunk.subarray(start));
  }

  end(): void {
    if (this.#begunBytes > 0) this.#endLine();
  }

  /** At most 20, the oldest first, fit to be shown. A line that has begun is one of them. */
  get lines(): readonly string[] {
    const begun = this.#begunText();
    const all = begun === "" ? this.#lines : [...this.#lines, begun];
    return all.slice(-STDERR_LINES).map((line) => visibleText(line, LINE_CHARACTERS));
  }

  #extend(bytes: Buffer): void {
    const room = LINE_BYTES - this.#begunBytes;
    if (room <= 0 || bytes.length === 0) return;
    const kept = Buffer.from(bytes.subarray(0, room));
    this.#begun.push(kept);
    this.#begunBytes += kept.length;
  }

  #endLine(): void {
    const line = this.#begunText();
    this.#forgetBegun();
    if (line === "") return;
    this.#lines.push(line);
    if (this.#lines.length > STDERR_LINES) this.#lines.shift();
    this.#onLine?.(line);
  }

  // Cleaned before it is cut, so that no part of what nobody may see is left at the edge.
  #begunText(): string {
    const text = this.#clean(Buffer.concat(this.#begun).toString("utf8"));
    return text.slice(0, LINE_CHARACTERS).trimEnd();
  }

  #forgetBegun(): void {
    this.#begun = [];
    this.#begunBytes = 0;
  }
}

/** Where the last lines of a chunk begin; 0 when there are no more than that. */
function startOfTail(chunk: Buffer): number {
  let at = chunk.length;
  for (let lines = 0; lines <= STDERR_LINES; lines++) {
    if (at === 0) return 0;
    at = chunk.lastIndexOf(NEWLINE, at - 1);
    if (at < 0) return 0;
  }
  return at + 1;
}
