// The error of a connection that could not be made: what was tried, what came of each, and what to do.
import { LocalError } from "../jsonrpc/local-error.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { peerWords } from "../jsonrpc/visible-text.js";

/** One thing that was tried on the way. */
export interface Attempt {
  /** `server/discover over http`. */
  readonly what: string;
  /** What came of it, in one sentence. */
  readonly outcome: string;
}

/**
 * `code` is that of the link's error (SPAWN_FAILED, EXITED, TIMEOUT, HTTP_STATUS, UNAUTHORIZED …), or
 * - `INCOMPATIBLE`: the two sides have no revision in common,
 * - `NOT_SUPPORTED`: something in `require` is missing,
 * - `REFUSED`: the server answered the handshake with an error,
 * - `INVALID_RESPONSE`: its answer to the handshake cannot be used.
 */
export class ConnectError extends LocalError {
  override readonly name = "ConnectError";
  readonly attempts: readonly Attempt[];
  /** HTTP status, when that was what failed. */
  readonly status: number | undefined;

  constructor(
    code: string,
    message: string,
    about: { attempts: readonly Attempt[]; cause?: unknown; status?: number | undefined },
  ) {
    super(code, message, { cause: about.cause });
    this.attempts = about.attempts;
    this.status = about.status;
  }
}

/** The word for an error on the way. */
export function codeOf(error: unknown): string {
  if (error instanceof LocalError) return error.code;
  return error instanceof RpcError ? "REFUSED" : "FAILED";
}

/** One sentence for what came of an attempt. */
export function outcomeText(error: unknown): string {
  if (error instanceof RpcError) return `answered with error ${error.code}: ${peerWords(error.message)}`;
  return error instanceof Error ? error.message : String(error);
}
