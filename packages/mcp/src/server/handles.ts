// Keeps what a tool made for a later call, under a handle that the model carries from one call to the next.
import { brand } from "../jsonrpc/brand.js";
import { LocalError } from "../jsonrpc/errors.js";
import { toBase64Url } from "./content.js";
import type { Context } from "./context.js";

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

interface Kept<T> {
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
  readonly #kept = new Map<string, Kept<T>>();
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

  create({ principal }: HandleUser, value: T): string {
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
  #find({ principal }: HandleUser, id: string): Kept<T> {
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

  #drop(id: string, { principal }: Kept<T>): void {
    this.#kept.delete(id);
    const left = (this.#counts.get(principal) ?? 0) - 1;
    if (left > 0) this.#counts.set(principal, left);
    else this.#counts.delete(principal);
  }
}

/** In the largest unit that says it exactly: "24 hours". */
function durationOf(ms: number): string {
  const [size, unit] = UNITS.find(([each]) => ms % each === 0) as (typeof UNITS)[number];
  return `${ms / size} ${unit}${ms === size ? "" : "s"}`;
}
