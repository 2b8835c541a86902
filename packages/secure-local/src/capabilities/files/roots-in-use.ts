// Keeps the root folders open, replaces those that were moved or made anew, and closes none that is in use.
import type { Lookup, RootFolder } from "./lookup.js";

interface Kept {
  readonly folder: RootFolder;
  uses: number;
  retired: boolean;
}

export class RootsInUse {
  readonly #lookup: Lookup;
  readonly #kept = new Map<string, Kept>();

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  /** Rejects with the system's error when there is no such folder. */
  async use(written: string): Promise<RootFolder> {
    let kept = this.#kept.get(written);
    if (kept === undefined) {
      const folder = await this.#lookup.openRoot(written);
      const rival = this.#kept.get(written);
      if (rival !== undefined) this.#retire(written, rival);
      kept = { folder, uses: 0, retired: false };
      this.#kept.set(written, kept);
    }
    return inUse(kept);
  }

  /** Whether the root was moved or made anew since it was opened; then the next use opens it again. */
  forgetIfMoved(written: string): boolean {
    const kept = this.#kept.get(written);
    if (kept === undefined || isCurrent(kept.folder)) return false;
    this.#retire(written, kept);
    return true;
  }

  /** Closes every root but these as soon as nobody uses it. */
  keepOnly(written: readonly string[]): void {
    for (const [name, kept] of this.#kept) if (!written.includes(name)) this.#retire(name, kept);
  }

  #retire(written: string, kept: Kept): void {
    if (this.#kept.get(written) === kept) this.#kept.delete(written);
    kept.retired = true;
    if (kept.uses === 0) kept.folder.close();
  }
}

/** The root for one user, who closes it when done. */
function inUse(kept: Kept): RootFolder {
  kept.uses += 1;
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    kept.uses -= 1;
    if (kept.retired && kept.uses === 0) kept.folder.close();
  };
  const { written, real, at } = kept.folder;
  return { written, real, at, isCurrent: () => isCurrent(kept.folder), close: release };
}

function isCurrent(folder: RootFolder): boolean {
  try {
    return folder.isCurrent();
  } catch {
    return false;
  }
}
