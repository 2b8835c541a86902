// Errors under the names that SDK v1 and v2 give them.
import { RpcError } from "../jsonrpc/errors.js";
import { McpErrorCode } from "../protocol/error-codes.js";

/** SDK v1's error for the other side: its message begins with the code, as v1 writes it. */
export class McpError extends RpcError {
  override readonly name: string = "McpError";

  constructor(code: number, message: string, data?: unknown) {
    super(code, `MCP error ${code}: ${message}`, data);
  }
}

/** SDK v2's error for the other side. */
export class ProtocolError extends RpcError {
  override readonly name: string = "ProtocolError";
}

/** Says that pages have to be opened first. */
export class UrlElicitationRequiredError extends RpcError {
  constructor(elicitations: readonly object[], message = "URL elicitation required") {
    super(McpErrorCode.UrlElicitationRequired, message, { elicitations });
  }
}

/** What the SDKs answer for an exception: its message and, where it has one, its code. */
export function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const { code, data, message } = (error ?? {}) as { code?: unknown; data?: unknown; message?: unknown };
  const said = typeof message === "string" ? message : String(error);
  return new RpcError(Number.isSafeInteger(code) ? (code as number) : -32603, said, data);
}
