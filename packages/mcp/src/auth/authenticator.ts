// Names what every way of authenticating has in common: the request it sees and the outcome it gives.
import { LocalError } from "../jsonrpc/errors.js";
import type { Identity } from "../jsonrpc/transport.js";
import { type KnownMembers, memberFault, nearest, shownValue } from "../schema/schema.js";

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

/** Somebody was let in: who, and headers for whatever reply the request gets. */
export interface Admission {
  readonly ok: true;
  readonly identity: Identity;
  /** Headers to add to whatever answer the request gets, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What became of a request at the door: somebody let in, or a refusal with its status and challenge. */
export type AuthOutcome = Admission | Refusal;

/** Throws BAD_OPTIONS for a member that does not exist or holds another kind of value: it would let in more than was meant. */
export function checkMembers(what: string, given: unknown, known: KnownMembers): void {
  const fault = memberFault(given, known);
  if (fault !== undefined) throw new LocalError("BAD_OPTIONS", `${what}: ${fault}`);
}

/** What a verifier or an authenticator of somebody's own gave is no verdict: nobody is let in by it, and the log has the words. */
export class Misjudged extends Error {}

/** Throws where `given` neither lets somebody in nor says no. Only `ok: true` lets in. */
export function checkVerdict(what: string, given: unknown): void {
  const { ok, identity, status } = (given ?? {}) as { readonly [name: string]: unknown };
  // What says both lets nobody in.
  if (ok === true ? isIdentity(identity) && status === undefined : ok === false && isRefusal(status)) return;
  const has = typeof given === "object" && given !== null ? ` with ${Object.keys(given).join(", ") || "nothing"}` : "";
  const wrong =
    ok === true && status === undefined ? `the identity ${shownValue(identity)}` : `${shownValue(given)}${has}`;
  const wanted = '{ ok: true, identity: { principal, scopes: ["..."] } } or { ok: false, status: 401, message: "..." }';
  throw new Misjudged(`${wrong}: ${what} gives ${wanted}`);
}

function isRefusal(status: unknown): boolean {
  return Number.isInteger(status) && Number(status) >= 400 && Number(status) < 600;
}

function isIdentity(given: unknown): boolean {
  return typeof given === "object" && given !== null && Array.isArray((given as Partial<Identity>).scopes);
}

/** Decides who sent a request, at once or later. Throws only for faults of our own, which are to be answered with 500. */
export interface Authenticator {
  authenticate(request: AuthRequest): AuthOutcome | Promise<AuthOutcome>;
}

// Builds refusals with their `WWW-Authenticate` challenges (RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1).

/** How a token travels in the Authorization header (RFC 6750, RFC 9449). */
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

/** Why a request is refused: HTTP status, the error's name as OAuth has it, and a sentence for a person. */
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

export function refusalOf(terms: ChallengeTerms, reason: RefusalReason): Refusal {
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
  return refusalOf(terms, {
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

// Who is asking, as a program of somebody's own says it.

/** The members of an identity: one that is misspelt would take away what somebody may, or give it. */
const IDENTITY_NAMES: readonly (keyof Identity)[] = [
  "principal",
  "scopes",
  "clientId",
  "program",
  "claims",
  "expiresAt",
];

/**
 * What is wrong with what a program of somebody's own gave as an identity, as the end of a sentence; undefined when nothing is. A user
 * without a text for a name would be nobody, and so the same one as every other.
 */
export function identityFault(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null) {
    if (typeof given === "string") return given === "" ? "an empty text: give the user's name" : undefined;
    return `${given === null ? "null" : `a ${typeof given}`}: give the user's name as text, as in String(user.id)`;
  }
  const { principal, scopes, expiresAt } = given as { readonly [K in keyof Identity]?: unknown };
  if (typeof principal !== "string" || principal === "") {
    const has = Object.keys(given).filter((name) => name !== "scopes");
    return `an object whose "principal" is no text (it has ${has.join(", ") || "nothing"}): give the user's name, or { principal: String(user.id), scopes: [] }`;
  }
  if (!Array.isArray(scopes) || scopes.some((scope) => typeof scope !== "string")) {
    return 'an object whose "scopes" is no list of texts: give { principal, scopes: ["read", "write"] }';
  }
  if (expiresAt === undefined || Number.isFinite(expiresAt)) return undefined;
  return 'an object whose "expiresAt" is no number of milliseconds: give date.getTime()';
}

/** Throws BAD_OPTIONS for a sender in this program who is neither a name nor an identity. */
export function checkSender(sender: unknown): void {
  const fault = sender === undefined || typeof sender === "string" ? undefined : identityFault(sender);
  if (fault !== undefined) throw new LocalError("BAD_OPTIONS", `Who is asking was given as ${fault}`);
}

/** What is wrong with an identity that has to be an object, as the end of a sentence. Members of nobody's are the program's business. */
export function entranceFault(identity: unknown): string | undefined {
  if (typeof identity !== "object" || identity === null)
    return `the identity ${shownValue(identity)}: give an object, { principal, scopes: ["read", "write"] }`;
  const fault = identityFault(identity);
  if (fault !== undefined) return fault;
  for (const name in identity) {
    const meant = (IDENTITY_NAMES as readonly string[]).includes(name) ? undefined : nearest(name, IDENTITY_NAMES);
    if (meant !== undefined) return `an identity with the member "${name}": did you mean "${meant}"?`;
  }
  return undefined;
}
