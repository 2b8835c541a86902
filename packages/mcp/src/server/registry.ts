// A sorted set of named things a server offers, and the number of its version.
import { LocalError } from "../jsonrpc/errors.js";

/** What a registration gives back: a way to take it away again. */
export interface Registration {
  /** Removes what was registered and announces the change. Does nothing the second time. */
  remove(): void;
}

/** Things with a unique key, kept in the order of their keys so that lists and cursors stay stable. */
export class Registry<Entry> {
  readonly #entries = new Map<string, Entry>();
  readonly #what: string;
  readonly #changed: () => void;
  #sorted: readonly string[] | undefined;
  /** Grows with every change. */
  version = 0;

  constructor(what: string, changed: () => void) {
    this.#what = what;
    this.#changed = changed;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Adds an entry. Throws DUPLICATE when its key is taken. */
  add(key: string, entry: Entry): Registration {
    if (this.#entries.has(key)) {
      throw new LocalError(
        "DUPLICATE",
        `There is already a ${this.#what} named "${key}": choose another name or remove that one first`,
      );
    }
    this.#entries.set(key, entry);
    this.#touch();
    return {
      remove: () => {
        if (this.#entries.get(key) !== entry) return;
        this.#entries.delete(key);
        this.#touch();
      },
    };
  }

  /** Keys in order. */
  keys(): readonly string[] {
    this.#sorted ??= [...this.#entries.keys()].sort(byCodeUnit);
    return this.#sorted;
  }

  /** Entries in no particular order. */
  values(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  #touch(): void {
    this.version++;
    this.#sorted = undefined;
    this.#changed();
  }
}

/** Compares by UTF-16 code unit: the same order on every machine and in every locale. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
