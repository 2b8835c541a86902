// Stores that work until they do not: every method then rejects, rejects late, or throws at once, as a store of one's own may.
import { onTestFinished } from "vitest";
import type { BusListener, SharedStores } from "../../src/cluster/stores.js";
import { LocalError } from "../../src/jsonrpc/errors.js";

/** In which way every method fails. */
export const FAILING = ["rejects", "rejects late", "throws at once"] as const;

export type Failing = (typeof FAILING)[number];

export interface FaultyStores {
  readonly stores: SharedStores;
  /** Those who listen, to be told what a store tells them that comes back. */
  readonly listeners: readonly BusListener[];
  /** How every method fails from now on; undefined: none does. */
  failing: Failing | undefined;
}

/** Each resolves when something has failed late. */
const late: Promise<void>[] = [];

export function faultyStores(stores: SharedStores): FaultyStores {
  const listeners: BusListener[] = [];
  const faulty: { stores: SharedStores; listeners: BusListener[]; failing: Failing | undefined } = {
    stores,
    listeners,
    failing: undefined,
  };
  const failed = (): unknown => {
    const error = new LocalError("UNREACHABLE", "The store cannot be reached");
    if (faulty.failing === "throws at once") throw error;
    if (faulty.failing === "rejects") return Promise.reject(error);
    return new Promise((_, reject) => {
      const fail = (failed: () => void): void => {
        reject(error);
        failed();
      };
      late.push(new Promise((failed) => setTimeout(() => fail(failed), 5)));
    });
  };
  const wrapped = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === "object" && value !== null) return wrapped(value);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          if (faulty.failing !== undefined && name !== "close") return failed();
          if (name === "listen") listeners.push(args[0] as BusListener);
          return Reflect.apply(value, target, args);
        };
      },
    });
  faulty.stores = wrapped(stores);
  return faulty;
}

/** Stores, or a part of them, with some members of its own. */
export function withOwn<T extends object>(part: T, own: Partial<T>): T {
  return new Proxy(part, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === "function" ? (value as () => void).bind(target) : value;
    },
  });
}

/** Rejections that nobody has heard since, each of which would end a program. */
export function unheard(): readonly unknown[] {
  const found: unknown[] = [];
  const hear = (error: unknown): void => void found.push(error);
  for (const event of ["unhandledRejection", "uncaughtException"]) process.on(event, hear);
  onTestFinished(() => {
    for (const event of ["unhandledRejection", "uncaughtException"]) process.off(event, hear);
  });
  return found;
}

/** All that was to fail late by now has failed, and what follows without waiting for anything else has followed. */
export async function settled(): Promise<void> {
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  await turns();
  await Promise.all(late.splice(0));
  await turns();
}
