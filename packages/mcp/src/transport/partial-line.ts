// The bytes of a line that has begun and not ended, gathered without copying them again for every chunk.

// Most lines end in the chunk they begin in; this holds what is left of one in the common case.
const SMALL = 16 * 1024;

export class PartialLine {
  #bytes: Uint8Array = new Uint8Array(SMALL);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#bytes.length) {
      // Doubling keeps the copying linear in the length of the line, however small the chunks.
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = needed;
  }

  /** The bytes so far, valid until the next `append`. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > SMALL) this.#bytes = new Uint8Array(SMALL);
  }
}
