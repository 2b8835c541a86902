// Names how a request failed, in the words of the semantic conventions for MCP.
import { type Answer, type Call, RpcError } from "@secure-local/mcp/server";
import { redactString } from "../audit/redact.js";

/** Why a request counts as failed. */
export interface RequestFailure {
  /** `tool_error`, `cancelled`, a JSON-RPC code, or `_OTHER` for an exception nobody expected. */
  readonly type: string;
  /** The JSON-RPC code its caller was answered with. */
  readonly code?: string;
  /** What its caller was told. */
  readonly message?: string;
}

/** How an answered request failed; undefined for one that did not. */
export function failureIn(answer: Answer, call: Call): RequestFailure | undefined {
  if ((answer as { readonly isError?: unknown }).isError === true) return { type: "tool_error" };
  return call.cancellation === undefined ? undefined : { type: "cancelled" };
}

/** Only the words of an `RpcError` are made for others. */
export function failureOf(error: unknown): RequestFailure {
  if (!(error instanceof RpcError)) return { type: "_OTHER" };
  const code = String(error.code);
  return { type: code, code, message: redactString(error.message) };
}
