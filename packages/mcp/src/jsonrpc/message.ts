// The four shapes of a JSON-RPC 2.0 message, as they stand on the wire.

/** A string or an integer within ±(2^53 − 1); never null. */
export type RequestId = string | number;

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

export interface JsonObject {
  [key: string]: unknown;
}

export interface RequestMessage {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: JsonObject;
}

export interface NotificationMessage {
  jsonrpc: "2.0";
  method: string;
  params?: JsonObject;
}

export interface SuccessMessage {
  jsonrpc: "2.0";
  id: RequestId;
  result: JsonObject;
}

/** `id` is null or absent when the sender could not read the id of what it refuses. */
export interface FailureMessage {
  jsonrpc: "2.0";
  id?: RequestId | null;
  error: ErrorObject;
}

/** `code` is an integer. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
