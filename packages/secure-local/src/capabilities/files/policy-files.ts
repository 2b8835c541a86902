// `Files` under a policy: every operation finds its file by the rules and works on the very thing that was found.
import { Buffer } from "node:buffer";
import { closeSync, lstatSync, mkdirSync, opendirSync, rmdirSync, type Stats, unlinkSync } from "node:fs";
import type { FileOperation } from "../../policy/decide.js";
import { exactText } from "../../sandbox/exact-text.js";
import {
  infoOf,
  opened,
  openFound,
  readWhole,
  rebuildFile,
  type RebuildWork,
  UNFINISHED,
  writeAtomically,
} from "./atomic-write.js";
import {
  type FileContents,
  FileError,
  type FileInfo,
  type Files,
  type FolderEntry,
  type FolderListing,
  MAX_DEPTH,
  MAX_ENTRIES,
  MAX_READ_BYTES,
  MAX_WALK_ENTRIES,
  MAX_WRITE_BYTES,
  type OpenFile,
  type ReadOptions,
  type WalkOptions,
  type WriteOptions,
  type WrittenFile,
} from "./files.js";
import { fileErrorOf, type Finder, type Found, type FoundPlace, inFolder, type OperationRules } from "./finder.js";
import { join, parentOf, plainPath } from "./plain-path.js";

export class PolicyFiles implements Files {
  readonly #finder: Finder;
  readonly #terms: () => Promise<OperationRules>;

  constructor(finder: Finder, terms: () => Promise<OperationRules>) {
    this.#finder = finder;
    this.#terms = terms;
  }

  async roots(): Promise<readonly string[]> {
    const { rules, client } = await this.#terms();
    return client?.narrow(rules.shown) ?? rules.shown;
  }

  async judge(path: string, op: FileOperation): Promise<void> {
    const { rules, client } = await this.#terms();
    this.#finder.judge({ rules, client }, path, op);
  }

  info(path: string): Promise<FileInfo> {
    // A folder above an allowed pattern may be listed, but holds nothing to read itself.
    return this.#with(path, "list", async (found, { rules }) => {
      if (!found.stats.isFile() && !found.stats.isDirectory()) throw notRegular(path);
      return infoOf(rules.show(found.path), found.stats);
    });
  }

  read(path: string, options: ReadOptions = {}): Promise<FileContents> {
    return this.#with(path, "read", async (found, { rules }) => {
      const bytes = await contentOf(found, path, options);
      return { ...infoOf(rules.show(found.path), found.stats), size: bytes.length, bytes };
    });
  }

  open(path: string): Promise<OpenFile> {
    return this.#with(path, "read", async (found, { rules }) =>
      opened(openFound(found, path), infoOf(rules.show(found.path), found.stats)),
    );
  }

  async write(path: string, bytes: Uint8Array, options: WriteOptions = {}): Promise<WrittenFile> {
    const { mode = "either", folders = false, signal } = options;
    if (bytes.length > MAX_WRITE_BYTES) throw tooLarge(path, bytes.length);
    const terms = await this.#terms();
    return this.#guarded(path, async () => {
      const place = await this.#place(terms, path, folders);
      return this.#put(terms, place, { bytes, shown: path, mode, signal });
    });
  }

  async edit(
    path: string,
    change: (bytes: Uint8Array) => Uint8Array | undefined,
    options: ReadOptions = {},
  ): Promise<WrittenFile> {
    const terms = await this.#terms();
    return this.#guarded(path, async () => {
      const found = await this.#finder.find(terms, path, "read");
      const before = found.stats;
      try {
        const bytes = change(await contentOf(found, path, options));
        if (bytes === undefined) return { path: terms.rules.show(found.path), created: false, size: before.size };
        if (bytes.length > MAX_WRITE_BYTES) throw tooLarge(path, bytes.length);
        // Links on the way have been followed: what is written is the file that was read.
        const place = await this.#finder.place(terms, found.path, "write");
        const { signal } = options;
        return await this.#put(terms, place, { bytes, shown: path, mode: "replace", expected: before, signal });
      } finally {
        found.close();
      }
    });
  }

  /** As `FileSystem.rebuild`. */
  async rebuild(path: string, work: RebuildWork, signal: AbortSignal): Promise<void> {
    const terms = await this.#terms();
    await this.#guarded(path, async () => {
      const place = await this.#finder.place(terms, path, "write");
      try {
        const stillAllowed = (): void => {
          if (!place.folder.isCurrent()) throw new FileError("changed", `"${path}": its folder was moved meanwhile.`);
        };
        await rebuildFile({ place, shown: path, signal, stillAllowed, work });
      } finally {
        place.folder.close();
      }
    });
  }

  async remove(path: string): Promise<void> {
    const terms = await this.#terms();
    await this.#guarded(path, async () => {
      const { folder, name } = await this.#finder.place(terms, path, "delete");
      try {
        if (folder.at === folder.path) throw notHeld(path);
        const at = `${folder.at}/${name}`;
        const stats = lstatSync(at);
        if (!stats.isFile() && !stats.isDirectory()) throw notRegular(path);
        if (stats.isDirectory()) rmdirSync(at);
        else unlinkSync(at);
      } finally {
        folder.close();
      }
    });
  }

  list(path: string, options: { readonly limit?: number; readonly signal?: AbortSignal } = {}): Promise<FolderListing> {
    const limit = Math.min(options.limit ?? MAX_ENTRIES, MAX_ENTRIES);
    return this.#with(path, "list", (found, terms) => {
      options.signal?.throwIfAborted();
      return listFolder({ finder: this.#finder, terms, found, shown: path }, limit);
    });
  }

  async *walk(path: string, options: WalkOptions = {}): AsyncGenerator<FolderEntry> {
    const { depth = MAX_DEPTH, maxEntries = MAX_WALK_ENTRIES, enter, signal } = options;
    const terms = await this.#terms();
    const limits = {
      depth: Math.min(depth, MAX_DEPTH),
      entries: Math.min(maxEntries, MAX_WALK_ENTRIES),
      enter,
      signal,
    };
    try {
      yield* walkFolder({ finder: this.#finder, terms, shown: path }, limits);
    } catch (error) {
      throw fileErrorOf(error, path);
    }
  }

  async #with<T>(
    path: string,
    op: FileOperation,
    work: (found: Found, terms: OperationRules) => Promise<T>,
  ): Promise<T> {
    const terms = await this.#terms();
    return this.#guarded(path, async () => {
      const found = await this.#finder.find(terms, path, op);
      try {
        return await work(found, terms);
      } finally {
        found.close();
      }
    });
  }

  async #guarded<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw fileErrorOf(error, path);
    }
  }

  /** The place of a file to write; with `folders`, folders that are missing are made, as far as each may be written. */
  async #place(terms: OperationRules, path: string, folders: boolean): Promise<FoundPlace> {
    try {
      return await this.#finder.place(terms, path, "write");
    } catch (error) {
      const missing = error instanceof FileError && error.code === "not-found";
      const above = parentOf(plainPath(path));
      if (!folders || !missing || above === plainPath(path)) throw error;
      const { folder, name } = await this.#place(terms, above, true);
      try {
        inFolder(folder, (at) => mkdirSync(`${at}/${name}`));
      } catch (problem) {
        if ((problem as { readonly code?: string }).code !== "EEXIST") throw problem;
      } finally {
        folder.close();
      }
      return this.#finder.place(terms, path, "write");
    }
  }

  async #put(
    terms: OperationRules,
    place: FoundPlace,
    put: Omit<Parameters<typeof writeAtomically>[0], "place" | "stillAllowed">,
  ) {
    const { folder } = place;
    const stillAllowed = (): void => {
      if (!folder.isCurrent()) throw new FileError("changed", `"${put.shown}": its folder was moved meanwhile.`);
    };
    try {
      const created = await writeAtomically({ ...put, place, stillAllowed });
      return { path: terms.rules.show(place.path), created, size: put.bytes.length };
    } finally {
      folder.close();
    }
  }
}

async function contentOf(found: Found, shown: string, { maxBytes = MAX_READ_BYTES, signal }: ReadOptions) {
  const fd = openFound(found, shown);
  try {
    return await readWhole(fd, found.stats.size, { maxBytes: Math.min(maxBytes, MAX_READ_BYTES), shown, signal });
  } finally {
    closeSync(fd);
  }
}

function notHeld(path: string): FileError {
  const why = "this system has no way to hold its folder, which could be exchanged for another one meanwhile";
  return new FileError("system", `"${path}" was not removed: ${why}. Remove it yourself.`);
}

function notRegular(path: string): FileError {
  return new FileError("not-a-file", `"${path}" is no regular file.`);
}

function tooLarge(path: string, size: number): FileError {
  return new FileError("too-large", `"${path}" would have ${size} bytes; at most ${MAX_WRITE_BYTES} are written.`);
}

// Lists one folder, or walks through all that lies below it, as far as the rules allow.

interface Listing {
  readonly finder: Finder;
  readonly terms: OperationRules;
  /** The path as the caller gave it. */
  readonly shown: string;
}

/** The allowed entries of a folder, links among them that lead to something allowed. */
async function listFolder(
  { finder, terms, shown, found }: Listing & { readonly found: Found },
  limit: number,
): Promise<FolderListing> {
  if (!found.stats.isDirectory()) throw new FileError("not-a-folder", `"${shown}" is no folder.`);
  const { rules } = terms;
  const { entries, links, truncated } = await readFolder(found, limit, (path, stats) => admits(terms, path, stats));
  const listed = entries.map(({ name, path, stats }): FolderEntry => ({ name, ...infoOf(rules.show(path), stats) }));
  for (const name of links.slice(0, limit - listed.length)) {
    const target = await finder.find(terms, join(found.path, name), "read").catch(() => undefined);
    if (target === undefined) continue;
    target.close();
    const { stats } = target;
    if (stats.isFile() || stats.isDirectory())
      listed.push({ name, ...infoOf(rules.show(join(found.path, name)), stats) });
  }
  if (!found.isCurrent()) throw new FileError("changed", `"${shown}" was moved while it was listed; try again.`);
  listed.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { path: rules.show(found.path), entries: listed, truncated };
}

interface WalkLimits {
  readonly depth: number;
  readonly entries: number;
  readonly enter: ((folder: FolderEntry) => boolean) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Folders before what is in them. Stops without a word when the entries are used up. */
async function* walkFolder(
  { finder, terms, shown }: Listing,
  { depth, entries, enter = () => true, signal }: WalkLimits,
): AsyncGenerator<FolderEntry> {
  let left = entries;
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: shown, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    signal?.throwIfAborted();
    const listing = await listOne({ finder, terms, shown }, next.path, left);
    const inside: typeof waiting = [];
    for (const entry of listing) {
      left -= 1;
      if (entry.kind === "folder" && next.depth < depth && enter(entry))
        inside.push({ path: entry.path, depth: next.depth + 1 });
      yield entry;
    }
    if (left <= 0) return;
    waiting.push(...inside.reverse());
  }
}

/** What vanishes or is exchanged during a walk is passed over; the first folder must be there. */
async function listOne({ finder, terms, shown }: Listing, path: string, limit: number): Promise<FolderEntry[]> {
  let found: Found | undefined;
  try {
    found = await finder.find(terms, path, "list");
    if (!found.stats.isDirectory()) throw new FileError("not-a-folder", `"${shown}" is no folder.`);
    const { entries } = await readFolder(found, limit, (at, stats) => admits(terms, at, stats));
    if (!found.isCurrent()) return [];
    return entries.map(({ name, path: at, stats }) => ({ name, ...infoOf(terms.rules.show(at), stats) }));
  } catch (error) {
    if (path === shown) throw error;
    return [];
  } finally {
    found?.close();
  }
}

function admits({ rules, client, reader }: OperationRules, path: string, stats: Stats): boolean {
  if (rules.judge(path, stats.isDirectory() ? "list" : "read", reader) !== undefined) return false;
  return client === undefined || client.hold(path, rules);
}

// Lists a folder that was found: the entries that are allowed, in the order of their names.

interface RawEntry {
  readonly name: string;
  /** Where it is, free of links. */
  readonly path: string;
  readonly stats: Stats;
}

/** Names looked at before a folder is taken for endless, allowed or not. */
const MOST_NAMES = 200_000;
/** Names looked at before others get a turn. */
const TURN = 256;

interface RawListing {
  readonly entries: RawEntry[];
  /** Names of links, which were not followed. */
  readonly links: readonly string[];
  readonly truncated: boolean;
}

/** Regular files and folders that `admits` lets through. What vanishes meanwhile is left out. */
async function readFolder(
  folder: Found,
  limit: number,
  admits: (path: string, stats: Stats) => boolean,
): Promise<RawListing> {
  const { names, truncated } = await namesIn(folder);
  const entries: RawEntry[] = [];
  const links: string[] = [];
  for (let from = 0; from < names.length; from += TURN) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve));
    for (const { name, stats } of looksAt(folder, names.slice(from, from + TURN))) {
      const path = join(folder.path, name);
      if (stats.isSymbolicLink() && links.length < limit) links.push(name);
      if (!(stats.isDirectory() || (stats.isFile() && stats.nlink === 1)) || !admits(path, stats)) continue;
      if (entries.length === limit) return { entries, links, truncated: true };
      entries.push({ name, path, stats });
    }
  }
  return { entries, links, truncated };
}

/** Sorted, so that every listing of the same folder is the same. */
async function namesIn(folder: Found): Promise<{ names: string[]; truncated: boolean }> {
  const names: string[] = [];
  // What is open stays the folder it was opened as, whatever becomes of its name.
  const handle = inFolder(folder, (at) => opendirSync(at, { bufferSize: 256, encoding: "latin1" }));
  for await (const { name: bytes } of handle) {
    const name = exactText(Buffer.from(bytes, "latin1"));
    // Nobody can name it in a call; decoded loosely it would be another one's name.
    if (name === undefined) continue;
    if (names.length === MOST_NAMES) return { names: names.sort(), truncated: true };
    if (!name.startsWith(UNFINISHED)) names.push(name);
  }
  return { names: names.sort(), truncated: false };
}

/** What stands under these names in the very folder; those that are gone are left out. */
function looksAt(folder: Found, names: readonly string[]): { readonly name: string; readonly stats: Stats }[] {
  return inFolder(folder, (at) =>
    names.flatMap((name) => {
      const stats = statOf(`${at}/${name}`);
      return stats === undefined ? [] : [{ name, stats }];
    }),
  );
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
