// The package's `/jsonrpc` subpath: JSON-RPC 2.0 for those who write a transport or a dialect of their own.
export { ErrorCode } from "../jsonrpc/errors.js";
export { DEFAULT_LIMITS, type JsonRpcLimits, resolveLimits } from "../jsonrpc/limits.js";
export { LocalError } from "../jsonrpc/errors.js";
export { ExactNumber, exactly, sentDigits } from "../jsonrpc/exact-numbers.js";
export type {
  ErrorObject,
  FailureMessage,
  JsonObject,
  JsonValue,
  NotificationMessage,
  RequestId,
  RequestMessage,
  SuccessMessage,
} from "../jsonrpc/message.js";
export { ParseFault } from "../jsonrpc/parse.js";
export { parseJson } from "../jsonrpc/parse.js";
export { RpcError } from "../jsonrpc/errors.js";
export type { Arrival, Carrier, Excerpt, MessageSink, Outgoing, OutgoingKind, Transport } from "./types.js";
