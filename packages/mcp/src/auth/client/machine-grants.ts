// Gets tokens without a browser: for a program that acts for itself, and by what a company's identity provider says of
// its user.
import { LocalError } from "../../jsonrpc/errors.js";
import type { KnownMembers, MembersOf } from "../../schema/schema.js";
import { checkMembers } from "../authenticator.js";
import { parseStrictObject } from "../fetch-json.js";
import { fromBase64url, isCanonicalBase64url } from "../jws.js";
import { type AuthHttp, shown } from "./auth-http.js";
import { chooseMethod, type ClientIdentity, importSigningKey, type SigningKey } from "./client-identity.js";
import { registeredBefore } from "./registration.js";
import {
  AUTHORIZER_MEMBERS,
  type AuthorizerOptions,
  type TokenAuthorizer,
  tokenAuthorizer,
} from "./token-authorizer.js";
import {
  type Grant,
  type GrantTask,
  type Obtained,
  readToken,
  requestGrant,
  requestTokens,
  TokenRefusal,
} from "./token-endpoint.js";

/** A client that proves itself by a secret, sent to its own issuer only. */
export interface ClientSecretOptions extends AuthorizerOptions {
  /** The only authorization server the secret is shown to. `discoverAuthorization` tells which one a server names. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A client that proves itself by a signed assertion (RFC 7523). */
export interface ClientKeyOptions extends AuthorizerOptions {
  /** Default: whichever the server names; an assertion for one is worth nothing to another. */
  readonly issuer?: string;
  readonly clientId: string;
  /** PKCS #8 PEM text, JWK or key. */
  readonly privateKey: string | Readonly<Record<string, string>> | SigningKey;
  /** JWS algorithm of the key. Default: "ES256". */
  readonly algorithm?: string;
  readonly keyId?: string;
}

/** Tokens for a program without a user: by a secret, or by a key. */
export type ClientCredentialsOptions = ClientSecretOptions | ClientKeyOptions;

const CREDENTIALS_MEMBERS: MembersOf<ClientSecretOptions & ClientKeyOptions> = {
  ...AUTHORIZER_MEMBERS,
  issuer: "text",
  clientId: "text",
  clientSecret: "text",
  privateKey: "any",
  algorithm: "text",
  keyId: "text",
};

/** Throws RangeError for options that can lead nowhere, and BAD_OPTIONS for a member that does not exist. */
export function clientCredentials(options: ClientCredentialsOptions): TokenAuthorizer {
  checkMembers("clientCredentials(options)", options, CREDENTIALS_MEMBERS);
  const { issuer } = options;
  const identify = "clientSecret" in options ? bySecret(options) : byKey(options);
  return tokenAuthorizer(new ClientCredentials(identify, issuer), options, issuer === undefined ? [] : [issuer]);
}

type Identify = (task: GrantTask) => Promise<ClientIdentity>;

class ClientCredentials implements Grant {
  readonly asksUser = false;
  readonly issuers: readonly string[];
  readonly #identify: Identify;

  constructor(identify: Identify, issuer: string | undefined) {
    this.#identify = identify;
    this.issuers = issuer === undefined ? [] : [issuer];
  }

  refresher(): undefined {
    return undefined;
  }

  async obtain(task: GrantTask): Promise<Obtained> {
    const { http, dpop, now } = task;
    const { tokenEndpoint: endpoint, issuer } = task.place.server;
    const client = await this.#identify(task);
    const form = { grant_type: "client_credentials", ...targetOf(task) };
    return { tokens: await requestTokens(http, { endpoint, issuer, client, form, dpop, now: now() }) };
  }
}

/** What every request for a token says about what the token is for. */
function targetOf({ place, scopes }: GrantTask): Record<string, string> {
  const scope: Record<string, string> = scopes.length === 0 ? {} : { scope: scopes.join(" ") };
  return { resource: place.resource, ...scope };
}

function bySecret({ issuer, clientId, clientSecret }: ClientSecretOptions): Identify {
  return ({ place }) => Promise.resolve(registeredBefore(place.server, { issuer, clientId, clientSecret }));
}

function byKey({ issuer, clientId, privateKey, algorithm = "ES256", keyId }: ClientKeyOptions): Identify {
  let imported: Promise<SigningKey> | undefined;
  return async ({ place: { server } }) => {
    checkIssuer(issuer, server.issuer);
    imported ??= importSigningKey(privateKey, algorithm);
    const method = chooseMethod(server.tokenAuthMethods, ["private_key_jwt"]);
    return { clientId, method, key: { key: await imported, alg: algorithm, kid: keyId } };
  };
}

/** Throws `AUTH_ISSUER` when the server names another issuer than the one configured. */
function checkIssuer(configured: string | undefined, named: string): void {
  if (configured === undefined || configured === named) return;
  throw new LocalError(
    "AUTH_ISSUER",
    `The credentials are for ${shown(configured)}, but the server wants tokens of ${shown(named)}; nothing was sent there`,
  );
}

// Gets tokens by what an enterprise's identity provider allows: ID token to ID-JAG to access token (SEP-990, RFC 8693, RFC 7523 §2.1).

/** Where identity assertions are exchanged, and as whom. */
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

/** Access that an identity provider grants for its user, without asking in a browser (ID-JAG). */
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

const ENTERPRISE_MEMBERS: MembersOf<EnterpriseManagedOptions> = {
  ...AUTHORIZER_MEMBERS,
  issuer: "text",
  clientId: "text",
  clientSecret: "text",
  identityProvider: {
    tokenEndpoint: "text",
    clientId: "text",
    clientSecret: "text",
    method: ["=client_secret_basic", "=client_secret_post"],
    subjectToken: ["text", "function"],
    subjectTokenType: "text",
  },
};

/** Throws RangeError for URLs that tokens must not go to, and BAD_OPTIONS for a member that does not exist. */
export function enterpriseManaged(options: EnterpriseManagedOptions): TokenAuthorizer {
  checkMembers("enterpriseManaged(options)", options, ENTERPRISE_MEMBERS);
  checkMembers(
    "enterpriseManaged({ identityProvider })",
    options.identityProvider,
    ENTERPRISE_MEMBERS.identityProvider as KnownMembers,
  );
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

// Gets tokens for a workload by the assertion its platform gave it (SEP-1933, RFC 7523 §2.1). What is refused stays refused: no retry, no other grant.

/** Access for a program that its platform vouches for, by a signed assertion (RFC 7523). */
export interface WorkloadIdentityOptions extends AuthorizerOptions {
  readonly clientId: string;
  /** The JWT, or where to get one for an audience, which is the issuer. */
  readonly assertion: string | ((audience: string) => Promise<string>);
  /** The only authorization server the assertion is shown to. Default: the one the assertion itself is for. */
  readonly issuer?: string;
}

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

const WORKLOAD_MEMBERS: MembersOf<WorkloadIdentityOptions> = {
  ...AUTHORIZER_MEMBERS,
  clientId: "text",
  assertion: ["text", "function"],
  issuer: "text",
};

/** Throws RangeError for URLs that tokens must not go to, and BAD_OPTIONS for a member that does not exist. */
export function workloadIdentity(options: WorkloadIdentityOptions): TokenAuthorizer {
  checkMembers("workloadIdentity(options)", options, WORKLOAD_MEMBERS);
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
