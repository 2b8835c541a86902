// The error codes JSON-RPC 2.0 itself defines; codes of protocols on top of it live with those protocols.

export const ErrorCode = {
  /** What arrived is not JSON, or not UTF-8. */
  ParseError: -32700,
  /** JSON, but not a message, or one that breaks a limit. */
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];
