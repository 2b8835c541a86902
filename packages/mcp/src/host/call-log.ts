// Keeps what was called, with what, and what came of it.
import type { JsonObject } from "../jsonrpc/message.js";

export interface LoggedCall {
  /** Counts up from 1 in each host. */
  readonly id: number;
  readonly tool: string;
  readonly server: string;
  /** What it was called with, or would have been, as JSON; long ones are cut. */
  readonly args: string;
  /** Whether somebody changed the arguments first. */
  readonly edited: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly durationMs: number;
  /** `ok`, `tool error` (the result says so), `denied`, `withheld` (after it ran), or the code of the error. */
  readonly outcome: string;
}

/** Enough to see what an agent did in a long conversation. */
const MOST_CALLS = 500;
const MOST_CHARACTERS = 2_000;

export class CallLog {
  readonly #calls: LoggedCall[] = [];

  add({ args, ...rest }: Omit<LoggedCall, "args"> & { readonly args: JsonObject }): void {
    const text = JSON.stringify(args);
    const shown = text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
    this.#calls.push({ ...rest, args: shown });
    if (this.#calls.length > MOST_CALLS) this.#calls.shift();
  }

  /** Oldest first. */
  get calls(): readonly LoggedCall[] {
    return this.#calls;
  }
}
