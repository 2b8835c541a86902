// Who calls: the clients that were heard of, each with what it says of itself and when it was heard last.
import type { Call } from "@secure-local/mcp/server";

/** A client as its requests show it. What it calls itself proves nothing. */
export interface HeardClient {
  /** What it calls itself, with its version; empty where it does not say. */
  readonly name: string;
  /** Who the transport knows it to be, by its token; empty where it has none. */
  readonly principal: string;
  /** Date of the revision it speaks. */
  readonly revision: string;
  /** Milliseconds since 1970 of its first request and of the last one. */
  readonly since: number;
  readonly last: number;
  readonly requests: number;
  /** What its token allows, and when it ends, in milliseconds since 1970; absent where there is none, or it does not say. */
  readonly scopes?: readonly string[] | undefined;
  readonly expiresAt?: number | undefined;
}

/** Clients remembered: of more, those that were not heard of for the longest give way. */
const MAX_CLIENTS = 256;
/** Characters of a name: it is a stranger's. */
const MAX_NAME = 100;

export class ClientRegister {
  readonly #clients = new Map<string, { -readonly [Key in keyof HeardClient]: HeardClient[Key] }>();

  note(call: Call): void {
    const { caller, carrier } = call;
    const { client, codec } = caller;
    const { principal = "" } = carrier;
    // Who has no name has no token either, which is everybody over stdio.
    const { scopes, expiresAt } = (principal === "" ? undefined : call.identity) ?? {};
    const name = client === undefined ? "" : `${client.name} ${client.version}`.slice(0, MAX_NAME);
    const revision = codec.revision.date;
    const key = `${revision} ${principal} ${name}`;
    const now = Date.now();
    const known = this.#clients.get(key);
    if (known !== undefined) {
      known.last = now;
      known.requests += 1;
      // A token is exchanged for a new one within a session.
      [known.scopes, known.expiresAt] = [scopes, expiresAt];
      return;
    }
    if (this.#clients.size >= MAX_CLIENTS) this.#forgetOne();
    this.#clients.set(key, { name, principal, revision, since: now, last: now, requests: 1, scopes, expiresAt });
  }

  forget(principal: string): void {
    for (const [key, client] of this.#clients) if (client.principal === principal) this.#clients.delete(key);
  }

  /** The one that was heard of last, first. */
  heard(): readonly HeardClient[] {
    return [...this.#clients.values()].sort((a, b) => b.last - a.last);
  }

  #forgetOne(): void {
    let oldest: readonly [string, number] | undefined;
    for (const [key, { last }] of this.#clients) if (oldest === undefined || last < oldest[1]) oldest = [key, last];
    if (oldest !== undefined) this.#clients.delete(oldest[0]);
  }
}
