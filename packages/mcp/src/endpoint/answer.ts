// Answers of handlers: a plain result, or one whose JSON text is ready.
import type { Codec } from "../era/codec.js";
import type { JsonObject } from "../jsonrpc/message.js";

/** A result that knows its own JSON text, so that lists are serialised once and not once a request. */
export class ReadyResult {
  readonly #text: (codec: Codec) => string;

  constructor(text: (codec: Codec) => string) {
    this.#text = text;
  }

  textFor(codec: Codec): string {
    return this.#text(codec);
  }
}

/** What a handler gives: the neutral result in the newest revision's shape. */
export type Answer = JsonObject | ReadyResult;

export type MaybePromise<T> = T | Promise<T>;
