// The people who may call besides the owner, each by a token of their own, and whom a change of that list concerns.

/** Somebody else who may call: sessions, tasks, limits, approvals and records of theirs are kept apart by the name. */
export interface NamedToken {
  readonly principal: string;
  readonly sha256: string;
}

/** What a new list changed, by names. Where none of somebody's tokens is left, whoever has the name now is somebody else. */
export interface PeopleChange {
  readonly came: readonly string[];
  readonly gone: readonly string[];
  /** They have a token less, or another one, and may still call. */
  readonly changed: readonly string[];
  /** How many people there are now. */
  readonly count: number;
}

/** One list for a whole process, which may be exchanged while it serves. */
export class KnownPeople {
  #tokens: readonly NamedToken[];
  /** By name, as long as it is one person's: the token that it came with, so that all processes of a server say the same. */
  #lives: ReadonlyMap<string, string>;

  constructor(tokens: readonly NamedToken[] = []) {
    this.#tokens = tokens;
    this.#lives = this.#livesIn(tokens, new Set());
  }

  /** Tells those apart who have a name one after another; undefined for nobody's. */
  lifeOf(name: string): string | undefined {
    return this.#lives.get(name);
  }

  #livesIn(tokens: readonly NamedToken[], lasting: ReadonlySet<string>): ReadonlyMap<string, string> {
    const lives = new Map<string, string>();
    for (const { principal, sha256 } of tokens)
      if (!lives.has(principal))
        lives.set(principal, (lasting.has(principal) ? this.#lives.get(principal) : undefined) ?? sha256);
    return lives;
  }

  /** Another array after each change. */
  get tokens(): readonly NamedToken[] {
    return this.#tokens;
  }

  get names(): readonly string[] {
    return namesIn(this.#tokens);
  }

  replace(tokens: readonly NamedToken[]): PeopleChange {
    const before = new Set(this.#tokens.map(keyOf));
    const after = new Set(tokens.map(keyOf));
    const old = this.names;
    const names = namesIn(tokens);
    const differ = new Set(
      [
        ...this.#tokens.filter((each) => !after.has(keyOf(each))),
        ...tokens.filter((each) => !before.has(keyOf(each))),
      ].map(({ principal }) => principal),
    );
    const lasting = new Set(tokens.filter((each) => before.has(keyOf(each))).map(({ principal }) => principal));
    this.#lives = this.#livesIn(tokens, lasting);
    if (differ.size > 0) this.#tokens = tokens;
    return {
      came: names.filter((name) => !lasting.has(name)),
      gone: old.filter((name) => !lasting.has(name)),
      changed: names.filter((name) => lasting.has(name) && differ.has(name)),
      count: names.length,
    };
  }
}

function keyOf({ principal, sha256 }: NamedToken): string {
  return `${principal} ${sha256}`;
}

function namesIn(tokens: readonly NamedToken[]): readonly string[] {
  return [...new Set(tokens.map(({ principal }) => principal))];
}
