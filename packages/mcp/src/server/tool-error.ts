// The error a tool throws to tell the model what went wrong, from however deep within.
import { brand } from "../jsonrpc/brand.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { JsonObject } from "../jsonrpc/message.js";

/** What a `ToolError` carries beside its message. */
export interface ToolErrorOptions {
  /** Structured content of the failed result, for programs: the model reads the message. */
  readonly data?: JsonObject;
  /** For the author's own handling; neither the model nor the log is told. */
  readonly cause?: unknown;
}

/**
 * Thrown anywhere below a tool's `run`: the call ends with a result that says so (`isError`), and the model reads the
 * message. Below a resource, a prompt, a completer or a method of one's own the client gets the message as a JSON-RPC error.
 * Put nothing into it that a model should not repeat. Its `code` is `TOOL`.
 */
export class ToolError extends LocalError {
  override readonly name: string = "ToolError";
  readonly data: JsonObject | undefined;

  static {
    brand(this, "ToolError");
  }

  constructor(message: string, { data, cause }: ToolErrorOptions = {}) {
    super("TOOL", message, cause === undefined ? undefined : { cause });
    this.data = data;
  }
}
