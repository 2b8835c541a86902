// Applies one delta of a pack: copies pieces of what it builds on, and inserts new ones.
import { damaged, GitError } from "./git-error.js";

const broken = (): GitError => damaged("a difference between two objects makes no sense");

/** A copy without a length is of this many bytes. */
const DEFAULT_COPY = 0x10000;

/** @throws GitError `damaged`; `too-large` for a result of more than `most` bytes */
export function applyDelta(base: Uint8Array, delta: Uint8Array, most: number): Uint8Array {
  const reader = new DeltaReader(delta);
  if (reader.size() !== base.length) throw broken();
  const size = reader.size();
  if (size > most) throw new GitError("too-large", "What is asked for is too long.");
  const result = new Uint8Array(size);
  let filled = 0;
  while (!reader.atEnd) {
    const piece = reader.piece(base);
    if (piece.length > size - filled) throw broken();
    result.set(piece, filled);
    filled += piece.length;
  }
  if (filled !== size) throw broken();
  return result;
}

class DeltaReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Seven bits a byte, the lowest first. */
  size(): number {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = this.#next();
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER / 256) throw broken();
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  /** What the next instruction adds. */
  piece(base: Uint8Array): Uint8Array {
    const code = this.#next();
    if (code === 0) throw broken();
    if (code < 0x80) {
      const end = this.#at + code;
      if (end > this.#bytes.length) throw broken();
      const piece = this.#bytes.subarray(this.#at, end);
      this.#at = end;
      return piece;
    }
    const offset = this.#number(code, 0, 4);
    const length = this.#number(code, 4, 3) || DEFAULT_COPY;
    if (offset + length > base.length) throw broken();
    return base.subarray(offset, offset + length);
  }

  /** A number of which only the bytes are there whose bits are set in `code`. */
  #number(code: number, firstBit: number, bytes: number): number {
    let value = 0;
    for (let index = 0; index < bytes; index += 1) {
      if ((code & (1 << (firstBit + index))) !== 0) value += this.#next() * 2 ** (8 * index);
    }
    return value;
  }

  #next(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw broken();
    this.#at += 1;
    return byte;
  }
}
