// What a server offers of one kind, in the order of its registration, and handles on what it keeps for a user.
import type { Call } from "../endpoint/call.js";
import { brand, ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { saidYes, toBase64Url } from "./content.js";
import type { Context } from "./context.js";

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
  readonly #warn: (text: string) => void;
  readonly #admit: ((key: string, scopes: readonly string[]) => void) | undefined;
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
      /** Throws where what needs these scopes could be reached by nobody. */
      readonly admit?: (key: string, scopes: readonly string[]) => void;
      /** Told of a promise where an answer was wanted. */
      readonly warn?: (text: string) => void;
    } = {},
  ) {
    this.#warn = hides.warn ?? (() => undefined);
    this.#admit = hides.admit;
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
    const { visible } = entry;
    if (visible !== undefined && !this.#said("visible", key, visible(call))) return false;
    return this.#visible === undefined || this.#said("visible", key, this.#visible(key, call));
  }

  #said(option: string, key: string, answer: unknown): boolean {
    return answer === true || saidYes(`"${option}" of the ${this.#what} "${key}"`, answer, this.#warn);
  }

  /** Adds what `make` makes of a definition, now and with every update. Throws DUPLICATE when its key is taken. */
  add<Definition extends object>(
    key: string,
    definition: Definition,
    make: (definition: Definition) => Entry,
  ): Registration<Definition> {
    const made = (given: Definition): Entry => {
      const entry = make(given);
      if (entry.scopes !== undefined) this.#admit?.(key, entry.scopes);
      return entry;
    };
    const entry = made(definition);
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
        kept.entry = made(next);
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
    return (this.#listed ??= this.keys().filter((key) => !this.#said("unlisted", key, this.#unlisted?.(key))));
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

// Keeps what a tool made for a later call, under a handle that the model carries from one call to the next.

/** What handles stand for, how they look, and how long and how many are kept. */
export interface HandleOptions {
  /** What a handle stands for, in the singular: "basket". The model reads it. */
  readonly kind: string;
  /** Put before every handle, so that people tell them apart: "bsk_". Letters, digits, `_` and `-`. Default none. */
  readonly prefix?: string;
  /** Milliseconds without use after which a value is dropped. Default a day: people come back the next morning. */
  readonly ttlMs?: number;
  /** Values kept at once. Default 10,000: values of a kilobyte are ten megabytes then. */
  readonly most?: number;
  /** Values kept at once for one principal, so that nobody takes all the room. Default 1,000. */
  readonly mostPerPrincipal?: number;
}

/** Codes: GONE (unknown, expired and foreign alike) and FULL. A tool that lets one pass answers with its words. */
export class HandleError extends LocalError {
  override readonly name: string = "HandleError";

  static {
    brand(this, "HandleError");
  }
}

/** Values by handle, in memory. Of a handle nothing can be read, and only the principal it was made for may use it. */
export interface Handles<T> {
  /** A sentence for the description of the tool that creates: how long a value lives. */
  readonly retention: string;
  /** Keeps a value for the caller and names it. Throws FULL when there is no room; others' values are never dropped for it. */
  create(ctx: HandleUser, value: T): string;
  /** The caller's value, which lives on from now. Throws GONE. */
  get(ctx: HandleUser, id: string): T;
  /** Drops the caller's value. Throws GONE. */
  delete(ctx: HandleUser, id: string): void;
}

/** Who uses a handle: the handler's context. */
export type HandleUser = Pick<Context, "principal">;

interface KeptHandle<T> {
  readonly principal: string | undefined;
  readonly value: T;
  expiresAt: number;
}

/** 256 bits: without authentication the handle itself is all that protects the value, so it must be beyond guessing. */
const ID_BYTES = 32;
const DEFAULTS = { prefix: "", ttlMs: 86_400_000, most: 10_000, mostPerPrincipal: 1_000 };
const UNITS = [
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"],
  [1, "millisecond"],
] as const;

/** Makes a store of one kind of value. Throws a RangeError naming the option that makes no sense. */
export function handles<T>(options: HandleOptions): Handles<T> {
  return new MemoryHandles<T>({ ...DEFAULTS, ...options });
}

class MemoryHandles<T> implements Handles<T> {
  readonly retention: string;
  readonly #options: Required<HandleOptions>;
  /** In the order of their last use, so that the expired are always in front. */
  readonly #kept = new Map<string, KeptHandle<T>>();
  readonly #counts = new Map<string | undefined, number>();

  constructor(options: Required<HandleOptions>) {
    if (!/^[A-Za-z0-9_-]*$/.test(options.prefix)) throw new RangeError("prefix may have letters, digits, _ and - only");
    for (const name of ["ttlMs", "most", "mostPerPrincipal"] as const) {
      if (Number.isSafeInteger(options[name]) && options[name] > 0) continue;
      throw new RangeError(`${name} must be a positive integer, not ${String(options[name])}`);
    }
    this.#options = options;
    const life = `${durationOf(options.ttlMs)} of inactivity`;
    this.retention = `Every ${options.kind} expires after ${life}, or when the server restarts.`;
  }

  create(ctx: HandleUser, value: T): string {
    const principal = principalOf(ctx);
    const { kind, prefix, ttlMs, most, mostPerPrincipal } = this.#options;
    const now = Date.now();
    this.#sweep(now);
    const owned = this.#counts.get(principal) ?? 0;
    if (this.#kept.size >= most || owned >= mostPerPrincipal) {
      throw new HandleError("FULL", `There is no room for another ${kind}: use one you have, or try again later.`);
    }
    const id = prefix + toBase64Url(crypto.getRandomValues(new Uint8Array(ID_BYTES)));
    this.#kept.set(id, { principal, value, expiresAt: now + ttlMs });
    this.#counts.set(principal, owned + 1);
    return id;
  }

  get(ctx: HandleUser, id: string): T {
    const kept = this.#find(ctx, id);
    kept.expiresAt = Date.now() + this.#options.ttlMs;
    this.#kept.delete(id);
    this.#kept.set(id, kept);
    return kept.value;
  }

  delete(ctx: HandleUser, id: string): void {
    this.#drop(id, this.#find(ctx, id));
  }

  /** Unknown, expired and foreign look the same, so that nobody learns which handles exist. */
  #find(ctx: HandleUser, id: string): KeptHandle<T> {
    const principal = principalOf(ctx);
    const kept = this.#kept.get(id);
    if (kept !== undefined && kept.principal === principal && kept.expiresAt > Date.now()) return kept;
    const { kind } = this.#options;
    const what = `No such ${kind}: the id is unknown, has expired, or belongs to someone else.`;
    throw new HandleError("GONE", `${what} Create a new ${kind} and use its id.`);
  }

  #sweep(now: number): void {
    for (const [id, kept] of this.#kept) {
      if (kept.expiresAt > now) return;
      this.#drop(id, kept);
    }
  }

  #drop(id: string, { principal }: KeptHandle<T>): void {
    this.#kept.delete(id);
    const left = (this.#counts.get(principal) ?? 0) - 1;
    if (left > 0) this.#counts.set(principal, left);
    else this.#counts.delete(principal);
  }
}

/** Throws BAD_OPTIONS for what is no context: a value would be kept for nobody. */
function principalOf(ctx: HandleUser): string | undefined {
  if ("principal" in (Object(ctx) as object)) return ctx.principal;
  throw new LocalError("BAD_OPTIONS", "handles: the context of the handler comes first, as in create(ctx, value)");
}

/** In the largest unit that says it exactly: "24 hours". */
function durationOf(ms: number): string {
  const [size, unit] = UNITS.find(([each]) => ms % each === 0) as (typeof UNITS)[number];
  return `${ms / size} ${unit}${ms === size ? "" : "s"}`;
}
