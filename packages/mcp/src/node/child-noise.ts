// Judges what is no message on a child's standard output: told to people in doses, and a flood of it is the end.
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { visibleText } from "../jsonrpc/visible-text.js";

// Enough to recognise the line, few enough for a log.
const LINE_CHARACTERS = 500;
// Looked at for secrets before the line is cut, so that no part of one is left at the edge.
const CLEANED_CHARACTERS = 4 * LINE_CHARACTERS;
// Start banners have a few dozen lines; from then on it is counted.
const LINES_A_SECOND = 50;
const SECOND_MS = 1_000;
// Nobody prints this much by mistake in this time, and reading on costs a processor.
const FLOOD_BYTES = 64 * 1024 * 1024;
const FLOOD_MS = 10_000;
// What a line costs beside its bytes, in the time it takes to read as many; one that is not UTF-8 costs an exception.
const LINE_COST = 100;
const UNREADABLE_COST = 2_000;

/** A message is an object, or an array of objects; whether it is JSON all the way, its reader finds out. */
const MESSAGE = /^[ \t]*(?:\{[ \t]*["}]|\[[ \t]*[{\]])/;
const BRACE = 123;
const QUOTE = 34;

export function looksLikeMessage(line: string): boolean {
  return (line.charCodeAt(0) === BRACE && line.charCodeAt(1) === QUOTE) || MESSAGE.test(line);
}

export class NoiseMeter {
  readonly #floodBytes: number;
  readonly #clean: (text: string) => string;
  #lines = 0;
  #last = "";
  #second = 0;
  #told = 0;
  #windowStart = 0;
  #windowBytes = 0;

  /** `clean` takes out what nobody may see. */
  constructor(limits: JsonRpcLimits, clean: (text: string) => string) {
    this.#clean = clean;
    // One message at its longest must never look like a flood, nor one that is too long before that was said of it.
    this.#floodBytes = Math.max(FLOOD_BYTES, 4 * limits.messageBytes);
  }

  /** Too much has come since the last message. */
  get flooded(): boolean {
    return this.#windowBytes > this.#floodBytes;
  }

  /** Bytes that arrived, of messages too. `now` in milliseconds. */
  bytes(count: number, now: number): void {
    if (now - this.#windowStart > FLOOD_MS) {
      this.#windowStart = now;
      this.#windowBytes = 0;
    }
    this.#windowBytes += count;
  }

  /** A message arrived: what came before it was worth its reading. */
  message(): void {
    this.#windowBytes = 0;
  }

  /** The line as it may be shown, or undefined when enough were shown in this second. */
  line(text: string, unreadable: boolean, now: number): string | undefined {
    this.#lines++;
    this.#windowBytes += unreadable ? UNREADABLE_COST : LINE_COST;
    if (now - this.#second >= SECOND_MS) {
      this.#second = now;
      this.#told = 0;
    }
    if (this.#told >= LINES_A_SECOND) return undefined;
    this.#told++;
    const start = this.#clean(text.slice(0, CLEANED_CHARACTERS));
    this.#last = visibleText(start + text.slice(CLEANED_CHARACTERS), LINE_CHARACTERS);
    return this.#last;
  }

  /** A sentence on what was seen, or undefined when all was quiet. */
  get summary(): string | undefined {
    if (this.#lines === 0) return undefined;
    const lines = this.#lines === 1 ? "a line that is no message" : `${this.#lines} lines that are no messages`;
    return `It printed ${lines} to standard output: "${this.#last}"`;
  }
}
