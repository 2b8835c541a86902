// Keeps what a plugin wrote to stderr last, for the operator, and notices one that writes without end.
import type { Readable } from "node:stream";

/** What is kept: the last words, and a stack trace before them. */
const KEPT_BYTES = 4_096;
/** A debug log of 250 KB a second fits; what is read faster than that for a minute fills the memory with garbage. */
const MOST_BYTES = 16 * 1024 * 1024;
const WINDOW_MS = 60_000;

export interface ComplaintOptions {
  /** Called once, when more came within a minute than a log is. */
  readonly flooded: () => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class Complaint {
  #tail: Buffer = Buffer.alloc(0);
  #since: number;
  #bytes = 0;
  #flooded = false;

  constructor(stream: Readable | null, { flooded, now = () => performance.now() }: ComplaintOptions) {
    this.#since = now();
    stream?.on("error", () => undefined);
    stream?.on("data", (chunk: Buffer) => {
      this.#keep(chunk);
      if (now() - this.#since >= WINDOW_MS) {
        this.#since = now();
        this.#bytes = 0;
      }
      this.#bytes += chunk.length;
      if (this.#bytes <= MOST_BYTES || this.#flooded) return;
      this.#flooded = true;
      flooded();
    });
  }

  /** Bytes that are no UTF-8 become U+FFFD. */
  get text(): string {
    const said = this.#tail.toString("utf8").trim();
    return this.#flooded ? `${said} [more than ${MOST_BYTES / 2 ** 20} MB on stderr within a minute]` : said;
  }

  #keep(chunk: Buffer): void {
    // A part of a chunk keeps the whole chunk in memory, a copy does not.
    const last = chunk.subarray(-KEPT_BYTES);
    this.#tail = Buffer.concat([this.#tail, last]).subarray(-KEPT_BYTES);
  }
}
