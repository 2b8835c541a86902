// Gets tokens that a user grants: the authorization code flow of OAuth 2.1, and the two doors to it.
import { LocalError } from "../../jsonrpc/errors.js";
import type { MembersOf } from "../../schema/schema.js";
import { checkMembers } from "../authenticator.js";
import type { FetchLike } from "../fetch-json.js";
import { toBase64url } from "../jws.js";
import { AuthHttp, Reach, shown } from "./auth-http.js";
import type { ClientIdentity } from "./client-identity.js";
import type { Credentials, StoredClient } from "./credential-store.js";
import { type AuthorizationPlace, discoverPlace, type ServerMetadata } from "./discovery.js";
import { checkClientMetadataUrl, type ClientRegistration, identifyClient } from "./registration.js";
import {
  AUTHORIZER_MEMBERS,
  type AuthorizerOptions,
  type TokenAuthorizer,
  tokenAuthorizer,
} from "./token-authorizer.js";
import {
  errorCode,
  errorDescription,
  type Grant,
  type GrantTask,
  type Obtained,
  requestTokens,
  sha256,
} from "./token-endpoint.js";

/** How a user grants access in a browser (OAuth 2.1 with PKCE): who the client is, and how the answer comes back. */
export interface AuthorizationCodeOptions extends ClientRegistration {
  readonly redirect: Redirect;
  /** Told of the URL the user is about to be shown. */
  readonly onAuthorize?: ((url: string) => void) | undefined;
}

class AuthorizationCode implements Grant {
  readonly asksUser = true;
  readonly issuers: readonly string[];
  readonly #options: AuthorizationCodeOptions;

  constructor(options: AuthorizationCodeOptions) {
    this.#options = options;
    this.issuers = options.preRegistered === undefined ? [] : [options.preRegistered.issuer];
  }

  refresher({ issuer, client }: Credentials): ClientIdentity | undefined {
    const { preRegistered } = this.#options;
    if (preRegistered === undefined || client === undefined) return client;
    const same = preRegistered.issuer === issuer && preRegistered.clientId === client.clientId;
    return same ? { ...client, clientSecret: preRegistered.clientSecret } : undefined;
  }

  async obtain(task: GrantTask): Promise<Obtained> {
    const redirect = await this.#options.redirect.open(task.kept?.client?.redirectUri);
    try {
      return await this.#through(redirect, task);
    } finally {
      await redirect.close();
    }
  }

  async #through(redirect: OpenRedirect, task: GrantTask): Promise<Obtained> {
    const { http, place, scopes, kept, dpop, now } = task;
    const { server, resource } = place;
    const known = { redirectUri: redirect.uri, kept: kept?.client, now: now() };
    const client = await identifyClient(http, server, { ...this.#options, ...known });
    const ask = { server, clientId: client.clientId, redirectUri: redirect.uri, resource, scopes };
    const request = await authorizationRequest(ask);
    this.#options.onAuthorize?.(request.url);
    const code = readAnswer(await redirect.authorize(request.url), ask, request);
    const tokens = await requestTokens(http, {
      endpoint: server.tokenEndpoint,
      issuer: server.issuer,
      client,
      form: {
        grant_type: "authorization_code",
        code,
        redirect_uri: redirect.uri,
        code_verifier: request.verifier,
        resource,
      },
      dpop,
      now: now(),
    });
    return { tokens, client: this.#toKeep(client) };
  }

  /** What the user configured stays where they keep it. */
  #toKeep(client: StoredClient): StoredClient {
    if (this.#options.preRegistered === undefined) return client;
    return { clientId: client.clientId, method: client.method };
  }
}

// Sends the user to the authorization server and checks the answer before anything of it is used (RFC 6749 §4.1, 7636, 8707, 9207).

interface AuthorizationAsk {
  readonly server: ServerMetadata;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly resource: string;
  /** Empty: none is asked for. */
  readonly scopes: readonly string[];
}

interface AuthorizationRequest {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
}

/** Bits of PKCE verifiers and states. */
const SECRET_BYTES = 32;

/** Throws `AUTH_PKCE` at servers that do not promise to check the proof: a stolen code would be enough for them. */
async function authorizationRequest(ask: AuthorizationAsk): Promise<AuthorizationRequest> {
  const { server, clientId, redirectUri, resource, scopes } = ask;
  checkPkce(server);
  const verifier = randomText();
  const state = randomText();
  const url = new URL(endpointOf(server));
  const params: Record<string, string> = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await sha256(verifier),
    code_challenge_method: "S256",
    resource,
  };
  if (scopes.length > 0) params["scope"] = scopes.join(" ");
  // OpenID Connect Core §11: offline access is given only where the user is asked.
  if (scopes.includes("offline_access")) params["prompt"] = "consent";
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return { url: url.href, verifier, state };
}

/**
 * The code in the URL the user came back to, or in its query alone. Throws `AUTH_STATE` for an answer to another request,
 * `AUTH_ISSUER` for one of another server, `AUTH_DENIED` for a refusal; a refusal nobody vouches for is not repeated.
 */
function readAnswer(answer: string, ask: AuthorizationAsk, request: AuthorizationRequest): string {
  const params = answerParams(answer.trim(), ask.redirectUri);
  const once = (name: string): string | undefined => {
    const values = params.getAll(name);
    if (values.length > 1) throw new LocalError("AUTH_STATE", `The authorization answer has ${name} more than once`);
    return values[0];
  };
  if (once("state") !== request.state) {
    throw new LocalError(
      "AUTH_STATE",
      "The authorization answer does not belong to the request that was made (state differs): it was not used, start again",
    );
  }
  checkIssuer(once("iss"), ask.server);
  const error = once("error");
  if (error !== undefined) {
    const words = errorCode(error) + errorDescription(once("error_description"), [request.state, request.verifier]);
    throw new LocalError("AUTH_DENIED", `The authorization server ${shown(ask.server.issuer)} refused: ${words}`);
  }
  const code = once("code");
  if (code !== undefined && code !== "") return code;
  throw new LocalError("AUTH_DENIED", "The authorization answer has no code");
}

function checkPkce({ issuer, codeChallengeMethods }: ServerMetadata): void {
  if (codeChallengeMethods?.includes("S256") === true) return;
  const offer = codeChallengeMethods === undefined ? "does not say that it" : "does not list S256 when it says how it";
  throw new LocalError(
    "AUTH_PKCE",
    `The authorization server ${shown(issuer)} ${offer} checks PKCE (code_challenge_methods_supported): no authorization was asked for. Its operator must enable S256`,
  );
}

function endpointOf({ authorizationEndpoint, issuer }: ServerMetadata): string {
  if (authorizationEndpoint !== undefined) return authorizationEndpoint;
  throw new LocalError("AUTH_DISCOVERY", `The authorization server ${shown(issuer)} has no authorization_endpoint`);
}

/** RFC 9207 §2.4, without any normalisation. */
function checkIssuer(iss: string | undefined, { issuer, namesItself }: ServerMetadata): void {
  if (iss === issuer || (iss === undefined && !namesItself)) return;
  throw new LocalError(
    "AUTH_ISSUER",
    iss === undefined
      ? `The authorization answer does not name its issuer, though ${shown(issuer)} promises to: it was not used`
      : `The authorization answer is of ${shown(iss)}, not of ${shown(issuer)}: it was not used`,
  );
}

function answerParams(answer: string, redirectUri: string): URLSearchParams {
  if (!URL.canParse(answer)) {
    if (/^\??(?:code|state|iss|error)=/.test(answer)) return new URLSearchParams(answer.replace(/^\?/, ""));
    throw new LocalError("AUTH_STATE", "What came back is no redirect: give the whole address the browser ended at");
  }
  const url = new URL(answer);
  const expected = new URL(redirectUri);
  if (url.protocol === expected.protocol && url.host === expected.host && url.pathname === expected.pathname) {
    return url.searchParams;
  }
  throw new LocalError("AUTH_STATE", `The authorization answer went to another place than ${redirectUri}`);
}

function randomText(): string {
  return toBase64url(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
}

// How a user is taken to an authorization server and how its answer comes back.

/** A way for one authorization, from the moment its redirect URI is known. */
export interface OpenRedirect {
  /** Sent to the authorization server, and registered there. */
  readonly uri: string;
  /**
   * Shows the URL to the user and resolves to the URL that the authorization server sent them back to. The caller checks
   * whose answer it is. Rejects with a LocalError: `TIMEOUT`, `CANCELLED`.
   */
  authorize(url: string): Promise<string>;
  close(): Promise<void>;
}

/** Brings the authorization server's answer back to this program. */
export interface Redirect {
  /** `preferred`: the redirect URI registered before; another one means another registration. */
  open(preferred?: string): Promise<OpenRedirect>;
}

/** A fixed redirect URI, and a function that takes the user to a URL and brings back the one they returned to. */
export function redirectTo(uri: string, authorize: (url: string) => Promise<string>): Redirect {
  const open: OpenRedirect = { uri, authorize, close: () => Promise.resolve() };
  return { open: () => Promise.resolve(open) };
}

/**
 * For authorization servers that need no user: asks for the URL itself and takes the answer from the redirect's
 * `Location`, which is not followed. Default of `uri`: "http://localhost:3000/callback", where nobody has to listen.
 */
export function headlessRedirect(options: { readonly uri?: string; readonly fetch?: FetchLike } = {}): Redirect {
  const { uri = "http://localhost:3000/callback", fetch = globalThis.fetch } = options;
  return redirectTo(uri, async (url) => {
    const response = await fetch(url, { method: "GET", redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (location !== null && URL.canParse(location, url)) return new URL(location, url).href;
    throw new LocalError(
      "AUTH_DENIED",
      `The authorization server ${shown(new URL(url).origin)} answered with status ${response.status} and no redirect: it wants a user, use a browser`,
    );
  });
}

/** Longest wait for the redirect of a server that needs no user. */
const TIMEOUT_MS = 10_000;

// The two doors to a server's tokens: `oauth` gets them in the name of a user, `discoverAuthorization` only tells
// where they come from.

/** Where to look for the authorization server of a resource, and within which bounds. */
export interface DiscoverOptions extends Pick<AuthorizerOptions, "serverUrl" | "fetch" | "allowHosts" | "timeoutMs"> {
  /** Where a challenge said the resource's metadata is. Default: the well-known places. */
  readonly resourceMetadata?: string;
}

/** Rejects with a LocalError of code `AUTH_DISCOVERY`, `AUTH_RESOURCE` or `AUTH_ISSUER`. */
export function discoverAuthorization(options: DiscoverOptions): Promise<AuthorizationPlace> {
  const serverUrl = String(options.serverUrl);
  const reach = new Reach([serverUrl], options.allowHosts);
  const http = new AuthHttp(options.fetch ?? globalThis.fetch, reach, options.timeoutMs);
  return discoverPlace(http, { serverUrl, resourceMetadata: options.resourceMetadata });
}

/** Options of `oauth`: the server, the user's consent, and where tokens are kept. */
export interface OAuthOptions extends AuthorizerOptions, AuthorizationCodeOptions {}

/** The members of `OAuthOptions`. */
export const OAUTH_MEMBERS: MembersOf<OAuthOptions> = {
  ...AUTHORIZER_MEMBERS,
  redirect: "open()",
  onAuthorize: "function",
  clientName: "text",
  clientUri: "text",
  clientMetadataUrl: "text",
  preRegistered: "object",
};

/**
 * The authorization code flow with PKCE. Who the client is: `preRegistered`, else `clientMetadataUrl` where the
 * authorization server takes such, else it registers itself. Throws RangeError for options that can lead nowhere, and BAD_OPTIONS
 * for a member that does not exist.
 */
export function oauth(options: OAuthOptions): TokenAuthorizer {
  checkMembers("oauth(options)", options, OAUTH_MEMBERS);
  checkClientMetadataUrl(options.clientMetadataUrl);
  const { preRegistered } = options;
  return tokenAuthorizer(
    new AuthorizationCode(options),
    options,
    preRegistered === undefined ? [] : [preRegistered.issuer],
  );
}
