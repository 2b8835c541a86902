// Names what every way of authenticating has in common: the request it sees and the outcome it gives.
import type { Identity } from "../jsonrpc/identity.js";

/** What an authenticator sees of an HTTP request. The body is not part of it: a token is never looked for there. */
export interface AuthRequest {
  readonly method: string;
  /** The absolute URL, or the request target (path and query). */
  readonly url: string;
  /** A header by its name in lower case. Several lines of one name come joined with ", ", so that two are seen as two. */
  header(name: string): string | undefined;
}

/** Why a request is not served. Says nothing about the token beyond what its sender may know. */
export interface Refusal {
  readonly ok: false;
  readonly status: 400 | 401 | 403 | 503;
  /** Value of `WWW-Authenticate`; empty when there is nothing the client could present instead. */
  readonly challenge: string;
  /** A word for programs, that of the challenge where it has one: `invalid_token`, `insufficient_scope`, … */
  readonly error: string;
  /** A sentence for people: what is wrong and what to do. */
  readonly message: string;
  /** Further headers of the answer, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Admission {
  readonly ok: true;
  readonly identity: Identity;
  /** Headers to add to whatever answer the request gets, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type AuthOutcome = Admission | Refusal;

/** Decides who sent a request, at once or later. Throws only for faults of our own, which are to be answered with 500. */
export interface Authenticator {
  authenticate(request: AuthRequest): AuthOutcome | Promise<AuthOutcome>;
}
