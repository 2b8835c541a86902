// Frames of PostgreSQL's protocol (version 3.0, "Message Formats"): writing them, and reading them from a socket with bounds.
//
// No client library is used: none bounds the size of a row or takes a socket that was checked without looking into the
// environment and the user's password files.
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";

export interface Frame {
  /** The letter of the message. */
  readonly type: string;
  readonly body: Buffer;
}

/** Bytes of one message: a row larger than this is no answer for a model. */
const MAX_FRAME = 16 * 1024 * 1024;
/** Messages read ahead of those who ask for them. */
const MAX_WAITING = 1_000;

export function frame(type: string, ...parts: readonly (Buffer | string | number)[]): Buffer {
  const body = Buffer.concat(parts.map(bytesOf));
  const head = Buffer.alloc(type.length + 4);
  head.write(type, "latin1");
  head.writeInt32BE(body.length + 4, type.length);
  return Buffer.concat([head, body]);
}

/** Texts end with a NUL, numbers have 32 bits. */
function bytesOf(part: Buffer | string | number): Buffer {
  if (typeof part === "string") return Buffer.from(`${part}\0`);
  return typeof part === "number" ? int32(part) : part;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

/** Texts that end with a NUL, one after the other, from `at` on. */
export function textsOf(body: Buffer, at = 0): string[] {
  return body.subarray(at).toString().split("\0");
}

/** The messages a server sends, in order. */
export class FrameReader {
  readonly #socket: Socket;
  readonly #frames: Frame[] = [];
  #bytes: Buffer[] = [];
  #length = 0;
  #wanted = 5;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(new Error("the server closed the connection")));
  }

  /** @throws Error when the connection ends first */
  async next(): Promise<Frame> {
    for (;;) {
      const first = this.#frames.shift();
      if (first !== undefined) {
        if (this.#frames.length === 0) this.#socket.resume();
        return first;
      }
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #take(chunk: Buffer): void {
    this.#bytes.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#wanted) return;
    let bytes = this.#bytes.length === 1 ? chunk : Buffer.concat(this.#bytes, this.#length);
    this.#wanted = 5;
    while (bytes.length >= 5) {
      const size = bytes.readInt32BE(1) + 1;
      if (size < 5 || size > MAX_FRAME) {
        this.#socket.destroy();
        return this.#end(
          new Error(size < 5 ? "the server does not speak PostgreSQL's protocol" : "a row is too large"),
        );
      }
      this.#wanted = size;
      if (bytes.length < size) break;
      this.#frames.push({ type: bytes.toString("latin1", 0, 1), body: bytes.subarray(5, size) });
      bytes = bytes.subarray(size);
      this.#wanted = 5;
    }
    this.#bytes = [bytes];
    this.#length = bytes.length;
    if (this.#frames.length > MAX_WAITING) this.#socket.pause();
    this.#wake?.();
  }

  #end(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }
}
