// What a server offers of one kind, in the order of its registration, and the number of its version.
import type { Call } from "../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";

/** Who may see and use a thing, where not everybody may. */
export interface Restricted {
  /** Scopes a caller needs to use it. It stays in the lists, so that clients can ask for what is missing. */
  readonly scopes?: readonly string[] | undefined;
  /** Whether the caller may see it and use it; anything but true hides it, as if it were not registered. */
  readonly visible?: ((call: Call) => boolean | undefined) | undefined;
}

/** Whether a caller may see an item, and use it: to others it is as if it were not registered. */
export type Visibility = (kind: "tool" | "resource" | "template" | "prompt", name: string, call: Call) => boolean;

/** Whether lists leave a thing out that can be used all the same: the same for every caller. */
export type Unlisted = (kind: "tool" | "resource" | "template" | "prompt", name: string) => boolean;

/** What a registration gives back: ways to change it and to take it away again. Each announces the change to clients. */
export interface Registration<Definition = never> {
  /** Removes what was registered. Does nothing the second time. */
  remove(): void;
  /** Takes it out of the lists and out of use, until `enable`. */
  disable(): void;
  enable(): void;
  readonly enabled: boolean;
  /** Changes members of the definition, at the same place in the lists. Throws as the registration would, and CLOSED once it is removed. */
  update(changes: Partial<Definition>): void;
}

interface Kept<Entry> {
  entry: Entry;
  /** Grows with every registration: where a page ended is found by it, also when the item there has gone. */
  readonly serial: number;
  enabled: boolean;
}

/** Things with a unique key. */
export class Registry<Entry extends Restricted> {
  readonly #kept = new Map<string, Kept<Entry>>();
  readonly #what: string;
  readonly #changed: () => void;
  readonly #visible: ((key: string, call: Call) => boolean) | undefined;
  readonly #unlisted: ((key: string) => boolean) | undefined;
  #keys: readonly string[] | undefined;
  #listed: readonly string[] | undefined;
  #restricted = false;
  #serials = 0;
  /** Grows with every change. */
  version = 0;

  /** `visible` hides keys from callers, besides what entries say themselves; `unlisted` leaves keys out of `listed`. */
  constructor(
    what: string,
    changed: () => void,
    hides: {
      readonly visible?: ((key: string, call: Call) => boolean) | undefined;
      readonly unlisted?: ((key: string) => boolean) | undefined;
    } = {},
  ) {
    this.#what = what;
    this.#changed = changed;
    this.#visible = hides.visible;
    this.#unlisted = hides.unlisted;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Whether callers may see different things. */
  get restricted(): boolean {
    this.keys();
    return this.#restricted;
  }

  /** The entry under a key, unless it is disabled; whoever asks. */
  get(key: string): Entry | undefined {
    const kept = this.#kept.get(key);
    return kept?.enabled === true ? kept.entry : undefined;
  }

  /** The entry under a key for a caller: what is hidden from it is not there. Throws -32600 where it lacks a scope. */
  find(key: string, call: Call): Entry | undefined {
    const entry = this.get(key);
    if (entry === undefined || !this.sees(key, entry, call)) return undefined;
    if (entry.scopes !== undefined) requireScopes(this.#what, key, entry.scopes, call);
    return entry;
  }

  sees(key: string, entry: Entry, call: Call): boolean {
    return (entry.visible === undefined || entry.visible(call) === true) && this.#visible?.(key, call) !== false;
  }

  /** Adds what `make` makes of a definition, now and with every update. Throws DUPLICATE when its key is taken. */
  add<Definition extends object>(
    key: string,
    definition: Definition,
    make: (definition: Definition) => Entry,
  ): Registration<Definition> {
    const entry = make(definition);
    if (this.#kept.has(key)) {
      throw new LocalError(
        "DUPLICATE",
        `There is already a ${this.#what} named "${key}": choose another name or remove that one first`,
      );
    }
    const kept: Kept<Entry> = { entry, serial: ++this.#serials, enabled: true };
    this.#kept.set(key, kept);
    this.#touch();
    let current = definition;
    const isThere = (): boolean => this.#kept.get(key) === kept;
    const enable = (enabled: boolean): void => {
      if (!isThere() || kept.enabled === enabled) return;
      kept.enabled = enabled;
      this.#touch();
    };
    return {
      remove: () => {
        if (!isThere()) return;
        this.#kept.delete(key);
        this.#touch();
      },
      disable: () => enable(false),
      enable: () => enable(true),
      get enabled() {
        return isThere() && kept.enabled;
      },
      update: (changes) => {
        if (!isThere()) throw new LocalError("CLOSED", `The ${this.#what} "${key}" was removed: register it again`);
        const next = merged(current, changes);
        kept.entry = make(next);
        current = next;
        this.#touch();
      },
    };
  }

  /** Keys of what is enabled, in the order of registration. */
  keys(): readonly string[] {
    if (this.#keys !== undefined) return this.#keys;
    const enabled = [...this.#kept].filter(([, kept]) => kept.enabled);
    this.#restricted = this.#visible !== undefined || enabled.some(([, { entry }]) => entry.visible !== undefined);
    this.#keys = enabled.map(([key]) => key);
    return this.#keys;
  }

  /** Those of the keys that lists show. */
  listed(): readonly string[] {
    if (this.#unlisted === undefined) return this.keys();
    return (this.#listed ??= this.keys().filter((key) => this.#unlisted?.(key) !== true));
  }

  /** The place of a key in the order; undefined when it is not there. */
  serial(key: string): number | undefined {
    return this.#kept.get(key)?.serial;
  }

  /** All entries, disabled ones too. */
  *values(): IterableIterator<Entry> {
    for (const { entry } of this.#kept.values()) yield entry;
  }

  #touch(): void {
    this.version++;
    this.#keys = undefined;
    this.#listed = undefined;
    this.#changed();
  }
}

/** A definition with some members changed. One that is an object of an author's own class stays one. */
function merged<Definition extends object>(definition: Definition, changes: Partial<Definition>): Definition {
  const base = Object.create(Object.getPrototypeOf(definition) as object | null) as Definition;
  return Object.assign(base, definition, changes);
}

/** Over HTTP the endpoint has asked for the scopes already, with a challenge and with the hierarchy it was given. */
const ASKED_BEFORE: ReadonlySet<string> = new Set(["http", "sse"]);
/** Whoever started the process, and said of nobody that it is asking, may do everything. */
const OWN: ReadonlySet<string> = new Set(["stdio", "memory"]);

function requireScopes(what: string, key: string, scopes: readonly string[], { carrier, identity }: Call): void {
  if (ASKED_BEFORE.has(carrier.kind)) return;
  if (identity === undefined && carrier.principal === undefined && OWN.has(carrier.kind)) return;
  const missing = scopes.filter((scope) => identity?.scopes.includes(scope) !== true);
  if (missing.length === 0) return;
  const text = `The ${what} ${JSON.stringify(key)} needs the scopes ${scopes.join(" ")}: ${missing.join(" ")} missing`;
  throw new RpcError(ErrorCode.InvalidRequest, text, { requiredScopes: scopes });
}

/** Compares by UTF-16 code unit: the same order on every machine and in every locale. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
