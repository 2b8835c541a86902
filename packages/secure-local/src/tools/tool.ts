// The shape of a built-in tool: a plain object, handed what power it has.
import type { Clock } from "../capabilities/clock.js";
import type { PolicyFetch } from "../capabilities/fetch.js";

/** What a tool is handed for one call. */
export interface ToolPowers {
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
  /** Aborted when the call is cancelled or its time is up. */
  readonly signal: AbortSignal;
}

/** The text of an answer, or the sentence that says why there is none (a result with `isError: true`). */
export type ToolAnswer = string | ToolFailure;

export interface ToolFailure {
  readonly failed: string;
}

export interface BuiltinTool<Args> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema 2020-12 of the arguments. */
  readonly input: { readonly type: "object" } & Readonly<Record<string, unknown>>;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** Expects arguments that fit `input`. What it throws is unexpected and must not reach the peer. */
  run(args: Args, powers: ToolPowers): ToolAnswer | Promise<ToolAnswer>;
}
