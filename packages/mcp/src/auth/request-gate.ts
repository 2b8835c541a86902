// Puts an authenticator in front of an HTTP endpoint that knows a request by path and query and its sender by one text.
import type { Admission, Authenticator, AuthRequest, Refusal } from "./authenticator.js";

/** A request as the endpoint hands it to its `authenticate` hook. */
export interface RequestHead {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** What follows the question mark; empty without one. */
  readonly query: string;
  /** As in `AuthRequest`. */
  header(name: string): string | undefined;
}

/** What the endpoint answers instead of serving the request. */
export interface GateRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface RequestGate {
  /** The endpoint's hook: the principal, or a refusal. DPoP needs its option `origin` here, since a head has no host. */
  readonly authenticate: (head: RequestHead) => Promise<string | GateRefusal>;
  /** How the request with this very head was admitted: scopes, expiry, and headers its answer should carry. */
  admissionOf(head: object): Admission | undefined;
}

export function requestGate(authenticator: Authenticator): RequestGate {
  const admissions = new WeakMap<object, Admission>();
  return {
    async authenticate(head) {
      const outcome = await authenticator.authenticate(authRequest(head));
      if (outcome.ok) {
        admissions.set(head, outcome);
        return outcome.identity.principal;
      }
      return gateRefusal(outcome);
    },
    admissionOf: (head) => admissions.get(head),
  };
}

/** A refusal as an endpoint answers it. */
export function gateRefusal({ status, challenge, headers, message }: Refusal): GateRefusal {
  const all: Record<string, string> = { "cache-control": "no-store", ...headers };
  if (challenge !== "") all["www-authenticate"] = challenge;
  return { status, headers: all, text: message };
}

/** The head of a request as authenticators want it. */
export function authRequest(head: RequestHead): AuthRequest {
  const url = head.query === "" ? head.path : `${head.path}?${head.query}`;
  return { method: head.method, url, header: (name) => head.header(name) };
}
