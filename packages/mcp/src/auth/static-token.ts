// Authenticates by a fixed list of tokens, for a server of one's own without an authorization server.
import type { Identity } from "../jsonrpc/transport.js";
import type { Authenticator, AuthOutcome, AuthRequest } from "./authenticator.js";
import { tokenAuthenticator, type TokenOptions, type TokenVerdict } from "./token-authenticator.js";

/** One token and who has it. Give the token, or the SHA-256 of it in hexadecimal to keep it out of configuration. */
export interface StaticToken {
  readonly token?: string;
  readonly sha256?: string;
  readonly principal: string;
  readonly scopes?: readonly string[];
  readonly clientId?: string;
}

/** Shortest token: 128 random bits are 22 characters of base64url. */
const MIN_LENGTH = 22;
/** Most tokens: every request is compared with each of them. */
const MAX_TOKENS = 1_000;

/** How nearly every client sends a token: exactly one spelling of each. */
const USUAL_FORM = /^Bearer [^ ]/;

const UNKNOWN: TokenVerdict = { ok: false, status: 401, message: "The access token is not known here" };

interface Known {
  readonly hash: Uint8Array;
  readonly verdict: TokenVerdict;
}

/**
 * Tokens are kept as hashes and compared in constant time, each with every known one; a token that was good is known by
 * its text from then on, so that only its first request pays for that. Throws RangeError for a list that
 * is empty or too long and for a token that is too short or cannot be sent in a header; no message repeats a token.
 */
export function staticTokenAuthenticator(
  tokens: readonly StaticToken[],
  options: Omit<TokenOptions, "dpop"> = {},
): Authenticator {
  if (tokens.length === 0 || tokens.length > MAX_TOKENS) throw new RangeError(`Give 1 to ${MAX_TOKENS} tokens`);
  for (const one of tokens) checkToken(one);
  const known = Promise.all(tokens.map(remember));
  const verify = async (token: string): Promise<TokenVerdict> => {
    const hash = await sha256(token);
    let found = UNKNOWN;
    for (const one of await known) if (equalInConstantTime(hash, one.hash)) found = one.verdict;
    return found;
  };
  return remembering(tokenAuthenticator({ verify }, options));
}

/** Good credentials are kept in the one usual form of each, so there are never more of them than tokens. They are judged at once. */
function remembering(authenticator: Authenticator): Authenticator {
  const admitted = new Map<string, AuthOutcome>();
  const judge = async (request: AuthRequest, header: string): Promise<AuthOutcome> => {
    const outcome = await authenticator.authenticate(request);
    if (outcome.ok && USUAL_FORM.test(header)) admitted.set(header, outcome);
    return outcome;
  };
  return {
    authenticate(request) {
      // A query may hold a token as well, which is to be refused.
      const header = request.url.includes("?") ? undefined : request.header("authorization");
      if (header === undefined) return authenticator.authenticate(request);
      return admitted.get(header) ?? judge(request, header);
    },
  };
}

/** Whether two byte strings of equal length are the same; takes equally long wherever they differ. */
export function equalInConstantTime(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let at = 0; at < left.length; at++) difference |= (left[at] as number) ^ (right[at] as number);
  return difference === 0;
}

function checkToken({ token, sha256, principal }: StaticToken): void {
  if (principal === "") throw new RangeError("A token needs a principal: the name of whoever has it");
  if ((token === undefined) === (sha256 === undefined)) {
    throw new RangeError(`Give the token of ${principal} or its sha256, one of the two`);
  }
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new RangeError(`The sha256 of the token of ${principal} must be 64 hexadecimal digits`);
  }
  if (token !== undefined && (token.length < MIN_LENGTH || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token))) {
    throw new RangeError(
      `The token of ${principal} must have at least ${MIN_LENGTH} characters, all of them letters, digits or -._~+/`,
    );
  }
}

async function remember({ token, sha256: hex, principal, scopes, clientId }: StaticToken): Promise<Known> {
  const identity: Identity = { principal, scopes: scopes ?? [], ...(clientId !== undefined && { clientId }) };
  const hash = token === undefined ? fromHex(hex ?? "") : await sha256(token);
  return { hash, verdict: { ok: true, identity } };
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
