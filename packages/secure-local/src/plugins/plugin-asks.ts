// What a plugin asks of its host in the middle of its work: reads each ask, has it answered, and never more than a few at a time.
import { setMaxListeners } from "node:events";
import { PluginError } from "./plugin-error.js";

type Json = Readonly<Record<string, unknown>>;

/** Does what is asked. What a `PluginError` says is told to the plugin; of any other error only that there was one. */
export type AnswerAsk = (asked: Json, signal: AbortSignal) => Promise<unknown>;

export interface PluginAsksOptions {
  readonly answer: AnswerAsk;
  readonly send: (message: object) => void;
}

/** Asks of one process at a time; an answer may hold megabytes. */
const MAX_ASKS = 16;
/** Of one ask. */
const LISTENERS = 8;

export class PluginAsks {
  readonly #options: PluginAsksOptions;
  readonly #gone = new AbortController();
  #underway = 0;

  constructor(options: PluginAsksOptions) {
    this.#options = options;
    setMaxListeners(MAX_ASKS * LISTENERS, this.#gone.signal);
  }

  /** @param message The plugin's line; its `ask` is what the answer repeats. `call`: what it asks this for; that may be cancelled. */
  take(message: Json, call?: AbortSignal): void {
    const { ask: id, ...asked } = message;
    if (typeof id !== "number" && typeof id !== "string") return;
    const signal = call === undefined ? this.#gone.signal : AbortSignal.any([call, this.#gone.signal]);
    void this.#answered(asked, signal).then(
      (value) => this.#options.send({ answered: id, value }),
      (error: unknown) => {
        const told = error instanceof PluginError ? error.message : "The host failed to do it.";
        this.#options.send({ answered: id, error: told });
      },
    );
  }

  /** The process is gone: what it asked for is no longer wanted. */
  close(): void {
    this.#gone.abort(new PluginError("The plugin ended."));
  }

  async #answered(asked: Json, signal: AbortSignal): Promise<unknown> {
    if (this.#underway >= MAX_ASKS)
      throw new PluginError(`${MAX_ASKS} asks are under way; wait for the answer to one of them.`);
    this.#underway += 1;
    try {
      signal.throwIfAborted();
      return await this.#options.answer(asked, signal);
    } finally {
      this.#underway -= 1;
    }
  }
}
