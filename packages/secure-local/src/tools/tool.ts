// The shape of a built-in tool: a plain object, handed what power it has.
import type { Block } from "@secure-local/mcp/server";
import type { Clock } from "../capabilities/clock.js";
import type { Databases } from "../capabilities/databases/databases.js";
import type { PolicyFetch } from "../capabilities/fetch.js";
import type { Files } from "../capabilities/files/files.js";
import type { Act, Leave } from "../capabilities/leave.js";

/** What a tool is handed for one call. */
export interface ToolPowers {
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
  /** Files under the policy, narrowed by the roots of the client that calls. */
  readonly files: Files;
  readonly databases: Databases;
  /** Aborted when the call is cancelled or its time is up. */
  readonly signal: AbortSignal;
  /**
   * Reports how far the call is, if the client asked to know. `done` must grow from report to report. Await it: that keeps
   * pace with a slow reader.
   */
  progress(done: number, total?: number, message?: string): Promise<void>;
  /** Leave to do something for this call that a program wants, not its caller. To be asked for right before it is done. */
  acts(act: Act): Promise<Leave>;
}

/** The text of an answer, data with a text, or the sentence that says why there is none (a result with `isError: true`). */
export type ToolAnswer = string | ToolData | ToolFailure;

/** An answer in the shape of the tool's `output` schema. */
export interface ToolData {
  readonly structured: Readonly<Record<string, unknown>>;
  /** What a model reads; the data as JSON when both this and `blocks` are absent. */
  readonly text?: string;
  /** Content beside the text: images, links, embedded resources. */
  readonly blocks?: readonly Block[];
}

export interface ToolFailure {
  readonly failed: string;
  /** The rule of the policy that refused, for the audit record; absent when nothing was refused. */
  readonly rule?: string;
}

/** What must be allowed beyond the tool's name, or there is nothing for it to work on: such a tool is not listed. */
export type ToolNeed =
  | "readable-files"
  | "writable-files"
  | "network"
  | "databases"
  | "fillable-databases"
  | "commands";

/** What arguments and answers are: JSON objects. */
export type ObjectSchema = { readonly type: "object" } & Readonly<Record<string, unknown>>;

export interface BuiltinTool<Args> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** One word for what it is about, for `search_tools` and `list_categories`; `other` when absent. */
  readonly category?: string;
  /** Other words people look for it by. */
  readonly aliases?: readonly string[];
  /** JSON Schema 2020-12 of the arguments. */
  readonly input: ObjectSchema;
  /** JSON Schema 2020-12 of `structured`; with it every answer that is no failure must have it. */
  readonly output?: ObjectSchema;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  readonly needs?: readonly ToolNeed[];
  /** Expects arguments that fit `input`. What it throws is unexpected and must not reach the peer. */
  run(args: Args, powers: ToolPowers): ToolAnswer | Promise<ToolAnswer>;
}
