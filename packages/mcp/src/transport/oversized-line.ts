// A line that is longer than allowed: of its bytes only both ends are kept, to read the request's id from.
import { identify, isAnswerWithoutId } from "../jsonrpc/identify.js";
import type { Excerpt } from "../jsonrpc/transport.js";

/** What is kept of either end. */
export const HEAD_BYTES = 4_096;
export const TAIL_BYTES = 256;

// Made for the first line that cannot be read: most conversations have none.
let lossy: TextDecoder | undefined;

function lossyText(bytes: Uint8Array): string {
  return (lossy ??= new TextDecoder()).decode(bytes);
}

/** Both ends of a line, for telling whose it is. Bytes that are not UTF-8 become replacement characters. */
export function excerptOf(line: Uint8Array): Excerpt {
  const head = lossyText(line.subarray(0, HEAD_BYTES));
  return line.length <= HEAD_BYTES ? { head, tail: undefined } : { head, tail: lossyText(line.subarray(-TAIL_BYTES)) };
}

export class OversizedLine {
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
