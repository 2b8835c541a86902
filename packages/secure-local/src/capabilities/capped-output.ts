// Keeps the beginning of what a program writes, and counts the rest.
import type { Readable } from "node:stream";

/** Characters kept of each stream: what a model reads of a command, and then some. */
const MAX_BYTES = 256 * 1024;
/**
 * A program that writes more than this is not going to stop: its end is the caller's business. What is read and not kept
 * is garbage for a while, so this is also what a flood costs.
 */
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

export class CappedOutput {
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #bytes = 0;

  /** `flooded` is called once, when far too much came. */
  constructor(stream: Readable | null, flooded: () => void) {
    stream?.on("error", () => undefined);
    stream?.on("data", (chunk: Buffer) => {
      const before = this.#bytes;
      this.#bytes += chunk.length;
      if (before <= MAX_TOTAL_BYTES && this.#bytes > MAX_TOTAL_BYTES) flooded();
      const room = MAX_BYTES - this.#keptBytes;
      if (room <= 0) return;
      const kept = chunk.length <= room ? chunk : Buffer.from(chunk.subarray(0, room));
      this.#keptBytes += kept.length;
      this.#kept.push(kept);
    });
  }

  get truncated(): boolean {
    return this.#bytes > this.#keptBytes;
  }

  /** Bytes that are no UTF-8 become U+FFFD; so does a character that was cut. */
  get text(): string {
    return Buffer.concat(this.#kept).toString("utf8");
  }
}
