// Who sent a message, where whoever let it in knows more than a name.
import type { Carrier } from "./carrier.js";

/** Who is asking. */
export interface Identity {
  /** Names one user or machine. Sessions, tasks and cursors belong to it: two subjects never share a principal. */
  readonly principal: string;
  /** What the token allows, as granted: hierarchies are not expanded. */
  readonly scopes: readonly string[];
  readonly clientId?: string;
  /** Everything the token or the authorization server said. Never shown to the peer. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** When the token ends, in milliseconds since the epoch. Streams opened with it must not outlive it. */
  readonly expiresAt?: number;
}

/** A carrier of messages that were let in one by one, each with a token of its own. */
export interface IdentifiedCarrier extends Carrier {
  readonly identity: Identity | undefined;
}

/** The identity a message came with; undefined where its transport knows none. */
export function identityOf(carrier: Carrier | IdentifiedCarrier): Identity | undefined {
  return "identity" in carrier ? carrier.identity : undefined;
}
