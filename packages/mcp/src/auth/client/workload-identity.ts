// Gets tokens for a workload by the assertion its platform gave it (SEP-1933, RFC 7523 §2.1). What is refused stays refused: no retry, no other grant.
import { LocalError } from "../../jsonrpc/local-error.js";
import { fromBase64url, isCanonicalBase64url } from "../base64url.js";
import { parseStrictObject } from "../strict-object.js";
import { checkIssuer, targetOf } from "./client-credentials.js";
import type { Grant, GrantTask, Obtained } from "./grant.js";
import { shown } from "./reach.js";
import { requestTokens, TokenRefusal } from "./token-endpoint.js";
import { type AuthorizerOptions, type TokenAuthorizer, tokenAuthorizer } from "./token-authorizer.js";

export interface WorkloadIdentityOptions extends AuthorizerOptions {
  readonly clientId: string;
  /** The JWT, or where to get one for an audience, which is the issuer. */
  readonly assertion: string | ((audience: string) => Promise<string>);
  /** The only authorization server the assertion is shown to. Default: the one the assertion itself is for. */
  readonly issuer?: string;
}

export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** Throws RangeError for URLs that tokens must not go to. */
export function workloadIdentity(options: WorkloadIdentityOptions): TokenAuthorizer {
  return tokenAuthorizer(new WorkloadIdentity(options), options, options.issuer === undefined ? [] : [options.issuer]);
}

class WorkloadIdentity implements Grant {
  readonly asksUser = false;
  readonly issuers: readonly string[];
  readonly #options: WorkloadIdentityOptions;
  #refused: { readonly assertion: string; readonly error: TokenRefusal } | undefined;

  constructor(options: WorkloadIdentityOptions) {
    this.#options = options;
    this.issuers = options.issuer === undefined ? [] : [options.issuer];
  }

  refresher(): undefined {
    return undefined;
  }

  async obtain(task: GrantTask): Promise<Obtained> {
    const { clientId, assertion: given, issuer: configured } = this.#options;
    const { tokenEndpoint: endpoint, issuer } = task.place.server;
    checkIssuer(configured, issuer);
    const assertion = typeof given === "string" ? given : await given(issuer);
    if (configured === undefined) checkAudience(assertion, issuer);
    if (this.#refused?.assertion === assertion) throw this.#refused.error;
    const form = { grant_type: JWT_BEARER, assertion, ...targetOf(task) };
    const client = { clientId, method: "none" } as const;
    try {
      const { http, dpop, now } = task;
      return { tokens: await requestTokens(http, { endpoint, issuer, client, form, dpop, now: now() }) };
    } catch (error) {
      if (error instanceof TokenRefusal) this.#refused = { assertion, error };
      throw error;
    }
  }
}

/** Shown to another server than it is for, an assertion could be used there in our name. */
function checkAudience(assertion: string, issuer: string): void {
  const part = assertion.split(".")[1] ?? "";
  const claims = isCanonicalBase64url(part) ? parseStrictObject(fromBase64url(part)) : undefined;
  const audience: unknown = claims?.["aud"];
  const names: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  if (names.includes(issuer) || names.includes(`${issuer}/`) || names.includes(issuer.replace(/\/$/, ""))) return;
  throw new LocalError(
    "AUTH_ISSUER",
    `The assertion is not for ${shown(issuer)}, which the server wants tokens of; it was not sent. Get one with this audience, or name the issuer it is for`,
  );
}
