// Gets tokens for a program that acts for itself: client credentials, by secret or by signed assertion (SEP-1046, RFC 6749 §4.4, RFC 7523 §2.2).
import { LocalError } from "../../jsonrpc/errors.js";
import { chooseMethod, type ClientIdentity, importSigningKey, type SigningKey } from "./client-identity.js";
import { type Grant, type GrantTask, type Obtained, requestTokens } from "./token-endpoint.js";
import { shown } from "./auth-http.js";
import { registeredBefore } from "./registration.js";
import { type AuthorizerOptions, type TokenAuthorizer, tokenAuthorizer } from "./token-authorizer.js";

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

/** Throws RangeError for options that can lead nowhere. */
export function clientCredentials(options: ClientCredentialsOptions): TokenAuthorizer {
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
export function targetOf({ place, scopes }: GrantTask): Record<string, string> {
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
export function checkIssuer(configured: string | undefined, named: string): void {
  if (configured === undefined || configured === named) return;
  throw new LocalError(
    "AUTH_ISSUER",
    `The credentials are for ${shown(configured)}, but the server wants tokens of ${shown(named)}; nothing was sent there`,
  );
}
