// The family of errors that never crosses the wire: what went wrong on this side, told to the calling program.

/**
 * `code` is a word to branch on. The JSON-RPC layer throws
 * - `CLOSED`: the connection ended before the answer came,
 * - `TIMEOUT`: the answer did not come in time,
 * - `CANCELLED`: the caller's signal was aborted (`cause` is its reason),
 * - `LIMIT`: too many requests are waiting for an answer,
 * - `INVALID_RESPONSE`: the other side answered with something that is not a JSON-RPC response.
 */
export class LocalError extends Error {
  override readonly name: string = "LocalError";
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
