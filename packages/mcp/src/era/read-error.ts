// Reads errors: codes that mean the same in different revisions, and in the documents servers were written from, become one.
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../protocol/error-codes.js";

/** By method: codes other than -32602 that say "there is no such thing". */
const NOT_FOUND: Readonly<Record<string, readonly number[]>> = {
  "resources/read": [McpErrorCode.ResourceNotFound, -32001],
  "resources/subscribe": [McpErrorCode.ResourceNotFound, -32001],
  "tools/call": [-32002],
  "prompts/get": [-32003],
};

/**
 * The error with the code 2026-07-28 has for it. `data.originalCode` tells what the server sent where that was another;
 * an unknown resource has `data.uri`.
 */
export function readError(method: string, params: JsonObject | undefined, error: RpcError): RpcError {
  const { code, message, data } = error;
  if (NOT_FOUND[method]?.includes(code) !== true) return error;
  const given = isJsonObject(data) ? data : {};
  const uri = params?.["uri"];
  const about = typeof uri === "string" ? { uri } : {};
  return new RpcError(ErrorCode.InvalidParams, message, { ...about, ...given, originalCode: code });
}
