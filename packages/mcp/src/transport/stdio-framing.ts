// Turns chunks of bytes into lines, one message each, and hands them out one at a time.
import { identify, isAnswerWithoutId, tooLong } from "../jsonrpc/parse.js";
import type { Excerpt } from "../jsonrpc/transport.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";

// A line that is longer than allowed: of its bytes only both ends are kept, to read the request's id from.

/** What is kept of either end. */
const HEAD_BYTES = 4_096;
const TAIL_BYTES = 256;

// Made for the first line that cannot be read: most conversations have none.
let lossy: TextDecoder | undefined;

function lossyText(bytes: Uint8Array): string {
  return (lossy ??= new TextDecoder()).decode(bytes);
}

/** Both ends of a line, for telling whose it is. Bytes that are not UTF-8 become replacement characters. */
function excerptOf(line: Uint8Array): Excerpt {
  const head = lossyText(line.subarray(0, HEAD_BYTES));
  return line.length <= HEAD_BYTES ? { head, tail: undefined } : { head, tail: lossyText(line.subarray(-TAIL_BYTES)) };
}

class OversizedLine {
  /** Set once it has been answered: the rest is skipped in silence. */
  reported = false;
  /** Of the line so far. */
  bytes: number;
  readonly #head: string;
  #tail: Uint8Array;

  /** `begun` is the line so far, of which only both ends need be there, `begunBytes` its length; `chunk` made it too long. */
  constructor(begun: Uint8Array, begunBytes: number, chunk: Uint8Array) {
    const head = new Uint8Array(Math.min(HEAD_BYTES, begun.length + chunk.length));
    head.set(begun.subarray(0, head.length));
    if (begun.length < head.length) head.set(chunk.subarray(0, head.length - begun.length), begun.length);
    this.#head = lossyText(head);
    this.#tail = begun.slice(-TAIL_BYTES);
    this.bytes = begunBytes;
    this.add(chunk);
  }

  add(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (chunk.length >= TAIL_BYTES) {
      this.#tail = chunk.slice(-TAIL_BYTES);
      return;
    }
    const joined = new Uint8Array(this.#tail.length + chunk.length);
    joined.set(this.#tail);
    joined.set(chunk, this.#tail.length);
    this.#tail = joined.slice(-TAIL_BYTES);
  }

  get excerpt(): Excerpt {
    return { head: this.#head, tail: lossyText(this.#tail) };
  }

  /** True while the id may still come, behind the params or the result: so far it looks like a message without one. */
  get undecided(): boolean {
    return identify({ head: this.#head, tail: "}" }).silent || isAnswerWithoutId(this.#head);
  }
}

/** Decodes UTF-8, keeping a byte order mark as a character. Throws when the bytes are not UTF-8. */
type Decode = (bytes: Uint8Array) => string;

/** A line that is no text: longer than the limit (-32600) or not UTF-8 (-32700). */
export class UnreadableLine {
  readonly error: RpcError;
  readonly excerpt: Excerpt;

  constructor(error: RpcError, excerpt: Excerpt) {
    this.error = error;
    this.excerpt = excerpt;
  }
}

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const BYTE_ORDER_MARK = 0xfeff;
const BLANK = /^[ \t\r]*$/;
// Made once: whoever floods us with bad bytes must not make us write a stack trace for each line.
const NOT_UTF8 = new RpcError(ErrorCode.ParseError, "Parse error: the message is not UTF-8");

// Made when it is needed: Node's own transport brings another way to decode, and starts a little sooner without this.
let fatal: TextDecoder | undefined;
const decodeUtf8: Decode = (bytes) =>
  (fatal ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })).decode(bytes);

interface FramingOptions {
  readonly decode?: Decode;
  readonly measures?: boolean;
}

/** A line this many times as long as it may be is reported before its end: it may have none. */
const MEASURED_TIMES = 3;

/**
 * `push` takes a chunk, `next` gives the next line of what was pushed: whoever calls may stop between any two lines and
 * go on later. Lines end with `\n` or `\r\n`, blank lines are skipped, a byte order mark may open the stream. All whole
 * lines of a chunk are decoded at once. A line over the limit is given once, as unreadable, and costs no memory.
 */
export class LineFraming {
  readonly #limits: JsonRpcLimits;
  readonly #decode: Decode;
  readonly #measures: boolean;
  readonly #partial = new PartialLine();
  #oversized: OversizedLine | undefined;
  // Decoded text of one or more lines, or a line that could not be read, in order.
  readonly #pieces: (string | UnreadableLine)[] = [];
  #text = "";
  #at = 0;
  #opened = false;

  /** `measures`: a line over the limit is reported when its length is known, or is three times what it may be. */
  constructor(limits: JsonRpcLimits, { decode = decodeUtf8, measures = false }: FramingOptions = {}) {
    this.#limits = limits;
    this.#decode = decode;
    this.#measures = measures;
  }

  /** The chunk may be reused by the caller afterwards. */
  push(chunk: Uint8Array): void {
    let start = 0;
    if (this.#partial.length > 0 || this.#oversized !== undefined) {
      const newline = chunk.indexOf(NEWLINE);
      this.#extend(newline < 0 ? chunk : chunk.subarray(0, newline));
      if (newline < 0) return;
      this.#endLine();
      start = newline + 1;
    }
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > start) this.#takeLines(chunk.subarray(start, end));
    if (end < chunk.length) this.#extend(chunk.subarray(end));
  }

  /** The stream is over: what follows the last newline is a line too. `cut`: what is said of one that is no whole message. */
  end(cut?: RpcError): void {
    if (cut !== undefined && this.#partial.length > 0 && isCut(this.#partial.bytes)) {
      this.#add(new UnreadableLine(cut, excerptOf(this.#partial.bytes)));
      return this.#partial.clear();
    }
    if (this.#partial.length > 0 || this.#oversized !== undefined) this.#endLine();
  }

  /** The next line without its end, or undefined until more is pushed. */
  next(): string | UnreadableLine | undefined {
    for (;;) {
      while (this.#at < this.#text.length) {
        const newline = this.#text.indexOf("\n", this.#at);
        const end = newline < 0 ? this.#text.length : newline;
        const line = this.#text.slice(this.#at, this.#text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end);
        this.#at = end + 1;
        if (!isBlank(line)) return line;
      }
      const piece = this.#pieces.shift();
      if (piece instanceof UnreadableLine) return piece;
      this.#text = piece ?? "";
      this.#at = 0;
      if (piece === undefined) return undefined;
    }
  }

  #extend(bytes: Uint8Array): void {
    const begun = this.#oversized;
    if (begun !== undefined) {
      begun.add(bytes);
      if (this.#measures && !begun.reported && begun.bytes > this.#mostMeasured) {
        this.#report(begun);
      }
      return;
    }
    const length = this.#partial.length + bytes.length;
    if (length <= this.#limits.messageBytes) {
      this.#partial.append(bytes);
      return;
    }
    const oversized = new OversizedLine(this.#partial.ends(HEAD_BYTES, TAIL_BYTES), this.#partial.length, bytes);
    this.#oversized = oversized;
    this.#partial.clear();
    if (!this.#measures && !oversized.undecided) this.#report(oversized);
  }

  #endLine(): void {
    const oversized = this.#oversized;
    if (oversized === undefined) {
      this.#takeLine(this.#partial.bytes);
      this.#partial.clear();
      return;
    }
    this.#oversized = undefined;
    if (!oversized.reported) this.#report(oversized);
  }

  #report(oversized: OversizedLine): void {
    oversized.reported = true;
    this.#refuseLength(oversized.excerpt, oversized.bytes);
  }

  #refuseLength(excerpt: Excerpt, bytes: number): void {
    const long = tooLong(this.#limits);
    const text = this.#measures ? `${long} (it has ${bytes}${bytes > this.#mostMeasured ? " and more" : ""})` : long;
    this.#add(new UnreadableLine(new RpcError(ErrorCode.InvalidRequest, text), excerpt));
  }

  get #mostMeasured(): number {
    return MEASURED_TIMES * this.#limits.messageBytes;
  }

  // Whole lines, each with its newline: decoded together, unless one of them is too long or not UTF-8.
  #takeLines(lines: Uint8Array): void {
    if (lines.length <= this.#limits.messageBytes) {
      try {
        this.#add(this.#decode(lines));
        return;
      } catch {
        // One of them is at fault; the others are served.
      }
    }
    for (let start = 0; start < lines.length;) {
      const newline = lines.indexOf(NEWLINE, start);
      this.#takeLine(lines.subarray(start, newline));
      start = newline + 1;
    }
  }

  #takeLine(line: Uint8Array): void {
    if (line.length > this.#limits.messageBytes) {
      this.#refuseLength(excerptOf(line), line.length);
      return;
    }
    try {
      this.#add(this.#decode(line));
    } catch {
      this.#add(new UnreadableLine(NOT_UTF8, excerptOf(line)));
    }
  }

  #add(piece: string | UnreadableLine): void {
    const marked = !this.#opened && typeof piece === "string" && piece.charCodeAt(0) === BYTE_ORDER_MARK;
    this.#opened = true;
    this.#pieces.push(marked ? piece.slice(1) : piece);
  }
}

/** Whether a message was begun and not ended. */
function isCut(line: Uint8Array): boolean {
  const text = lossyText(line).trimStart();
  if (!/^[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

// Looks past the first character only where that is white space, which no client writes.
function isBlank(line: string): boolean {
  return line.length === 0 || (line.charCodeAt(0) <= SPACE && BLANK.test(line));
}

// The bytes of a line that has begun and not ended, gathered without copying them again for every chunk.

// Most lines end in the chunk they begin in; this holds what is left of one in the common case.
const SMALL = 16 * 1024;
// A line of the usual limit is a handful of these, and no more than one of them is in vain.
const LARGEST_BLOCK = 1024 * 1024;

export class PartialLine {
  // Full ones, before the last. A line that gets too long is never joined, so it costs its limit once and not twice.
  #blocks: Uint8Array[] = [];
  #last: Uint8Array = new Uint8Array(SMALL);
  // Bytes of the last block that are taken.
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(chunk: Uint8Array): void {
    const room = this.#last.length - this.#used;
    this.#length += chunk.length;
    if (chunk.length <= room) {
      this.#last.set(chunk, this.#used);
      this.#used += chunk.length;
      return;
    }
    this.#last.set(chunk.subarray(0, room), this.#used);
    this.#blocks.push(this.#last);
    const rest = chunk.subarray(room);
    // Blocks as long as all before them keep their number small, however small the chunks.
    this.#last = new Uint8Array(Math.max(rest.length, Math.min(this.#length, LARGEST_BLOCK)));
    this.#last.set(rest);
    this.#used = rest.length;
  }

  /** The bytes so far, valid until the next `append`. They are joined for it, so it is asked for once a line. */
  get bytes(): Uint8Array {
    if (this.#blocks.length === 0) return this.#last.subarray(0, this.#used);
    return this.#copied(0, this.#length);
  }

  /** The first and the last bytes, those between left out. */
  ends(first: number, last: number): Uint8Array {
    if (this.#length <= first + last) return this.bytes;
    const both = new Uint8Array(first + last);
    both.set(this.#copied(0, first));
    both.set(this.#copied(this.#length - last, this.#length), first);
    return both;
  }

  clear(): void {
    this.#blocks = [];
    this.#used = 0;
    this.#length = 0;
    if (this.#last.length > SMALL) this.#last = new Uint8Array(SMALL);
  }

  #copied(from: number, to: number): Uint8Array {
    const bytes = new Uint8Array(to - from);
    let at = 0;
    for (const block of [...this.#blocks, this.#last]) {
      const [start, end] = [Math.max(from - at, 0), Math.min(to - at, block.length)];
      if (start < end) bytes.set(block.subarray(start, end), at + start - from);
      at += block.length;
    }
    return bytes;
  }
}
