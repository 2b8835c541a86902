// Puts a server's token on the requests to it, and gets another one when the server asks for that.
import type { AuthorizedRequest, AuthorizedResponse, HttpAuthorizer } from "../../jsonrpc/http-authorizer.js";
import { LocalError } from "../../jsonrpc/local-error.js";
import type { FetchLike } from "../fetch-json.js";
import { AuthHttp } from "./auth-http.js";
import { type Challenge, readChallenge } from "./challenge.js";
import { type Credentials, type CredentialStore, memoryStore } from "./credential-store.js";
import type { Grant } from "./grant.js";
import { Reach, shown } from "./reach.js";
import { type DpopUse, Renewal } from "./renewal.js";

/** What all ways to a token take. */
export interface AuthorizerOptions {
  /** URL of the MCP server: https, or http on this machine. Tokens go to its origin only. */
  readonly serverUrl: string | URL;
  /** Default: `memoryStore()`. */
  readonly store?: CredentialStore;
  /** Scopes to ask for where the server names none, and beside those it names. Default: what its metadata lists. */
  readonly scopes?: readonly string[];
  /** For metadata, registration and tokens. On Node use `guardedFetch`, which keeps it off private addresses. Default: the runtime's own. */
  readonly fetch?: FetchLike;
  /** Host names that metadata may lead to beside the server's and the issuer's own. Default: none. */
  readonly allowHosts?: readonly string[];
  /** Tokens bound to a key (RFC 9449). Default: "auto". */
  readonly dpop?: DpopUse;
  /** Longest wait for an answer of an authorization server, in milliseconds. Default: 10 seconds. */
  readonly timeoutMs?: number;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

export interface TokenAuthorizer extends HttpAuthorizer {
  /** Forgets the tokens for this server and the client registered for it. Rejects with `AUTH_STORE`. */
  forget(): Promise<void>;
}

/** How often somebody is asked in vain before they are left in peace, and for how long. */
const MAX_ATTEMPTS = 3;
const ATTEMPT_WINDOW_MS = 10 * 60_000;
/** Proofs in a row that may be refused for their nonce. */
const MAX_NONCE_RETRIES = 2;

/** `given`: further URLs the user wrote. Throws RangeError for URLs that tokens must not go to. */
export function tokenAuthorizer(
  grant: Grant,
  options: AuthorizerOptions,
  given: readonly string[] = [],
): TokenAuthorizer {
  return new KeptToken(grant, options, given);
}

class KeptToken implements TokenAuthorizer {
  readonly #serverUrl: string;
  readonly #origin: string;
  readonly #grant: Grant;
  readonly #store: CredentialStore;
  readonly #renewal: Renewal;
  readonly #now: () => number;
  #loaded: Promise<Credentials | undefined> | undefined;
  #flight: Promise<Credentials | undefined> | undefined;
  /** The newest token obtained here, until the server has accepted it. */
  #unproven: string | undefined;
  #attempts: number[] = [];
  #nonceRetries = 0;

  constructor(grant: Grant, options: AuthorizerOptions, given: readonly string[]) {
    const serverUrl = String(options.serverUrl);
    const reach = new Reach([serverUrl, ...given], options.allowHosts);
    checkServer(serverUrl, reach);
    this.#serverUrl = serverUrl;
    this.#origin = new URL(serverUrl).origin;
    this.#grant = grant;
    this.#store = options.store ?? memoryStore();
    this.#now = options.now ?? Date.now;
    this.#renewal = new Renewal({
      serverUrl,
      http: new AuthHttp(options.fetch ?? globalThis.fetch, reach, options.timeoutMs),
      store: this.#store,
      grant,
      scopes: options.scopes,
      dpop: options.dpop ?? "auto",
      now: this.#now,
    });
  }

  async headers({ method, url }: AuthorizedRequest): Promise<Readonly<Record<string, string>>> {
    if (!this.#isOurs(url)) return {};
    const credentials = await this.#current();
    const tokens = credentials?.tokens;
    if (tokens === undefined || this.#renewal.isExpired(tokens)) return {};
    const { accessToken, type } = tokens;
    if (type === "Bearer") return { authorization: `Bearer ${accessToken}` };
    const prover = await this.#renewal.prover(credentials as Credentials);
    return { authorization: `DPoP ${accessToken}`, dpop: await prover.prove({ method, url, accessToken }) };
  }

  async challenged(response: AuthorizedResponse): Promise<boolean> {
    if (!this.#isOurs(response.url)) return false;
    const challenge = readChallenge(response.header("www-authenticate"));
    const nonce = await this.#learnNonce(response);
    if (response.status === 401 && challenge.error === "use_dpop_nonce") {
      if (nonce && ++this.#nonceRetries <= MAX_NONCE_RETRIES) return true;
      throw new LocalError(
        "UNAUTHORIZED",
        `${shown(this.#origin)} wants a DPoP nonce and does not take the one it gave`,
      );
    }
    if (response.status === 403 && (challenge.error !== "insufficient_scope" || challenge.scopes === undefined)) {
      return false;
    }
    if (response.status !== 401 && response.status !== 403) return false;
    await this.#shareFlight(() => this.#renew(response, challenge));
    return true;
  }

  answered(response: AuthorizedResponse): void {
    if (!this.#isOurs(response.url) || response.status >= 400) return;
    this.#nonceRetries = 0;
    this.#unproven = undefined;
    if (!this.#grant.asksUser) this.#attempts = [];
    if (response.header("dpop-nonce") !== undefined) void this.#learnNonce(response).catch(() => undefined);
  }

  async forget(): Promise<void> {
    await this.#store.exclusively(this.#serverUrl, (held) => held.write(undefined));
    this.#loaded = undefined;
  }

  #isOurs(url: string): boolean {
    return URL.canParse(url) && new URL(url).origin === this.#origin;
  }

  async #current(): Promise<Credentials | undefined> {
    this.#loaded ??= this.#store.read(this.#serverUrl);
    let credentials;
    try {
      credentials = await this.#loaded;
    } catch (error) {
      this.#loaded = undefined;
      throw error;
    }
    const tokens = credentials?.tokens;
    if (tokens?.refreshToken === undefined || !this.#renewal.isExpiring(tokens)) return credentials;
    return this.#shareFlight(() => this.#renewal.early());
  }

  /** Everybody who needs a new token meanwhile waits for the one under way. */
  #shareFlight(start: () => Promise<Credentials | undefined>): Promise<Credentials | undefined> {
    this.#flight ??= start()
      .then((credentials) => {
        this.#loaded = Promise.resolve(credentials);
        return credentials;
      })
      .finally(() => {
        this.#flight = undefined;
      });
    return this.#flight;
  }

  async #renew(response: AuthorizedResponse, challenge: Challenge): Promise<Credentials> {
    const { status } = response;
    const held = (await this.#loaded)?.tokens;
    const token = tokenOf(response) ?? held?.accessToken;
    this.#refuseInVain(status, challenge, { token, held: await this.#loaded });
    const mayRefresh = token === undefined || token !== this.#unproven;
    const credentials = await this.#renewal.afterRefusal({
      challenge,
      status,
      token,
      mayRefresh,
      attempt: () => this.#countAttempt(status),
    });
    this.#unproven = credentials.tokens?.accessToken;
    return credentials;
  }

  /** A server that wants scopes the token already has will want them again. */
  #refuseInVain(
    status: number,
    { scopes = [] }: Challenge,
    { token, held }: { readonly token: string | undefined; readonly held: Credentials | undefined },
  ): void {
    if (status !== 403 || held?.tokens === undefined || held.tokens.accessToken !== token) return;
    const granted = held.tokens.scopes ?? held.requestedScopes;
    if (!scopes.every((scope) => granted.includes(scope))) return;
    throw new LocalError(
      "FORBIDDEN",
      `${shown(this.#serverUrl)} says the token lacks scopes (${shown(scopes.join(" "))}) that were granted with it; asking again would not help`,
    );
  }

  #countAttempt(status: number): void {
    const now = this.#now();
    this.#attempts = this.#attempts.filter((at) => now - at < ATTEMPT_WINDOW_MS);
    if (this.#attempts.length >= MAX_ATTEMPTS) {
      throw new LocalError(
        status === 403 ? "FORBIDDEN" : "UNAUTHORIZED",
        `${shown(this.#serverUrl)} still answers with status ${status} after ${MAX_ATTEMPTS} authorizations; the next one is tried in ${ATTEMPT_WINDOW_MS / 60_000} minutes at the earliest. Check the account's rights at the server`,
      );
    }
    this.#attempts.push(now);
  }

  async #learnNonce(response: AuthorizedResponse): Promise<boolean> {
    const nonce = response.header("dpop-nonce");
    const credentials = await this.#loaded;
    if (nonce === undefined || credentials?.tokens?.type !== "DPoP") return false;
    return (await this.#renewal.prover(credentials)).learn(response.url, nonce);
  }
}

function tokenOf({ sent }: AuthorizedResponse): string | undefined {
  return sent?.["authorization"]?.replace(/^\S+ /, "");
}

function checkServer(serverUrl: string, reach: Reach): void {
  try {
    reach.check(serverUrl, "The server's URL");
  } catch (error) {
    throw new RangeError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
