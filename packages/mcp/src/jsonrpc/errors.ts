// The error codes JSON-RPC 2.0 itself defines (those of protocols on top of it live with them), and how copies of this
// package know each other's errors.
import type { ErrorObject } from "./message.js";

// Marks on the library's own classes, so that one copy of the package knows what another copy made.

/** The member of a server that serves one connection: how a client reaches a server of any copy, without holding one. */
export const SERVE: unique symbol = Symbol.for("@secure-local/mcp/serve") as never;

/** `instanceof` as it is by itself. */
const ORDINARY = Function.prototype[Symbol.hasInstance];

/**
 * Makes `instanceof` of a class ask for its mark: a package of tools may bring a copy of this library of its own, and a
 * class of that copy is another class. Classes derived from it are told apart as usual. No JSON can carry the mark.
 */
export function brand(made: abstract new (...args: never[]) => object, name: string): void {
  const mark = Symbol.for(`@secure-local/mcp/${name}`);
  Object.defineProperty(made.prototype, mark, { value: true });
  Object.defineProperty(made, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== made) return ORDINARY.call(this as () => void, value);
      return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[mark] === true;
    },
  });
}

/** The error codes of JSON-RPC 2.0, section 5.1. */
export const ErrorCode = {
  /** What arrived is not JSON, or not UTF-8. */
  ParseError: -32700,
  /** JSON, but not a message, or one that breaks a limit. */
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
} as const;

/** The error codes of JSON-RPC 2.0, section 5.1. */
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

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
  /** What happened, as a stranger may be told it: the end of a sentence, without command lines, addresses and words of a peer. */
  readonly brief: string | undefined;
  /** Nothing of the request left this side: it may be sent, and has not run. Where this is false it may have. */
  readonly unsent: boolean;

  static {
    brand(this, "LocalError");
  }

  constructor(
    code: string,
    message: string,
    options: { cause?: unknown; brief?: string | undefined; unsent?: boolean } = {},
  ) {
    super(message, options);
    this.code = code;
    this.brief = options.brief;
    this.unsent = options.unsent === true;
  }
}

// The family of errors that crosses the wire: a number, a sentence and optional data.

/**
 * Everything in it is shown to the other side: never put a stack, a path or a secret into `message` or `data`. Take a
 * `code` of your own outside of -32768 to -32000: 2026-07-28 keeps -32000 to -32099 for itself, and one from there that
 * it does not define reaches its clients as -32603 with yours in `data.upstream`.
 */
export class RpcError extends Error {
  override readonly name: string = "RpcError";
  readonly code: number;
  readonly data: unknown;

  static {
    brand(this, "RpcError");
  }

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }

  toObject(): ErrorObject {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}

/** An error the other side answered with, and the HTTP status it came under. */
export class StatusError extends RpcError {
  /** HTTP status of the response; undefined where the transport has none. */
  readonly status: number | undefined;

  constructor(code: number, message: string, about: { data?: unknown; status?: number | undefined }) {
    super(code, message, about.data);
    this.status = about.status;
  }
}

/** The HTTP status an error came with: an error the server wrote, or a LocalError of the transport. */
export function statusOf(error: unknown): number | undefined {
  const { status } = error as { status?: unknown };
  return typeof status === "number" ? status : undefined;
}

/**
 * Whether what may be sent twice fares otherwise in a moment: a server that is ending, a proxy that did not reach it, a connection that
 * broke, too many at once.
 */
export function isPassing(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== undefined) return status === 429 || (status >= 502 && status <= 504);
  return error instanceof LocalError && PASSING.has(error.code);
}

const PASSING: ReadonlySet<string> = new Set(["UNREACHABLE", "OUTCOME_UNKNOWN"]);

/** Of an answer that is valid JSON-RPC and still no answer to what was asked. `what` completes the sentence: `its content is no array`. */
export function invalidResponse(method: string, what: string): LocalError {
  const fault = `answer to ${method} cannot be used: ${what}`;
  return new LocalError("INVALID_RESPONSE", `The server's ${fault}. Report it there.`, { brief: `the ${fault}` });
}
