// Goes through what is allowed, a little at a time, for folders with links of protected names: what they lead to is known before anything
// beside them is used.
//
// It costs little and never holds anybody up: the first folders are looked at when a policy is loaded, the others in rests, each again now
// and then where its time says that it changed. A folder that does not answer (a share whose machine is away) keeps one call waiting.
import { type Dirent, lstatSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as rest } from "node:timers/promises";
import { slashed } from "./own-files.js";
import { namesOf, parentOf, realPrefixNow } from "./plain-path.js";

/** What is asked of names. */
export interface SurveyedNames {
  /** Whether a link or folder of this name may be, or hold, what is looked for. */
  mayCount(name: string): boolean;
  /** Whether a folder is looked through by `look` alone, or by nobody. */
  isApart(path: string): boolean;
}

/** Folders looked at when a policy is loaded: what the start of a sandbox can bear. */
const FIRST = 30;
/** And how long whoever loads it waits for that. */
const FIRST_MS = 4;
/** The others wait until a program that does little has ended. */
const DELAY_MS = 500;
/** Folders between two rests, and how long one is: a tenth of a processor. */
const BATCH = 200;
const REST_MS = 100;
/** From the end of one round to the next. */
const ROUND_MS = 30_000;
/** Folders in all; those near the top come first. */
const MOST_FOLDERS = 20_000;
/** Times of folders are no finer than this anywhere. */
const SETTLED_MS = 2_000;

interface Seen {
  readonly stamp: string;
  readonly folders: readonly string[];
  readonly counts: boolean;
}

export class FolderSurvey {
  readonly #look: (folder: string) => void;
  readonly #names: SurveyedNames;
  readonly #tops = new Set<string>();
  /** Folders still to be looked at. */
  #waiting: string[] = [];
  #seen = new Map<string, Seen>();
  /** What was seen the time before. */
  #before: ReadonlyMap<string, Seen> = new Map();
  #runs = false;
  #idle = new AbortController();

  /** @param look Looks for links from a folder. */
  constructor(look: (folder: string) => void, names: SurveyedNames) {
    this.#look = look;
    this.#names = names;
  }

  /** Adds folders, which are free of links. Resolves when the first of what lies in them was looked at, or soon. */
  async add(tops: readonly string[]): Promise<void> {
    const waiting = tops.filter((top) => !this.#tops.has(top));
    if (waiting.length === 0) return;
    for (const top of waiting) this.#tops.add(top);
    const first = this.#through(waiting, FIRST).then(() => {
      this.#waiting.push(...waiting);
      this.#idle.abort();
    });
    await Promise.race([first, rest(FIRST_MS, undefined, { ref: false })]);
    if (!this.#runs) void this.#rounds();
    this.#runs = true;
  }

  async #rounds(): Promise<void> {
    await rest(DELAY_MS, undefined, { ref: false });
    for (;;) {
      while (this.#waiting.length > 0 && this.#seen.size < MOST_FOLDERS) {
        await rest(REST_MS, undefined, { ref: false });
        await this.#through(this.#waiting, BATCH);
      }
      this.#idle = new AbortController();
      const { signal } = this.#idle;
      const isOver = await rest(ROUND_MS, true, { ref: false, signal }).catch(() => false);
      if (!isOver) continue;
      [this.#before, this.#seen, this.#waiting] = [this.#seen, new Map(), [...this.#tops]];
    }
  }

  /** Looks at so many of the folders that wait, and has those in them wait behind. */
  async #through(waiting: string[], most: number): Promise<void> {
    for (let count = 0; count < most; count += 1) {
      const folder = waiting.shift();
      if (folder === undefined) return;
      const seen = await this.#at(folder, this.#before.get(folder)).catch(() => undefined);
      // A folder that is not there any more is named again where it comes back.
      if (seen === undefined) this.#tops.delete(folder);
      if (seen === undefined) continue;
      this.#seen.set(folder, seen);
      if (seen.counts) this.#look(folder);
      waiting.push(...seen.folders);
    }
  }

  async #at(folder: string, before: Seen | undefined): Promise<Seen> {
    const { dev, ino, mtimeNs, ctimeNs } = await stat(folder, { bigint: true });
    const settled = Date.now() - Number(ctimeNs / 1_000_000n) > SETTLED_MS;
    const stamp = settled ? [dev, ino, mtimeNs, ctimeNs].join() : "";
    if (before !== undefined && stamp !== "" && before.stamp === stamp) return before;
    const entries = await readdir(folder, { withFileTypes: true });
    const mayLead = (entry: Dirent): boolean => entry.isSymbolicLink() || entry.isDirectory();
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => slashed(join(folder, name)));
    return {
      stamp,
      folders: folders.filter((path) => !this.#names.isApart(path)),
      counts: entries.some((entry) => this.#names.mayCount(entry.name) && mayLead(entry)),
    };
  }
}

// Knows files and folders that are seen a second time (bind mounts of containers and services) by their numbers, under the names that count.

/** How long numbers count: what is mounted, or written anew, is known after this. */
const KEPT_MS = 1_000;
/** Places remembered within that time. */
const MOST_KNOWN = 10_000;
const NONE: readonly string[] = [];

export class SecondViews {
  readonly #paths: readonly string[];
  /** Of the paths, and of each folder above them: whatever lies beside them by another way has its name there. */
  readonly #numbers = new Map<string, Set<string>>();
  readonly #known = new Map<string, readonly string[]>();
  #since = -KEPT_MS;

  /** `paths`: what is to be known again, as named and as it really is. */
  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** The other names of a path, by its own number or by that of a folder it lies in. */
  namesOf(path: string): readonly string[] {
    if (performance.now() - this.#since >= KEPT_MS || this.#known.size > MOST_KNOWN) this.#renew();
    return this.#namesOf(path);
  }

  #namesOf(path: string): readonly string[] {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const above = parentOf(path);
    const [last = ""] = namesOf(path).slice(-1);
    const names = new Set<string>(above === path ? [] : this.#namesOf(above).map((name) => slashed(join(name, last))));
    for (const name of this.#numbers.get(numberOf(path) ?? "") ?? []) names.add(name);
    names.delete(path);
    const found = names.size === 0 ? NONE : [...names];
    this.#known.set(path, found);
    return found;
  }

  #renew(): void {
    this.#since = performance.now();
    this.#known.clear();
    this.#numbers.clear();
    const seen = new Set<string>();
    for (const path of this.#paths) {
      for (let place = path; !seen.has(place); place = parentOf(place)) {
        seen.add(place);
        // What lies behind a link is among the paths by its own name.
        if (realPrefixNow(parentOf(place)) !== parentOf(place)) continue;
        const number = numberOf(place);
        if (number !== undefined) this.#numbers.set(number, (this.#numbers.get(number) ?? new Set()).add(place));
      }
    }
  }
}

/** Undefined for what is not there, and where the system gives no numbers. */
function numberOf(path: string): string | undefined {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return ino === 0n ? undefined : `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
