// What both ends of standard streams share: the queue of what is to be written, stdout kept for messages, bytes read as text.
import type { TextPieces } from "../jsonrpc/message.js";
import type { Writable } from "node:stream";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import type { OutgoingKind } from "../jsonrpc/transport.js";

// Keeps standard output for messages: what anybody else prints there goes to standard error instead.

/** Redirects `process.stdout.write`, and with it `console`, to standard error. Returns the function that undoes it. */
export function guardStdout(): () => void {
  const { stdout, stderr } = process;
  const original = Object.getOwnPropertyDescriptor(stdout, "write");
  const redirected: typeof stdout.write = (...args: unknown[]) => Reflect.apply(stderr.write, stderr, args) as boolean;
  Object.defineProperty(stdout, "write", { value: redirected, configurable: true, writable: true });
  return () => {
    if (stdout.write !== redirected) return;
    if (original === undefined) delete (stdout as { write?: unknown }).write;
    else Object.defineProperty(stdout, "write", original);
  };
}

/** The `write` that a stream has by its kind: past the guard, and past whatever else was put over it. */
function ownWrite(stream: Writable): Writable["write"] {
  return (Object.getPrototypeOf(stream) as Writable).write;
}

// Joined messages go out in pieces of about this length: a pipe holds no more at once.
const PIECE_LENGTH = 64 * 1024;
// One message longer than this is written in parts, so that encoding it never needs its length again in memory.
// Twice the high-water mark: an answer of the usual megabyte still goes out whole.
const LONGEST_WRITE = 2 * 1024 * 1024;
// The same where we encode ourselves, into memory we keep.
const LONGEST_ENCODED = 256 * 1024;
// Bytes of UTF-8 that a UTF-16 unit can become. With room for that the engine encodes without measuring first.
const MOST_BYTES = 3;
// A reader that is alive and does not read gets this long, at the very end, to take what is left.
const LAST_WRITE_MS = 1_000;

interface OutputEvents {
  /** Enough has been read for intake to go on. */
  drained(): void;
  /** Nothing can be written any more: the reader is gone. Called at most once, and not after `close`. */
  broken(): void;
}

/** When the messages of a tick are written. */
interface OutputPace {
  /**
   * The first of a turn of the event loop at the end of its tick, for those who send little and wait for the answer; what
   * follows in that turn together. Default: all in the next turn, when more may have come to go with it.
   */
  readonly atOnce?: boolean;
}

/** At most one write is under way: everything else waits here, where it is counted. */
export class OutputQueue {
  readonly #stream: Writable;
  readonly #writeTo: Writable["write"];
  readonly #limits: JsonRpcLimits;
  readonly #events: OutputEvents;
  readonly #atOnce: boolean;
  /** Something was written at once in this turn of the event loop. */
  #wroteAtOnce = false;
  #joining = "";
  #pieces: string[] = [];
  // Only the system is known to be done with our memory when it says so; other streams hand it on.
  readonly #encodes: boolean;
  // Where long parts are encoded: a megabyte of fresh memory costs more than what is written into it.
  #encoded: Buffer | undefined;
  // UTF-16 units accepted and not yet taken by the system, the write under way included.
  #unsent = 0;
  #writing = 0;
  #scheduled = false;
  #held = false;
  #closed = false;
  #drained: Promise<void> | undefined;
  #onDrained: (() => void) | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(stream: Writable, limits: JsonRpcLimits, events: OutputEvents, { atOnce = false }: OutputPace = {}) {
    this.#atOnce = atOnce;
    this.#stream = stream;
    this.#encodes = stream === process.stdout;
    this.#writeTo = this.#encodes ? ownWrite(stream) : stream.write;
    this.#limits = limits;
    this.#events = events;
    stream.on("error", this.#broke);
    stream.on("close", this.#broke);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** True while the reader is so far behind that nothing more should be asked of us. */
  get congested(): boolean {
    return this.#unsent >= this.#limits.highWaterBytes;
  }

  /** True where so much waits that only writers who did not wait can have brought it about. */
  get overfull(): boolean {
    return this.#unsent >= this.#limits.outgoingBytes;
  }

  /** As `Carrier.write`. Over the hard limit a notification is dropped: its writer was asked to wait and did not. */
  write(text: string, kind: OutgoingKind): void | Promise<void> {
    if (this.#closed) return;
    if (kind === "notification" && this.#unsent >= this.#limits.outgoingBytes) return this.#whenDrained();
    this.#joining += text;
    this.#joining += "\n";
    this.#unsent += text.length + 1;
    if (this.#joining.length >= PIECE_LENGTH) this.#cutPiece();
    this.#schedule();
    if (this.congested) return this.#whenDrained();
  }

  /** A response whose long texts are not joined with the others: joining would copy them. */
  writeTexts(texts: TextPieces): void {
    if (this.#closed) return;
    for (const text of texts) {
      if (text.length >= PIECE_LENGTH && this.#joining.length > 0) this.#cutPiece();
      this.#joining += text;
      this.#unsent += text.length;
      if (text.length >= PIECE_LENGTH) this.#cutPiece();
    }
    this.#joining += "\n";
    this.#unsent += 1;
    this.#schedule();
  }

  /** Says that more messages come in the next turn: less than a piece waits for them, until `release`. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    if (this.#unsent > 0) this.#schedule();
  }

  /** Sends what is left, for at most a second, and drops what comes later. */
  async close(): Promise<void> {
    this.release();
    if (this.#unsent > 0 && !this.#closed) {
      const empty = new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
      const timer = setTimeout(() => this.#onEmpty?.(), LAST_WRITE_MS);
      await empty;
      clearTimeout(timer);
    }
    this.abandon();
  }

  /** Drops what is left, and what comes later. */
  abandon(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#pieces = [];
    this.#joining = "";
    this.#unsent = 0;
    this.#wake();
    this.#onEmpty?.();
    // A late EPIPE without a listener would end the process with a stack trace.
    this.#stream.on("error", ignore);
    this.#stream.off("error", this.#broke).off("close", this.#broke);
  }

  #schedule(): void {
    if (this.#scheduled || this.#writing > 0) return;
    this.#scheduled = true;
    if (!this.#atOnce || this.#wroteAtOnce) return void setImmediate(this.#flush);
    this.#wroteAtOnce = true;
    setImmediate(this.#turned);
    process.nextTick(this.#flush);
  }

  readonly #turned = (): void => {
    this.#wroteAtOnce = false;
  };

  #cutPiece(): void {
    const piece = withoutSeparators(this.#joining);
    this.#unsent += piece.length - this.#joining.length;
    this.#pieces.push(piece);
    this.#joining = "";
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#closed || this.#writing > 0) return;
    if (this.#pieces.length === 0 && this.#joining.length > 0 && !this.#held) this.#cutPiece();
    const part = this.#nextPart();
    if (part === undefined) return;
    this.#writing = part.length;
    const chunk = this.#encodes && part.length >= PIECE_LENGTH ? this.#encode(part) : part;
    this.#writeTo.call(this.#stream, chunk, "utf8", this.#written);
  };

  #nextPart(): string | undefined {
    const piece = this.#pieces[0];
    const longest = this.#encodes ? LONGEST_ENCODED : LONGEST_WRITE;
    if (piece === undefined || piece.length <= longest) return this.#pieces.shift();
    // Never between the two halves of a surrogate pair.
    const last = piece.charCodeAt(longest - 1);
    const end = last >= 0xd800 && last < 0xdc00 ? longest - 1 : longest;
    this.#pieces[0] = piece.slice(end);
    return piece.slice(0, end);
  }

  #encode(part: string): Buffer {
    const memory = (this.#encoded ??= Buffer.allocUnsafeSlow(MOST_BYTES * LONGEST_ENCODED));
    return memory.subarray(0, encoder.encodeInto(part, memory).written);
  }

  readonly #written = (error?: Error | null): void => {
    if (this.#closed) return;
    if (error) {
      this.#broke();
      return;
    }
    this.#unsent -= this.#writing;
    this.#writing = 0;
    if (this.#unsent > 0) this.#flush();
    else this.#onEmpty?.();
    // Half the mark, so that intake does not stop and start with every answer.
    if (this.#unsent * 2 < this.#limits.highWaterBytes) this.#wake();
  };

  #whenDrained(): Promise<void> {
    this.#drained ??= new Promise((resolve) => {
      this.#onDrained = resolve;
    });
    return this.#drained;
  }

  #wake(): void {
    this.#onDrained?.();
    this.#onDrained = undefined;
    this.#drained = undefined;
    if (!this.#closed) this.#events.drained();
  }

  readonly #broke = (): void => {
    if (this.#closed) return;
    this.abandon();
    this.#events.broken();
  };
}

const encoder = new TextEncoder();

// JSON may hold these two as they are, but Node's own readline, with which many clients read, takes them for line ends.
function withoutSeparators(text: string): string {
  if (!text.includes("\u2028") && !text.includes("\u2029")) return text;
  return text.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

function ignore(): void {}

// Bytes to text at the speed of memory where they are ASCII, as nearly every message is.

// Asked for by name: importing it would make Node load files and blobs too.
const { isAscii, isUtf8 } = process.getBuiltinModule("node:buffer");
// Made once: whoever floods us with bad bytes must not make us write a stack trace for each line.
const NOT_UTF8 = new TypeError("The bytes are not UTF-8");

/** Keeps a byte order mark as a character. Throws a TypeError when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // ASCII becomes a one-byte string.
  if (isAscii(bytes)) return buffer.toString("latin1");
  if (!isUtf8(bytes)) throw NOT_UTF8;
  return buffer.toString("utf8");
}

// Turns SIGTERM and SIGINT into a clean end, and the second of them into an immediate one.

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
// What a shell reports for a process that a signal ended.
const EXIT_CODES: Record<string, number> = { SIGTERM: 143, SIGINT: 130 };

/** Calls `callback` at the first signal; a second one exits at once. Returns the function that stops listening. */
export function onShutdown(callback: (signal: NodeJS.Signals) => void): () => void {
  let asked = false;
  const listener = (signal: NodeJS.Signals): void => {
    if (asked) process.exit(EXIT_CODES[signal]);
    asked = true;
    callback(signal);
  };
  for (const signal of SIGNALS) process.on(signal, listener);
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener);
  };
}
