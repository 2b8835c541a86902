// Builds refusals with their `WWW-Authenticate` challenges (RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1).
import type { Refusal } from "./authenticator.js";

export type Scheme = "Bearer" | "DPoP";

/** What every challenge of one authenticator says. */
export interface ChallengeTerms {
  /** Schemes a token may be presented with, the preferred one first. */
  readonly schemes: readonly Scheme[];
  /** URL of the protected-resource metadata. */
  readonly metadataUrl?: string | undefined;
  /** Scopes every request needs. */
  readonly scopes?: readonly string[] | undefined;
  /** JWS algorithms accepted for DPoP proofs. */
  readonly proofAlgorithms?: readonly string[] | undefined;
}

export interface RefusalReason {
  readonly status: Refusal["status"];
  readonly error: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer to a refused request, ready to be written. */
export interface RefusalReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Stands for "no credentials", which a challenge must not call an error (RFC 6750 §3.1). */
const MISSING_TOKEN = "missing_token";

/** Seconds after which asking again may help: the shortest time between two fetches of an issuer's keys. */
const RETRY_AFTER_SECONDS = 30;

export function refuse(terms: ChallengeTerms, reason: RefusalReason): Refusal {
  const challenge =
    reason.status === 503 ? "" : terms.schemes.map((one) => challengeText(one, terms, reason)).join(", ");
  const headers = reason.status === 503 ? { "retry-after": String(RETRY_AFTER_SECONDS) } : reason.headers;
  const { status, error, message } = reason;
  return headers === undefined
    ? { ok: false, status, challenge, error, message }
    : { ok: false, status, challenge, error, message, headers };
}

export function missingToken(terms: ChallengeTerms): Refusal {
  const [scheme] = terms.schemes;
  return refuse(terms, {
    status: 401,
    error: MISSING_TOKEN,
    message: `Send an access token in the header "Authorization: ${scheme ?? "Bearer"} <token>"`,
  });
}

/** Status, headers and body of a refusal. The body is JSON as in RFC 6749 §5.2: no MCP message was read yet. */
export function refusalReply(refusal: Refusal): RefusalReply {
  const headers: Record<string, string> = {
    ...refusal.headers,
    "content-type": "application/json",
    "cache-control": "no-store",
  };
  if (refusal.challenge !== "") headers["www-authenticate"] = refusal.challenge;
  const body = JSON.stringify({ error: refusal.error, error_description: refusal.message });
  return { status: refusal.status, headers, body };
}

function challengeText(scheme: Scheme, terms: ChallengeTerms, { error, message }: RefusalReason): string {
  const parameters: string[] = [];
  const add = (name: string, value: string): void => {
    parameters.push(`${name}="${quotable(value)}"`);
  };
  if (error !== MISSING_TOKEN) {
    add("error", error);
    add("error_description", message);
  }
  if (terms.scopes !== undefined && terms.scopes.length > 0) add("scope", terms.scopes.join(" "));
  if (scheme === "DPoP" && terms.proofAlgorithms !== undefined) add("algs", terms.proofAlgorithms.join(" "));
  if (terms.metadataUrl !== undefined) add("resource_metadata", terms.metadataUrl);
  return parameters.length === 0 ? scheme : `${scheme} ${parameters.join(", ")}`;
}

/** Text as RFC 6750 §3 allows it between the quotes: printable ASCII without quotation marks and backslashes. */
function quotable(text: string): string {
  return text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, "?");
}
