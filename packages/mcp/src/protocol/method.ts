// Describes one method of the protocol: its name, what its params must look like, what gates it and what it answers.
import type { JsonObject } from "../jsonrpc/message.js";
import type { ServerCapabilities } from "./capabilities.js";

/** Why params were refused. It becomes a -32602 whose `data` is `{ path, constraint }`. */
export interface ParamsFault {
  /** Where: a JSON Pointer into the params, `/name`. */
  readonly path: string;
  /** What was expected there: `must be` and then this, `a string`. */
  readonly constraint: string;
  /** One sentence for a person: `params.name must be a string`. */
  readonly message: string;
}

/** Looks at params and names the first fault, or returns undefined. Unknown members are always fine. */
export type ParamsCheck = (params: JsonObject) => ParamsFault | undefined;

/** Which projection a result needs before an older peer may see it. */
export type ResultKind =
  | "plain"
  | "empty"
  | "initialize"
  | "discover"
  | "tools"
  | "resources"
  | "templates"
  | "prompts"
  | "callTool"
  | "readResource"
  | "getPrompt"
  | "complete"
  | "task"
  | "tasks";

/** A request a client may send. */
export interface MethodRecord {
  readonly name: string;
  readonly check: ParamsCheck;
  /** The server answers -32601 unless it advertises this; undefined: always served. */
  readonly capability: keyof ServerCapabilities | undefined;
  /** Complete results carry `ttlMs` and `cacheScope` where the revision has them. */
  readonly cacheable: boolean;
  /** The method may answer `input_required`. */
  readonly interactive: boolean;
  readonly result: ResultKind;
}
