// Reads a stream of server-sent events exactly as the WHATWG standard says, in linear time and bounded memory.
import { LocalError } from "../../jsonrpc/errors.js";
import { PartialLine } from "../../transport/stdio-framing.js";

export interface SseEvent {
  /** "message" when the server named none. */
  readonly type: string;
  readonly data: string;
}

/** An event that was longer than allowed: skipped. */
export const OVERSIZED: unique symbol = Symbol("oversized event");

const LF = 10;
const CR = 13;
const BYTE_ORDER_MARK = 0xfeff;
// An event this many times too long is no mistake of the sender's: it does not end.
const ENDLESS = 16;
const DIGITS = /^[0-9]+$/;
// Bytes that are not UTF-8 become replacement characters, as the standard wants.
const decoder: TextDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * `push` takes a chunk, `next` gives the next event of what was pushed: whoever calls may stop between any two events
 * and go on later. An event over `maxBytes` is given once, as OVERSIZED. What follows the last blank line is no event.
 */
export class SseReader {
  /** The id of the last event that had one; sent back as Last-Event-ID. Empty or undefined: there is none. */
  lastId: string | undefined;
  /** What the server last asked for with `retry`, in milliseconds. */
  retryMs: number | undefined;
  readonly #maxBytes: number;
  // Bytes of a line that has not ended.
  #partial: PartialLine | undefined;
  // Decoded text of whole lines, and how far it has been read.
  #text = "";
  #at = 0;
  #nextCr = -1;
  #opened = false;
  #afterCr = false;
  // The event being read.
  #data: string | undefined;
  #eventLength = 0;
  #type = "";
  #id: string | undefined;
  #oversized = false;
  #reported = false;
  #skipped = 0;
  // What follows the whole lines of a chunk.
  #rest: Uint8Array | undefined;
  // The rest of a line that is too long is skipped.
  #skipping = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * `next` must have returned undefined since the last one, and again before the chunk is reused. Throws a LocalError
   * LIMIT when an event does not end although it has long been too long.
   */
  push(chunk: Uint8Array): void {
    let start = 0;
    if (this.#oversized && (this.#skipped += chunk.length) > this.#maxBytes * ENDLESS) {
      throw new LocalError("LIMIT", `the server sent an event longer than ${this.#maxBytes} bytes`);
    }
    if (this.#afterCr && chunk.length > 0) {
      if (chunk[0] === LF) start = 1;
      this.#afterCr = false;
    }
    const end = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1;
    if (end <= start) {
      this.#keep(chunk.subarray(start));
      return;
    }
    this.#afterCr = chunk[end - 1] === CR && end === chunk.length;
    this.#take(chunk.subarray(start, end));
    this.#rest = chunk.subarray(end);
  }

  /** The next whole event, or undefined until more is pushed. */
  next(): SseEvent | typeof OVERSIZED | undefined {
    for (;;) {
      const line = this.#line();
      if (line === undefined) {
        if (this.#rest !== undefined) this.#keep(this.#rest);
        this.#rest = undefined;
        return this.#report();
      }
      if (line !== "") {
        this.#field(line);
        continue;
      }
      const event = this.#dispatch();
      if (event !== undefined) return event;
    }
  }

  #keep(bytes: Uint8Array): void {
    if (this.#skipping || bytes.length === 0) return;
    if ((this.#partial?.length ?? 0) + bytes.length > this.#maxBytes) {
      this.#partial = undefined;
      this.#skipping = true;
      this.#tooLong();
    } else {
      this.#partial ??= new PartialLine();
      this.#partial.append(bytes);
    }
  }

  // Bytes up to and with the end of a line.
  #take(bytes: Uint8Array): void {
    let rest = bytes;
    if (this.#skipping) {
      rest = bytes.subarray(afterFirstEnd(bytes));
      this.#skipping = false;
    } else if (this.#partial !== undefined && this.#partial.length > 0) {
      this.#partial.append(bytes);
      rest = this.#partial.bytes;
    }
    this.#text = decoder.decode(rest);
    this.#partial?.clear();
    this.#at = 0;
    if (!this.#opened && this.#text !== "") {
      this.#opened = true;
      if (this.#text.charCodeAt(0) === BYTE_ORDER_MARK) this.#at = 1;
    }
    this.#nextCr = this.#text.indexOf("\r", this.#at);
  }

  // The next line without its end.
  #line(): string | undefined {
    const from = this.#at;
    if (from >= this.#text.length) {
      this.#text = "";
      this.#at = 0;
      return undefined;
    }
    if (this.#nextCr >= 0 && this.#nextCr < from) this.#nextCr = this.#text.indexOf("\r", from);
    // Where there is a CR the search for LF stops at it, so that no character is looked at twice.
    const lf = this.#nextCr < 0 ? this.#text.indexOf("\n", from) : indexBefore(this.#text, from, this.#nextCr);
    const end = lf < 0 ? this.#nextCr : lf;
    const pair = lf < 0 && this.#text.charCodeAt(end + 1) === LF;
    this.#at = end + (pair ? 2 : 1);
    return this.#text.slice(from, end);
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1);
    if (name === "data") this.#addData(value);
    else if (name === "event") this.#type = value;
    else if (name === "id") {
      if (!value.includes("\0")) this.#id = value;
    } else if (name === "retry") {
      if (DIGITS.test(value)) this.retryMs = Number(value);
    }
  }

  #addData(value: string): void {
    if (this.#oversized) return;
    this.#eventLength += value.length + 1;
    if (this.#eventLength > this.#maxBytes + 1) this.#tooLong();
    else this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }

  #tooLong(): void {
    this.#oversized = true;
    this.#data = undefined;
  }

  // Once for each event that is too long, and before its end: it may have none.
  #report(): typeof OVERSIZED | undefined {
    if (!this.#oversized || this.#reported) return undefined;
    this.#reported = true;
    return OVERSIZED;
  }

  #dispatch(): SseEvent | typeof OVERSIZED | undefined {
    const data = this.#data;
    const type = this.#type;
    const report = this.#report();
    if (this.#id !== undefined) this.lastId = this.#id;
    this.#data = undefined;
    this.#type = "";
    this.#eventLength = 0;
    this.#oversized = false;
    this.#reported = false;
    this.#skipped = 0;
    if (report !== undefined) return report;
    return data === undefined ? undefined : { type: type === "" ? "message" : type, data };
  }
}

function afterFirstEnd(bytes: Uint8Array): number {
  let at = 0;
  while (bytes[at] !== LF && bytes[at] !== CR) at++;
  return bytes[at] === CR && bytes[at + 1] === LF ? at + 2 : at + 1;
}

function indexBefore(text: string, from: number, end: number): number {
  for (let at = from; at < end; at++) if (text.charCodeAt(at) === LF) return at;
  return -1;
}
