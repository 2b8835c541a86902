// Tells callers apart of whom something is remembered: a name that somebody had and somebody else has now is two of them.
import type { Call } from "@secure-local/mcp/server";

/** Tells those apart who have a name one after another: another text when it is somebody else's. Undefined: it is always the same one's. */
export type LifeOf = (principal: string) => string | undefined;

export class Callers {
  readonly #lifeOf: LifeOf;
  /** How often work under a name was ended for good. */
  readonly #ends = new Map<string, number>();

  constructor(lifeOf: LifeOf = () => undefined) {
    this.#lifeOf = lifeOf;
  }

  /** From now on whoever has the name is somebody else, whatever they are known by. */
  end(principal: string): void {
    this.#ends.set(principal, (this.#ends.get(principal) ?? 0) + 1);
  }

  /** Under what something is remembered of a name, as long as it is the same one's. */
  key(principal: string | undefined): string | undefined {
    const life = principal === undefined ? undefined : this.#lifeOf(principal);
    const ends = principal === undefined ? undefined : this.#ends.get(principal);
    // No name of several people's has a line break.
    return life === undefined && ends === undefined ? principal : `${principal}\n${life ?? ""}\n${ends ?? 0}`;
  }

  /** The same of whoever calls. */
  of({ carrier: { principal } }: Pick<Call, "carrier">): string | undefined {
    return this.key(principal);
  }
}
