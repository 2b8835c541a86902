// `storage` in a folder: a file for each key, exchanged as a whole, so that several servers may share it.
import { createHash, randomBytes } from "node:crypto";
import { linkSync, realpathSync, unlinkSync, writeFileSync } from "node:fs";
import { open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder, READ_AT_ONCE, readAtOnce } from "../audit/owned-files.js";
import { syncFolder } from "./files/atomic-write.js";
import { type Storage, StorageError, type StoredValue } from "./refusals.js";

/** Written as hexadecimal digits it is still a name that every file system takes. */
const MAX_KEY_BYTES = 120;
/** More are a database; there are tools for those. */
const MAX_KEYS = 1_024;
const ENDING = ".json";
const UNFINISHED = ".tmp";
/** What a crash left half written is nobody's after this long. */
const STALE_MS = 60_000;
const PRIVATE_FILE = 0o600;

/** Says whose a folder is: the path of the plugin. Beside the values, none of which can have this name. */
const OWNER = "plugin-folder";

/** A plugin as its grant names it. */
export interface Keeper {
  readonly name: string;
  readonly path: string;
}

/** Where a plugin keeps what it keeps. */
export interface StoragePlace {
  readonly folder: string;
  /** The folder of its name, where that is another plugin's, and the path of that one. */
  readonly taken?: { readonly folder: string; readonly by: string };
}

/**
 * What is kept belongs to a plugin's place as well as to its name: two authors may choose one name. The folder of the name is that of
 * the first who had it, and every other plugin of that name has one with a digest of its own path.
 */
export function storagePlace(root: string, { name, path }: Keeper): StoragePlace {
  const folder = join(root, folderName(name));
  const own = placeOf(path);
  const by = ownerOf(folder);
  if (by === undefined || by === own) return { folder };
  const digest = createHash("sha256").update(own).digest("hex").slice(0, DIGEST_DIGITS);
  return { folder: `${folder}@${digest}`, taken: { folder, by } };
}

/** Takes the folder of the name, where it is nobody's yet, and says where the plugin keeps things. @throws StorageError */
export function claimedStorage(root: string, keeper: Keeper): string {
  const folder = join(root, folderName(keeper.name));
  makeReachable(folder);
  const draft = join(folder, `${randomBytes(8).toString("hex")}${UNFINISHED}`);
  try {
    // Linked when it is whole, so that of two who start at once the second reads whose it is.
    writeFileSync(draft, placeOf(keeper.path), { flag: "wx", mode: PRIVATE_FILE });
    linkSync(draft, join(folder, OWNER));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") unreachable(error);
  } finally {
    unlinkSync(draft);
  }
  return storagePlace(root, keeper).folder;
}

/** 128 bits: no path is found that has the digest of another. */
const DIGEST_DIGITS = 32;

function ownerOf(folder: string): string | undefined {
  try {
    return readAtOnce(join(folder, OWNER)).trim();
  } catch (error) {
    return ifAbsent(error);
  }
}

/** By whatever way it is reached, a place has one name. */
function placeOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    return ifAbsent(error) ?? resolve(path);
  }
}

/** Some file systems do not tell capitals from small letters. */
function folderName(plugin: string): string {
  return plugin.replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`);
}

export class StorageFolder implements Storage {
  readonly #folder: string;
  readonly #bytes: number;
  /** Changes one after the other: each looks first whether there is room. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param bytes Most of all values together, as they are written. */
  constructor(folder: string, bytes: number) {
    this.#folder = folder;
    this.#bytes = bytes;
  }

  async get(key: string): Promise<StoredValue | undefined> {
    const text = await readFile(this.#path(key), { encoding: "utf8", flag: READ_AT_ONCE }).catch(ifAbsent);
    try {
      return text === undefined ? undefined : (JSON.parse(text) as StoredValue);
    } catch {
      throw new StorageError(`What is kept under ${JSON.stringify(key)} was damaged; delete it.`);
    }
  }

  async set(key: string, value: StoredValue): Promise<void> {
    const path = this.#path(key);
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) throw new StorageError("A value is anything that JSON has; undefined is not.");
    await this.#next(async () => {
      makeReachable(this.#folder);
      await this.#haveRoom(nameOf(key), Buffer.byteLength(text));
      await this.#write(path, text);
    });
  }

  async delete(key: string): Promise<boolean> {
    const path = this.#path(key);
    return await this.#next(() =>
      unlink(path).then(
        () => true,
        (error: unknown) => ifAbsent(error) ?? false,
      ),
    );
  }

  async keys(): Promise<readonly string[]> {
    return (await this.#names()).map((name) => Buffer.from(name.slice(0, -ENDING.length), "hex").toString()).sort();
  }

  #path(key: string): string {
    return join(this.#folder, nameOf(key));
  }

  async #names(): Promise<string[]> {
    const names = (await readdir(this.#folder).catch(ifAbsent)) ?? [];
    return names.filter((name) => name.endsWith(ENDING));
  }

  async #haveRoom(name: string, bytes: number): Promise<void> {
    const others = (await this.#names()).filter((each) => each !== name);
    if (others.length >= MAX_KEYS) throw new StorageError(`There are ${MAX_KEYS} keys already; delete some.`);
    const sizes = await Promise.all(others.map((each) => sizeOf(join(this.#folder, each))));
    const taken = sizes.reduce((sum, size) => sum + size, 0);
    if (taken + bytes > this.#bytes)
      throw new StorageError(
        `${bytes} bytes do not fit beside the ${taken} that are kept: the policy grants ${this.#bytes} (storage_kb).`,
      );
  }

  async #write(path: string, text: string): Promise<void> {
    const unfinished = join(this.#folder, `${randomBytes(8).toString("hex")}${UNFINISHED}`);
    try {
      const file = await open(unfinished, "wx", PRIVATE_FILE);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, path);
    } catch (error) {
      await unlink(unfinished).catch(() => undefined);
      throw new StorageError(`It could not be kept (${(error as NodeJS.ErrnoException).code ?? "no reason given"}).`);
    }
    await syncFolder(this.#folder);
    await this.#tidy();
  }

  async #tidy(): Promise<void> {
    const names = (await readdir(this.#folder).catch(ifAbsent)) ?? [];
    for (const name of names.filter((each) => each.endsWith(UNFINISHED))) {
      const path = join(this.#folder, name);
      const stats = await stat(path).catch(ifAbsent);
      if (stats !== undefined && Date.now() - stats.mtimeMs > STALE_MS) await unlink(path).catch(ifAbsent);
    }
  }

  #next<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#last.then(change);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** Hexadecimal digits: keys differ by their bytes, file names on some systems not even by case. */
function nameOf(key: string): string {
  const bytes = Buffer.from(key);
  if (bytes.length === 0 || bytes.length > MAX_KEY_BYTES)
    throw new StorageError(`A key is a text of 1 to ${MAX_KEY_BYTES} bytes.`);
  return `${bytes.toString("hex")}${ENDING}`;
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(ifAbsent))?.size ?? 0;
}

function ifAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
  return unreachable(error);
}

function makeReachable(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    unreachable(error);
  }
}

function unreachable(error: unknown): never {
  throw new StorageError(`It cannot be reached (${(error as NodeJS.ErrnoException).code ?? "no reason given"}).`);
}
