// Knows files and folders that are seen a second time (bind mounts of containers and services) by their numbers, under the names that count.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { slashed } from "./own-files.js";
import { namesOf } from "./plain-path.js";
import { parentOf, realPrefixNow } from "./root-folders.js";

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
