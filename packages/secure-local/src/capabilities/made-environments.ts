// Knows which of Python's virtual environments one sandbox made itself: what runs in them by itself may be written there alone.
import { type BigIntStats, lstatSync, readdirSync } from "node:fs";
import { parentOf } from "./files/root-folders.js";

/** Python reads it as it starts, and takes packages and another Python from where it says. */
const SETTINGS = "pyvenv.cfg";
/** What Python runs as it starts, with the folder of the environment it is in. */
const RUN_AT_START = /^(.*)\/lib(?:64)?\/[^/]+\/(?:site|dist)-packages\/[^/]+\.pth$/s;
/** What people source in their shell. */
const SOURCED = /^(.*)\/(?:bin|scripts)\/(?:activate|deactivate)[^/]*$/is;
const PYTHON = /^(?:python|pypy)[\d.]*(?:\.exe)?$/i;
const NS_IN_MS = 1_000_000n;

/** Begins with its sandbox; one for each. */
export class MadeEnvironments {
  readonly #began = BigInt(Date.now()) * NS_IN_MS;
  /** Files that were made inside, by device, number and moment: a number is used again. */
  readonly #made = new Set<string>();

  /** Hears of a file that was made inside, with its number: another may have its name by now. */
  made(path: string, inode: bigint): void {
    const stats = statsOf(path);
    if (stats instanceof Error || stats === undefined || stats.ino !== inode) return;
    this.#made.add(identityOf(stats));
  }

  /** Whether a file that is protected for what Python makes of it may be written all the same. */
  mayWrite(path: string): boolean {
    if (path.endsWith(`/${SETTINGS}`)) {
      const folder = parentOf(path);
      return this.#isOwn(path) || (statsOf(path) === undefined && !this.#hasOlderPython(folder));
    }
    const [, environment] = RUN_AT_START.exec(path) ?? [];
    if (environment === undefined) return false;
    // Whoever removes an environment may have removed its settings first.
    return this.#isOwn(path) || (this.#isOwn(`${environment}/${SETTINGS}`) && statsOf(path) === undefined);
  }

  /** Whether people source it, and it belongs to an environment that somebody else made. */
  isSourcedElsewhere(path: string): boolean {
    const [, environment] = SOURCED.exec(path) ?? [];
    if (environment === undefined) return false;
    const settings = `${environment}/${SETTINGS}`;
    return statsOf(settings) !== undefined && !this.#isOwn(settings);
  }

  #isOwn(path: string): boolean {
    const stats = statsOf(path);
    return stats !== undefined && !(stats instanceof Error) && this.#made.has(identityOf(stats));
  }

  /** Settings beside a Python, or in the folder above it, are its own. */
  #hasOlderPython(folder: string): boolean {
    return ["", "/bin", "/Scripts"].some((part) => {
      const names = pythonsIn(folder + part);
      return names === undefined || names.some((name) => this.#isOlder(statsOf(`${folder}${part}/${name}`)));
    });
  }

  #isOlder(stats: BigIntStats | Error | undefined): boolean {
    return stats !== undefined && (stats instanceof Error || (!stats.isDirectory() && !this.#isNew(stats)));
  }

  #isNew(stats: BigIntStats | Error): boolean {
    return !(stats instanceof Error) && stats.birthtimeNs >= this.#began;
  }
}

function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`;
}

/** Undefined where nothing is; an error for what cannot be looked at, which may be anything. */
function statsOf(path: string): BigIntStats | Error | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    return error as Error;
  }
}

/** Undefined for what cannot be looked at. */
function pythonsIn(folder: string): string[] | undefined {
  try {
    return readdirSync(folder).filter((name) => PYTHON.test(name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? [] : undefined;
  }
}
