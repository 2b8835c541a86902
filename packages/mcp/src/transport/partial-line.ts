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
