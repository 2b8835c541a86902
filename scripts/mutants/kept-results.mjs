// What earlier runs found out, in one file: verdicts by mutant, and which tests come by which of them.
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../lib/run-command.mjs";

const FILE = join(root, "node_modules/.mutants/results.json");

/**
 * `verdicts`: by a mutant's number `{ source, noticed, by, file, at }`, true as long as the mutant's file is that `source`.
 * `reached`: by a mutant's number the test files that come by it, as they were at `reachedAt`; `failing` fail without any mutant.
 */
export class KeptResults {
  #kept = { verdicts: {}, reached: {}, reachedAt: 0, failing: [] };

  constructor({ fresh = false } = {}) {
    if (fresh) return;
    try {
      this.#kept = JSON.parse(readFileSync(FILE, "utf8"));
    } catch (error) {
      if (error.code !== "ENOENT")
        throw new Error(`${FILE} cannot be read: delete it, or say --fresh`, { cause: error });
    }
  }

  get failing() {
    return new Set(this.#kept.failing);
  }

  /** A verdict that still counts. What nobody noticed comes back with the time from which on tests are new to it. */
  verdict({ number, source }) {
    const verdict = this.#kept.verdicts[number];
    return verdict?.source === source ? verdict : undefined;
  }

  keep({ number, source }, { noticed, by, file, began }) {
    this.#kept.verdicts[number] = { source, noticed, by, file, at: began };
    this.#write();
  }

  /** The tests that come by a mutant; undefined when nobody has looked. */
  reached({ number }) {
    return this.#kept.reached[number];
  }

  keepReached(reached, failing, began) {
    Object.assign(this.#kept, { reached: { ...this.#kept.reached, ...reached }, failing, reachedAt: began });
    this.#write();
  }

  get reachedAt() {
    return this.#kept.reachedAt;
  }

  #write() {
    mkdirSync(dirname(FILE), { recursive: true });
    writeFileSync(`${FILE}.new`, JSON.stringify(this.#kept));
    renameSync(`${FILE}.new`, FILE);
  }
}

/** Whether a file of the repository was written after a time, or has gone meanwhile. */
export function changedSince(file, time) {
  return (statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > time;
}
