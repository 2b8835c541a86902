// Gets tokens by what an enterprise's identity provider allows: ID token to ID-JAG to access token (SEP-990, RFC 8693, RFC 7523 §2.1).
import { LocalError } from "../../jsonrpc/local-error.js";
import type { AuthHttp } from "./auth-http.js";
import { targetOf } from "./client-credentials.js";
import { type ClientIdentity } from "./client-identity.js";
import type { Grant, GrantTask, Obtained } from "./grant.js";
import { shown } from "./reach.js";
import { registeredBefore } from "./registration.js";
import { readToken, requestGrant, requestTokens } from "./token-endpoint.js";
import { type AuthorizerOptions, type TokenAuthorizer, tokenAuthorizer } from "./token-authorizer.js";
import { JWT_BEARER } from "./workload-identity.js";

export interface IdentityProvider {
  /** Only the identity provider's own token endpoint gets the user's token. */
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** How the client shows its secret there. Default: "client_secret_basic". */
  readonly method?: "client_secret_basic" | "client_secret_post";
  /** The user's ID token or SAML assertion, or where to get a fresh one. */
  readonly subjectToken: string | (() => Promise<string>);
  /** Default: an ID token. */
  readonly subjectTokenType?: string;
}

export interface EnterpriseManagedOptions extends AuthorizerOptions {
  /** The authorization server the client is registered at. `discoverAuthorization` tells which one a server names. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly identityProvider: IdentityProvider;
}

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";

/** Throws RangeError for URLs that tokens must not go to. */
export function enterpriseManaged(options: EnterpriseManagedOptions): TokenAuthorizer {
  const given = [options.issuer, options.identityProvider.tokenEndpoint];
  return tokenAuthorizer(new EnterpriseManaged(options), options, given);
}

class EnterpriseManaged implements Grant {
  readonly asksUser = false;
  readonly issuers: readonly string[];
  readonly #options: EnterpriseManagedOptions;

  constructor(options: EnterpriseManagedOptions) {
    this.#options = options;
    this.issuers = [options.issuer];
  }

  refresher(): undefined {
    return undefined;
  }

  async obtain(task: GrantTask): Promise<Obtained> {
    const { http, place, dpop, now } = task;
    const { server } = place;
    // Before the user's token goes anywhere: the secret's own server must be the one asked for.
    const client = registeredBefore(server, this.#options);
    const assertion = await exchange(http, this.#options.identityProvider, task);
    const form = { grant_type: JWT_BEARER, assertion, ...targetOf(task) };
    const { tokenEndpoint: endpoint, issuer } = server;
    return { tokens: await requestTokens(http, { endpoint, issuer, client, form, dpop, now: now() }) };
  }
}

/** The identity provider's assertion that this client may act for the user at this resource. */
async function exchange(http: AuthHttp, provider: IdentityProvider, task: GrantTask): Promise<string> {
  const { tokenEndpoint: endpoint, subjectToken, subjectTokenType = ID_TOKEN } = provider;
  const form = {
    grant_type: TOKEN_EXCHANGE,
    requested_token_type: ID_JAG,
    audience: task.place.server.issuer,
    subject_token: typeof subjectToken === "string" ? subjectToken : await subjectToken(),
    subject_token_type: subjectTokenType,
    ...targetOf(task),
  };
  const request = { endpoint, issuer: endpoint, client: identityAt(provider), form, now: task.now() };
  const json = await requestGrant(http, request);
  if (json["issued_token_type"] === ID_JAG && String(json["token_type"]).toLowerCase() === "n_a") {
    return readToken(request, json, "access_token");
  }
  throw new LocalError(
    "AUTH_TOKEN",
    `The identity provider at ${shown(endpoint)} answered with a token of type ${shown(json["issued_token_type"])}, not with an ID-JAG; it was not used`,
  );
}

function identityAt({ clientId, clientSecret, method = "client_secret_basic" }: IdentityProvider): ClientIdentity {
  return clientSecret === undefined ? { clientId, method: "none" } : { clientId, clientSecret, method };
}
