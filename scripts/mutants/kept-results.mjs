// What earlier runs found out, in one file: verdicts by mutant, which tests come by which of them, and what each test costs.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../lib/run-command.mjs";

const FILE = join(root, "node_modules/.mutants/results.json");
/** Raised when an older file cannot be read any more. */
const VERSION = 2;

/**
 * `verdicts`: by a mutant's number `{ source, noticed, by, file, tests }`; `source` is that of the mutant's file, `tests` what
 * the tests said of were then: the one that noticed, or all that were asked.
 * `reached`: by a mutant's number the test files that come by it, and whether any does so when it loads its modules, as they
 * were in `looked`; `failing` fail without any mutant, `costs` are seconds of processors.
 */
export class KeptResults {
  #kept = { version: VERSION, verdicts: {}, reached: {}, atLoad: [], looked: {}, failing: [], costs: {} };
  #texts = new Map();

  #tests;

  /** `tests`: the root of the repository whose tests are run, as they are now. */
  constructor(tests, { fresh = false } = {}) {
    this.#tests = tests;
    if (fresh) return;
    try {
      const kept = JSON.parse(readFileSync(FILE, "utf8"));
      if (kept.version === VERSION) this.#kept = kept;
    } catch (error) {
      if (error.code !== "ENOENT")
        throw new Error(`${FILE} cannot be read: delete it, or say --fresh`, { cause: error });
    }
  }

  get failing() {
    return new Set(this.#kept.failing);
  }

  /** The verdict, if the source and the test that noticed are as they were. */
  noticed({ number, source }) {
    const verdict = this.#kept.verdicts[number];
    const counts = verdict?.noticed && verdict.source === source;
    return counts && this.#isAsItWas(verdict.file, verdict.tests) ? verdict : undefined;
  }

  /** The verdict, if no test that was asked about the mutant, as it is, noticed. */
  survived({ number, source }) {
    const verdict = this.#kept.verdicts[number];
    return verdict?.noticed === false && verdict.source === source ? verdict : undefined;
  }

  /** Whether a test, as it is, was asked about the mutant, as it is, and did not notice. */
  askedInVain(mutant, test) {
    const verdict = this.survived(mutant);
    return verdict !== undefined && this.#isAsItWas(test, verdict.tests);
  }

  /** Test files that noticed a mutant of this source file, or this mutant when its file was another one. */
  noticers({ file, number }) {
    const all = Object.entries(this.#kept.verdicts);
    const alike = all.filter(([each, verdict]) => verdict.noticed && (each === `${number}` || verdict.of === file));
    return new Set(alike.map(([, verdict]) => verdict.file));
  }

  /** `tests`: those asked this time. What was asked in vain before still counts for a mutant that nobody noticed. */
  keep({ number, source, file: of }, { noticed, by, file, tests }) {
    const before = this.#kept.verdicts[number];
    const still = !noticed && before?.noticed === false && before.source === source ? before.tests : {};
    const asked = (noticed ? [file] : tests).map((test) => [test, this.#textOf(test)]);
    this.#kept.verdicts[number] = { source, of, noticed, by, file, tests: { ...still, ...Object.fromEntries(asked) } };
    this.#write();
  }

  /** The tests that come by a mutant; undefined when nobody has looked. */
  reached({ number }) {
    return this.#kept.reached[number];
  }

  /** Whether it takes effect when modules are loaded too, and not in tests alone. */
  isLoaded({ number, once }) {
    return once || this.#kept.atLoad.includes(number);
  }

  /** Whether a test is as it was when somebody looked what it comes by. */
  wasLookedAt(test) {
    return this.#isAsItWas(test, this.#kept.looked);
  }

  /** Seconds of processors that a test file took; undefined when it was not seen. */
  cost(test) {
    return this.#kept.costs[test];
  }

  /** Takes these for what test files cost from now on. */
  know(costs) {
    Object.assign(this.#kept.costs, costs);
  }

  keepReached({ reached, atLoad, tests, failing, costs }) {
    const kept = this.#kept;
    const looked = Object.fromEntries(tests.map((test) => [test, this.#textOf(test)]));
    Object.assign(kept, {
      reached: { ...kept.reached, ...reached },
      failing,
      looked,
      costs: { ...kept.costs, ...costs },
    });
    kept.atLoad = [...new Set([...kept.atLoad, ...atLoad])];
    this.#write();
  }

  #isAsItWas(test, texts) {
    return texts[test] !== undefined && texts[test] === this.#textOf(test);
  }

  /** Short for the text of a test file; "" when it is gone. */
  #textOf(test) {
    let text = this.#texts.get(test);
    if (text === undefined) {
      try {
        text = createHash("sha256")
          .update(readFileSync(join(this.#tests, test)))
          .digest("base64url")
          .slice(0, 10);
      } catch {
        text = "";
      }
      this.#texts.set(test, text);
    }
    return text;
  }

  #write() {
    mkdirSync(dirname(FILE), { recursive: true });
    writeFileSync(`${FILE}.new`, JSON.stringify(this.#kept));
    renameSync(`${FILE}.new`, FILE);
  }
}
