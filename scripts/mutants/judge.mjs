// Tells whether a test notices a mutant: the tests that come by it are run, the nearest first.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../lib/run-command.mjs";
import { changedSince } from "./kept-results.mjs";
import { HITS, hitsFile } from "./switch-mutants.mjs";

/** Tests run at once: the nearest, then more; each further round is as long as the one before and half as long again. */
const FIRST_ROUNDS = [3, 12, 40];
const HUNG = /timed? ?out/i;

/** Runs all tests once, without a mutant, and keeps which of them come by which mutant. */
export async function findReached(copy, mutants, results) {
  const began = Date.now();
  const folder = mkdtempSync(join(tmpdir(), "mutant-hits-"));
  const report = join(folder, "report.json");
  const hits = join(folder, "hits");
  mkdirSync(hits);
  const args = ["node_modules/vitest/vitest.mjs", "run", "--reporter=json", `--outputFile.json=${report}`];
  const env = {
    COMPILED_TESTS: "1",
    NODE_EXTRA_CA_CERTS: undefined,
    MUTANT_HITS_FOLDER: hits,
    [HITS]: hitsFile("nobody", hits),
  };
  const { output } = await run(process.execPath, args, { cwd: copy.root, env });
  const reached = Object.fromEntries(mutants.map(({ number }) => [number, []]));
  for (const name of readdirSync(hits))
    for (const number of readFileSync(join(hits, name), "utf8").split("\n"))
      if (name !== "nobody") reached[number]?.push(decodeURIComponent(name));
  let told;
  try {
    told = JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    throw new Error(`the tests left no report: ${output.slice(-2_000)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const failing = told.filter(({ status }) => status !== "passed").map(({ name }) => name.slice(copy.root.length + 1));
  results.keepReached(reached, failing, began);
}

export class Judge {
  #copy;
  #results;
  #most;
  /** Test files that fail without any mutant too, and those known not to. */
  #failing;
  #sound = new Set();

  /** `most` test files are asked about a mutant at most. */
  constructor(copy, results, { most = Infinity } = {}) {
    this.#copy = copy;
    this.#results = results;
    this.#most = most;
    this.#failing = results.failing;
  }

  /** `{ noticed, by, file, began }` */
  async judge(mutant, lane) {
    const began = Date.now();
    const tests = this.#testsOf(mutant).slice(0, this.#most);
    let from = 0;
    for (const size of rounds()) {
      if (from >= tests.length) break;
      const wanted = tests.slice(from, from + size).filter((test) => !this.#failing.has(test));
      from += size;
      const answer = await this.#asked(wanted, mutant, lane);
      if (answer.noticed) return { ...answer, began };
    }
    return { noticed: false, began };
  }

  /** Runs tests till one of them notices the mutant and not the load of the machine or its own weakness. */
  async #asked(tests, { number }, lane) {
    let left = tests;
    for (;;) {
      const answer = await lane.run(left, number);
      if (!answer.noticed || answer.file === undefined) return answer;
      const late = HUNG.test(answer.why ?? "");
      const again = !late || (await lane.run([answer.file], number)).noticed;
      if (late) this.#sound.delete(answer.file);
      if (again && (await this.#isSound(answer.file, lane))) return answer;
      left = left.filter((test) => test !== answer.file);
    }
  }

  async #isSound(file, lane) {
    if (this.#sound.has(file)) return true;
    const { noticed, why } = await lane.run([file], 0);
    (noticed ? this.#failing : this.#sound).add(file);
    if (noticed) console.log(`left out: ${file} fails without any mutant: ${why}`);
    return !noticed;
  }

  /** The tests to ask, the nearest first; of what was asked earlier in vain only those that are newer. */
  #testsOf(mutant) {
    const near = this.#copy.near(mutant.file);
    const before = this.#results.verdict(mutant);
    if (before?.noticed === false) return near.filter((test) => changedSince(test, before.at));
    const reached = this.#results.reached(mutant);
    // What runs when its module is loaded is said of the first file alone that a worker runs.
    if (reached === undefined || mutant.once) return near;
    const known = new Set(reached);
    const fresh = near.filter((test) => known.has(test) || changedSince(test, this.#results.reachedAt));
    const within = new Set(near);
    // Those that come by it in a process that they start.
    return [...fresh, ...reached.filter((test) => !within.has(test))];
  }
}

function* rounds() {
  yield* FIRST_ROUNDS;
  for (let size = FIRST_ROUNDS.at(-1); ;) yield (size = Math.ceil(size * 1.5));
}
