// What a plugin asks of its host in the middle of its work: reads each ask, has it answered, and never more than a few at a time.
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

export class PluginAsks {
  readonly #options: PluginAsksOptions;
  /** One for each ask: signals that many others follow grow with every follower. */
  readonly #underway = new Set<AbortController>();

  constructor(options: PluginAsksOptions) {
    this.#options = options;
  }

  /** @param message The plugin's line; its `ask` is what the answer repeats. `call`: what it asks this for; that may be cancelled. */
  take(message: Json, call?: AbortSignal): void {
    const { ask: id, ...asked } = message;
    if (typeof id !== "number" && typeof id !== "string") return;
    void this.#answered(asked, call).then(
      (value) => this.#options.send({ answered: id, value }),
      (error: unknown) => {
        const told = error instanceof PluginError ? error.message : "The host failed to do it.";
        this.#options.send({ answered: id, error: told });
      },
    );
  }

  /** The process is gone: what it asked for is no longer wanted. */
  close(): void {
    for (const each of this.#underway) each.abort(new PluginError("The plugin ended."));
  }

  async #answered(asked: Json, call: AbortSignal | undefined): Promise<unknown> {
    if (this.#underway.size >= MAX_ASKS)
      throw new PluginError(`${MAX_ASKS} asks are under way; wait for the answer to one of them.`);
    const ask = new AbortController();
    const cancel = (): void => ask.abort(new PluginError("The call was cancelled."));
    this.#underway.add(ask);
    call?.addEventListener("abort", cancel, { once: true });
    try {
      if (call?.aborted === true) cancel();
      ask.signal.throwIfAborted();
      return await this.#options.answer(asked, ask.signal);
    } finally {
      this.#underway.delete(ask);
      call?.removeEventListener("abort", cancel);
    }
  }
}
