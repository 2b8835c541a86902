// Puts a server's token on the requests to it, and gets another one when the server asks for that.
import type { MembersOf } from "../../schema/schema.js";
import type { AuthorizedRequest, AuthorizedResponse, HttpAuthorizer } from "../../jsonrpc/transport.js";
import { LocalError } from "../../jsonrpc/errors.js";
import type { FetchLike } from "../fetch-json.js";
import { AuthHttp, Reach, shown } from "./auth-http.js";
import {
  type Credentials,
  type CredentialStore,
  type HeldCredentials,
  memoryStore,
  type StoredTokens,
} from "./credential-store.js";
import { DpopProver, type Grant, requestTokens, TokenRefusal } from "./token-endpoint.js";
import { parseScopes } from "../scopes.js";
import { type AuthorizationPlace, discoverPlace } from "./discovery.js";

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

/** The members of `AuthorizerOptions`. */
export const AUTHORIZER_MEMBERS: MembersOf<AuthorizerOptions> = {
  serverUrl: ["text", "toJSON()"],
  store: "read() exclusively()",
  scopes: "texts",
  fetch: "function",
  allowHosts: "texts",
  dpop: ["=auto", "=required", "=off"],
  timeoutMs: "ms",
  now: "function",
};

/** An authorizer that keeps tokens and can forget them. */
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

// Reads what a 401 or 403 asks for in its WWW-Authenticate header (RFC 9110 §11.6.1, RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1).

interface Challenge {
  /** Schemes of ours that the server takes, in lower case: "bearer", "dpop". */
  readonly schemes: ReadonlySet<string>;
  readonly error?: string | undefined;
  readonly resourceMetadata?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
}

interface OneChallenge {
  readonly scheme: string;
  readonly params: Map<string, string>;
}

/** Longest header looked at: those in use stay under 500 characters. */
const HEADER_LENGTH = 8_192;

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const QUOTED = /"(?:[^"\\]|\\[^])*"/y;
const TOKEN68 = /[A-Za-z0-9\-._~+/]+=*(?=\s*(?:,|$))/y;
const GAP = /[\s,]*/y;
const SPACE = /[ \t]+/y;
const EQUALS = /\s*=\s*/y;

/** What Bearer and DPoP challenges say together: the first word on each matter counts. Nothing of the header is trusted here. */
export function readChallenge(header: string | undefined): Challenge {
  const ours = parse((header ?? "").slice(0, HEADER_LENGTH)).filter(
    ({ scheme }) => scheme === "bearer" || scheme === "dpop",
  );
  const first = (name: string): string | undefined => ours.find(({ params }) => params.has(name))?.params.get(name);
  const scope = first("scope");
  const scopes = scope === undefined ? undefined : parseScopes(scope);
  return {
    schemes: new Set(ours.map(({ scheme }) => scheme)),
    error: first("error"),
    resourceMetadata: first("resource_metadata"),
    scopes: scopes?.length === 0 ? undefined : scopes,
  };
}

function parse(text: string): readonly OneChallenge[] {
  const found: OneChallenge[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(text)?.[0];
    if (match !== undefined) at += match.length;
    return match;
  };
  for (;;) {
    take(GAP);
    const word = take(TOKEN);
    if (word === undefined) return found;
    const isParam = take(EQUALS) !== undefined;
    if (isParam) {
      const value = take(QUOTED) ?? take(TOKEN) ?? "";
      const params = found.at(-1)?.params;
      const name = word.toLowerCase();
      if (params !== undefined && !params.has(name)) params.set(name, unquote(value));
    } else {
      found.push({ scheme: word.toLowerCase(), params: new Map() });
      if (take(SPACE) !== undefined) take(TOKEN68);
    }
  }
}

function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replaceAll(/\\([^])/g, "$1") : text;
}

// Gets the next token for a server: taken over from another process, refreshed, or granted anew. One renewal at a time holds the store.

/** "auto": where the server offers it. "required": no other tokens are taken. "off": none are asked for. */
export type DpopUse = "auto" | "required" | "off";

interface RenewalSetup {
  readonly serverUrl: string;
  readonly http: AuthHttp;
  readonly store: CredentialStore;
  readonly grant: Grant;
  readonly scopes: readonly string[] | undefined;
  readonly dpop: DpopUse;
  readonly now: () => number;
}

interface Refused {
  readonly challenge: Challenge;
  readonly status: number;
  /** The token that was sent; undefined: none. */
  readonly token: string | undefined;
  /** Whether a refresh may help: not when the token came from one and was never accepted. */
  readonly mayRefresh: boolean;
  /** Called before somebody is asked; throws when it has been too often. */
  readonly attempt: () => void;
}

/** Time before its end at which a token counts as expired: the request still has to travel. */
const EARLY_MS = 30_000;

class Renewal {
  readonly #setup: RenewalSetup;
  #prover: DpopProver | undefined;

  constructor(setup: RenewalSetup) {
    this.#setup = setup;
  }

  isExpiring({ expiresAt }: StoredTokens): boolean {
    return expiresAt !== undefined && expiresAt - EARLY_MS <= this.#setup.now();
  }

  isExpired({ expiresAt }: StoredTokens): boolean {
    return expiresAt !== undefined && expiresAt <= this.#setup.now();
  }

  /** Who proves the possession of the key of `credentials`. */
  async prover({ dpopKey }: Pick<Credentials, "dpopKey">): Promise<DpopProver> {
    if (this.#prover === undefined || (dpopKey !== undefined && this.#prover.jwk["x"] !== dpopKey["x"])) {
      this.#prover = await DpopProver.create(dpopKey, this.#setup.now);
    }
    return this.#prover;
  }

  /** Before a token ends. Undefined: there is none any more, ask without. Rejects when it is over and nobody can be reached. */
  early(): Promise<Credentials | undefined> {
    const { store, serverUrl } = this.#setup;
    return store.exclusively(serverUrl, async (held) => {
      const current = await held.read();
      if (current?.tokens === undefined || !this.isExpiring(current.tokens)) return current;
      try {
        const next = (await this.#refresh(current)) ?? { ...current, tokens: undefined };
        await held.write(next);
        return next;
      } catch (error) {
        if (this.isExpired(current.tokens)) throw error;
        return current;
      }
    });
  }

  /** After the server refused. Rejects with a LocalError that says what was tried. */
  afterRefusal(refused: Refused): Promise<Credentials> {
    const { store, serverUrl } = this.#setup;
    return store.exclusively(serverUrl, async (held) => {
      const current = await held.read();
      if (current !== undefined && this.#isNewer(current, refused)) return current;
      return this.#replace(held, current, refused);
    });
  }

  #isNewer({ tokens, requestedScopes }: Credentials, { token, status, challenge }: Refused): boolean {
    if (tokens === undefined || tokens.accessToken === token || this.isExpired(tokens)) return false;
    return status === 401 || (challenge.scopes ?? []).every((scope) => requestedScopes.includes(scope));
  }

  async #replace(held: HeldCredentials, current: Credentials | undefined, refused: Refused): Promise<Credentials> {
    const { serverUrl, http, grant } = this.#setup;
    const { challenge, status } = refused;
    const prefer = [...grant.issuers, ...(current === undefined ? [] : [current.issuer])];
    const place = await discoverPlace(http, { serverUrl, resourceMetadata: challenge.resourceMetadata, prefer });
    // What one authorization server gave is never shown to another.
    let kept = current?.issuer === place.server.issuer ? current : undefined;
    if (status === 401 && refused.mayRefresh && kept?.resource === place.resource) {
      kept = (await this.#refresh({ ...kept, tokenEndpoint: place.server.tokenEndpoint })) ?? kept;
      if (kept.tokens !== undefined && kept.tokens !== current?.tokens) {
        await held.write(kept);
        return kept;
      }
    }
    refused.attempt();
    const next = await this.#obtain(place, kept, challenge);
    await held.write(next);
    return next;
  }

  async #obtain(place: AuthorizationPlace, kept: Credentials | undefined, challenge: Challenge): Promise<Credentials> {
    const { http, grant, now } = this.#setup;
    const { server, resource } = place;
    const scopes = planScopes({
      challenged: challenge.scopes,
      configured: this.#setup.scopes,
      published: place.scopes,
      before: kept?.resource === resource ? kept.requestedScopes : [],
      offered: server.scopes,
      refresh: grant.asksUser,
    });
    const dpop = this.#wantsDpop(place, kept, challenge) ? await this.prover(kept ?? {}) : undefined;
    const { tokens, client } = await grant.obtain({ http, place, scopes, kept, dpop, now });
    return {
      issuer: server.issuer,
      resource,
      tokenEndpoint: server.tokenEndpoint,
      client,
      tokens,
      requestedScopes: scopes,
      dpopKey: dpop?.jwk,
    };
  }

  /**
   * With the new tokens; without tokens when the authorization server does not take the old ones any more, and without the
   * client when it does not know that; undefined when there is nothing to refresh with.
   */
  async #refresh(kept: Credentials): Promise<Credentials | undefined> {
    const { http, grant, now } = this.#setup;
    const { issuer, resource, tokenEndpoint: endpoint, tokens } = kept;
    const client = grant.refresher(kept);
    if (tokens?.refreshToken === undefined || client === undefined) return undefined;
    const form = { grant_type: "refresh_token", refresh_token: tokens.refreshToken, resource };
    const dpop = tokens.type === "DPoP" ? await this.prover(kept) : undefined;
    try {
      const fresh = await requestTokens(http, { endpoint, issuer, client, form, dpop, now: now() });
      const { refreshToken = tokens.refreshToken, scopes = tokens.scopes } = fresh;
      return { ...kept, tokens: { ...fresh, refreshToken, scopes } };
    } catch (error) {
      if (!(error instanceof TokenRefusal) || !error.isFinal) throw error;
      return { ...kept, tokens: undefined, client: error.reason === "invalid_client" ? undefined : kept.client };
    }
  }

  #wantsDpop({ server, dpopOnly }: AuthorizationPlace, kept: Credentials | undefined, challenge: Challenge): boolean {
    const { dpop } = this.#setup;
    const offers = challenge.schemes.has("dpop");
    const able = server.dpopAlgorithms?.includes("ES256");
    // Who once had tokens bound to a key is not talked out of it.
    const must =
      dpop === "required" || dpopOnly || (offers && !challenge.schemes.has("bearer")) || kept?.dpopKey !== undefined;
    if (must && (dpop === "off" || able === false)) {
      throw new LocalError(
        "AUTH_TOKEN",
        `Tokens bound to a key are needed, but ${dpop === "off" ? "the option dpop is off" : `${shown(server.issuer)} does not take ES256 proofs`}`,
      );
    }
    return must || (dpop === "auto" && offers && able === true);
  }
}

// Chooses the scopes to ask for: as few as the server says are needed, and never fewer than were asked for before.

interface ScopeGround {
  /** Of the challenge; the server's word on this very request. */
  readonly challenged: readonly string[] | undefined;
  /** Of the user. */
  readonly configured: readonly string[] | undefined;
  /** Of the resource's metadata. */
  readonly published: readonly string[] | undefined;
  /** Asked for before, at the same issuer for the same resource. */
  readonly before: readonly string[];
  /** Of the authorization server's metadata. */
  readonly offered: readonly string[] | undefined;
  /** Whether refresh tokens are wanted. */
  readonly refresh: boolean;
}

const OFFLINE = "offline_access";

/** Empty: ask for none, and let the server choose. */
function planScopes(ground: ScopeGround): readonly string[] {
  const { challenged, configured, published, before, offered, refresh } = ground;
  const base = challenged === undefined ? (configured ?? published ?? []) : [...(configured ?? []), ...challenged];
  const known = offered?.includes(OFFLINE) === true;
  const kept = new Set(
    [...before, ...base].filter((scope) => scope !== OFFLINE || known || configured?.includes(scope)),
  );
  // Alone it would take the place of the server's own choice of scopes.
  if (refresh && known && kept.size > 0) kept.add(OFFLINE);
  return [...kept];
}
