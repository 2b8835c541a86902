// `Files` under a policy: every operation finds its file by the rules and works on the very thing that was found.
import { closeSync, lstatSync, mkdirSync, rmdirSync, unlinkSync } from "node:fs";
import type { FileOperation } from "../../policy/decide.js";
import { writeAtomically } from "./atomic-write.js";
import { FileError } from "./file-error.js";
import { MAX_DEPTH, MAX_ENTRIES, MAX_READ_BYTES, MAX_WALK_ENTRIES, MAX_WRITE_BYTES } from "./file-limits.js";
import type {
  FileContents,
  FileInfo,
  Files,
  FolderEntry,
  FolderListing,
  OpenFile,
  ReadOptions,
  WalkOptions,
  WriteOptions,
  WrittenFile,
} from "./files.js";
import type { Finder, FoundPlace, Terms } from "./finder.js";
import { inFolder } from "./held-folder.js";
import { listFolder, walkFolder } from "./list-folder.js";
import type { Found } from "./lookup.js";
import { infoOf, opened, openFound, readWhole } from "./open-file.js";
import { parentOf } from "./root-folders.js";
import { plainPath } from "./plain-path.js";
import { rebuildFile, type RebuildWork } from "./rebuild-file.js";
import { fileErrorOf } from "./system-error.js";

export class PolicyFiles implements Files {
  readonly #finder: Finder;
  readonly #terms: () => Promise<Terms>;

  constructor(finder: Finder, terms: () => Promise<Terms>) {
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

  async #with<T>(path: string, op: FileOperation, work: (found: Found, terms: Terms) => Promise<T>): Promise<T> {
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
  async #place(terms: Terms, path: string, folders: boolean): Promise<FoundPlace> {
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
    terms: Terms,
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
