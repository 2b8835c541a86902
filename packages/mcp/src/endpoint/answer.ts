// Answers of handlers: a plain result, or one whose JSON text is ready.
import type { Codec } from "../era/codec.js";
import type { JsonObject } from "../jsonrpc/message.js";

const ENCODER = new TextEncoder();

/** A result that knows its own JSON text, so that lists are serialised once and not once a request. */
export class ReadyResult {
  readonly #text: (codec: Codec) => string;
  readonly #bytes = new Map<Codec, Uint8Array>();

  /** `text` gives the same text whenever it is asked for the same codec. */
  constructor(text: (codec: Codec) => string) {
    this.#text = text;
  }

  textFor(codec: Codec): string {
    return this.#text(codec);
  }

  /** The text as UTF-8, encoded once. */
  bytesFor(codec: Codec): Uint8Array {
    let bytes = this.#bytes.get(codec);
    if (bytes === undefined) {
      bytes = ENCODER.encode(this.#text(codec));
      this.#bytes.set(codec, bytes);
    }
    return bytes;
  }
}

/** What a handler gives: the neutral result in the newest revision's shape. */
export type Answer = JsonObject | ReadyResult;

export type MaybePromise<T> = T | Promise<T>;
