// Gets the next token for a server: taken over from another process, refreshed, or granted anew. One renewal at a time holds the store.
import { LocalError } from "../../jsonrpc/local-error.js";
import type { AuthHttp } from "./auth-http.js";
import type { Challenge } from "./challenge.js";
import type { Credentials, CredentialStore, HeldCredentials, StoredTokens } from "./credential-store.js";
import { type AuthorizationPlace, discoverPlace } from "./discovery.js";
import { DpopProver } from "./dpop-prover.js";
import type { Grant } from "./grant.js";
import { shown } from "./reach.js";
import { planScopes } from "./scope-plan.js";
import { requestTokens, TokenRefusal } from "./token-endpoint.js";

/** "auto": where the server offers it. "required": no other tokens are taken. "off": none are asked for. */
export type DpopUse = "auto" | "required" | "off";

export interface RenewalSetup {
  readonly serverUrl: string;
  readonly http: AuthHttp;
  readonly store: CredentialStore;
  readonly grant: Grant;
  readonly scopes: readonly string[] | undefined;
  readonly dpop: DpopUse;
  readonly now: () => number;
}

export interface Refused {
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

export class Renewal {
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
