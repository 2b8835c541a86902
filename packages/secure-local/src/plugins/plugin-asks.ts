// What a plugin asks of its host in the middle of its work: reads each ask, has it answered, and never more than a few at a time.
import { PluginError } from "./plugin-error.js";
import type { ForCall } from "./plugin-powers.js";

type Json = Readonly<Record<string, unknown>>;

/** Does what is asked. What a `PluginError` says is told to the plugin; of any other error only that there was one. */
export type AnswerAsk = (asked: Json, call: ForCall) => Promise<unknown>;

export interface PluginAsksOptions {
  readonly answer: AnswerAsk;
  readonly send: (message: object) => void;
  /** Something was asked for outside of a call; told of the first few, and of one too many. */
  readonly outside: (asked: Json, isTooMuch: boolean) => void;
}

/** Asks of one process at a time; an answer may hold megabytes. */
export const MAX_ASKS = 16;
/** Asks outside of any call that are put on record, of one process: who knows of so many knows enough. */
const TOLD_OUTSIDE = 16;
/** A call may end while its program still asks for something; so often is no accident. */
const MAX_OUTSIDE = 1_000;
const OUTSIDE =
  'Refused: a plugin acts within a call. Say for which one, as in {"ask":1,"for":7,…}, while that call is under way.';

export class PluginAsks {
  readonly #options: PluginAsksOptions;
  /** One for each ask: signals that many others follow grow with every follower. */
  readonly #underway = new Set<AbortController>();
  #outside = 0;

  constructor(options: PluginAsksOptions) {
    this.#options = options;
  }

  /** @param message The plugin's line; its `ask` is what the answer repeats. `call`: what it asks this for, where that is under way. */
  take(message: Json, call: ForCall | undefined): void {
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

  #refused(asked: Json): never {
    this.#outside += 1;
    const isTooMuch = this.#outside > MAX_OUTSIDE;
    if (this.#outside <= TOLD_OUTSIDE || isTooMuch) this.#options.outside(asked, isTooMuch);
    throw new PluginError(OUTSIDE);
  }

  async #answered(asked: Json, call: ForCall | undefined): Promise<unknown> {
    if (call === undefined) return this.#refused(asked);
    if (this.#underway.size >= MAX_ASKS)
      throw new PluginError(`${MAX_ASKS} asks are under way; wait for the answer to one of them.`);
    const ask = new AbortController();
    const { signal, leave } = call;
    const cancel = (): void => ask.abort(new PluginError("The call has ended, or was cancelled."));
    this.#underway.add(ask);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      if (signal.aborted) cancel();
      ask.signal.throwIfAborted();
      return await this.#options.answer(asked, { signal: ask.signal, leave });
    } finally {
      this.#underway.delete(ask);
      signal.removeEventListener("abort", cancel);
    }
  }
}
