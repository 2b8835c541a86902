// The ways to get a token, as the authorizer that keeps it sees them.
import type { AuthHttp } from "./auth-http.js";
import type { ClientIdentity } from "./client-identity.js";
import type { Credentials, StoredClient, StoredTokens } from "./credential-store.js";
import type { AuthorizationPlace } from "./discovery.js";
import type { DpopProver } from "./dpop-prover.js";

export interface GrantTask {
  readonly http: AuthHttp;
  readonly place: AuthorizationPlace;
  /** Empty: ask for none. */
  readonly scopes: readonly string[];
  /** What this very issuer gave us before. */
  readonly kept: Credentials | undefined;
  readonly dpop: DpopProver | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Obtained {
  readonly tokens: StoredTokens;
  /** To be kept for the next time. */
  readonly client?: StoredClient | undefined;
}

export interface Grant {
  /** Whether somebody is asked, who must not be asked again and again. */
  readonly asksUser: boolean;
  /** Issuers to prefer where a server names several. */
  readonly issuers: readonly string[];
  /** Who refreshes what was kept; undefined: nobody may. */
  refresher(kept: Credentials): ClientIdentity | undefined;
  /** Rejects with a LocalError. */
  obtain(task: GrantTask): Promise<Obtained>;
}
