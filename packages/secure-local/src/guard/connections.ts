// Numbers those who ask, so that equal request ids of two clients can be told apart in the record.
import type { Call } from "@secure-local/mcp/server";

/**
 * A session has one number for as long as it lasts; a request of the stateless era, which belongs to no session, has one
 * of its own. Counted from 1 since the start of the server.
 */
export class Connections {
  readonly #numbers = new WeakMap<Call["caller"], number>();
  #count = 0;
  /** Most calls come from the one who made the call before. */
  #last: Call["caller"] | undefined;
  #lastNumber = 0;

  /** To be asked once for each request. */
  numberOf({ caller }: Call): number {
    // Nobody asks about this caller again: it needs no entry, which would cost the collector more than the call.
    if (caller.codec.revision.era === "stateless") return ++this.#count;
    if (this.#last === caller) return this.#lastNumber;
    let number = this.#numbers.get(caller);
    if (number === undefined) this.#numbers.set(caller, (number = ++this.#count));
    this.#last = caller;
    this.#lastNumber = number;
    return number;
  }
}
