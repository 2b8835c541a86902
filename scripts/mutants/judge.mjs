// Tells whether a test notices a mutant: the test files that come by it are run one after another, the nearest and the
// cheapest first, till one fails with the mutant and not without.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../lib/run-command.mjs";
import { AT_LOAD, HITS, hitsFile } from "./switch-mutants.mjs";

/** A mutant that needs more than so many times what a file took without it, and so many seconds, never comes to an end. */
const MOST_TIMES = 10;
const MOST_SECONDS = 5;
/** What a file that nobody has seen yet is taken to cost, and what each run costs by itself, in seconds of processors. */
const UNKNOWN_COST = 1;
const RUN_COST = 0.2;
/** How much dearer a file may be that noticed another mutant of the same source, or runs through this one, to be asked as early. */
const NOTICED_BEFORE = 5;
/** Nearest files asked whatever was seen of them, and once more in a process of their own: what modules remember may hide a mutant. */
const ASKED_ALONE = 2;
const LATE = /timed? ?out/i;

/** Runs all tests once, without a mutant, and keeps which of them come by which mutant, and what each costs. */
export async function findReached(copy, mutants, results, { launcher = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "mutant-hits-"));
  const [report, log, hits] = ["report.json", "costs", "hits"].map((name) => join(folder, name));
  mkdirSync(hits);
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--reporter=json", `--outputFile.json=${report}`];
  const [command, ...args] = [...launcher, process.execPath, ...vitest];
  const env = {
    COMPILED_TESTS: "1",
    NODE_EXTRA_CA_CERTS: undefined,
    MUTANT_HITS_FOLDER: hits,
    TEST_COSTS: log,
    [HITS]: hitsFile("nobody", hits),
  };
  try {
    const { output } = await run(command, args, { cwd: copy.root, env });
    const told = reported(report, output);
    const name = (path) => path.slice(copy.root.length + 1);
    const tests = told.map((each) => name(each.name));
    const failing = told.filter(({ status }) => status !== "passed").map((each) => name(each.name));
    results.keepReached({ ...readHits(hits, mutants), tests, failing, costs: readCosts(log) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Seconds of processors by test file, as the workers of a run wrote them down; empty where none did. */
export function readCosts(log) {
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
  return Object.fromEntries(lines.map(JSON.parse).map(({ file, own, children }) => [file, own + children]));
}

function reported(report, output) {
  try {
    return JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    throw new Error(`the tests left no report: ${output.slice(-2_000)}`);
  }
}

function readHits(folder, mutants) {
  const reached = Object.fromEntries(mutants.map(({ number }) => [number, []]));
  const atLoad = [];
  for (const name of readdirSync(folder))
    for (const line of readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean)) {
      const number = Number(line.replace(AT_LOAD, ""));
      if (line.startsWith(AT_LOAD)) atLoad.push(number);
      else if (name !== "nobody") reached[number]?.push(decodeURIComponent(name));
    }
  return { reached, atLoad: atLoad.filter((number) => number in reached) };
}

export class Judge {
  #copy;
  #results;
  #most;
  #patience;
  /** Test files that fail without any mutant too, and those known not to. */
  #failing;
  #sound = new Set();

  /** `most` test files are asked about a mutant at most, and no more than cost `patience` seconds of processors in all. */
  constructor(copy, results, { most = Infinity, patience = Infinity } = {}) {
    this.#copy = copy;
    this.#results = results;
    this.#most = most;
    this.#patience = patience;
    this.#failing = results.failing;
  }

  /** `{ noticed, by, file, tests }`; `tests` are those that were asked. */
  async judge(mutant, lane) {
    const { loaded, tests: wanted } = this.#testsOf(mutant);
    const tests = this.#within(wanted);
    const asked = [];
    for (const file of tests) {
      const answer = await this.#asked(file, mutant, lane, { alone: loaded, along: asked.length > 0 });
      if (answer.noticed) return { ...answer, file };
      asked.push(file);
    }
    if (!loaded)
      for (const [place, file] of tests.slice(0, ASKED_ALONE).entries()) {
        const answer = await this.#asked(file, mutant, lane, { alone: true, along: place > 0 });
        if (answer.noticed) return { ...answer, file };
      }
    return { noticed: false, tests: asked };
  }

  /** Whether a test file fails with the mutant, and neither by the load of the machine, nor by what was left behind, nor anyway. */
  async #asked(file, { number }, lane, how) {
    const most = Math.max(MOST_SECONDS, MOST_TIMES * (this.#results.cost(file) ?? UNKNOWN_COST));
    const fails = async (on, way) => await lane.run(file, on, { most, ...way });
    const answer = await fails(number, how);
    if (!answer.noticed) return answer;
    const again = LATE.test(answer.why ?? "") ? await fails(number, { alone: true }) : answer;
    if (!again.noticed) return again;
    if (!how.alone && again === answer) {
      if (!(await fails(0, { only: answer.test })).noticed) return answer;
      // Something was left behind by this mutant or the ones before: what the file says by itself counts.
      const alone = await fails(number, { alone: true });
      if (!alone.noticed) return alone;
    }
    return (await this.#isSound(file, fails)) ? answer : { noticed: false };
  }

  async #isSound(file, fails) {
    if (this.#sound.has(file)) return true;
    const { noticed, why } = await fails(0, { alone: true });
    (noticed ? this.#failing : this.#sound).add(file);
    if (noticed) console.log(`left out: ${file} fails without any mutant: ${why}`);
    return !noticed;
  }

  /** The first of `tests` that may be asked. One that costs more than is left is passed over, and takes nothing from those behind it. */
  #within(tests) {
    let left = this.#patience;
    const sound = tests.filter((test) => !this.#failing.has(test)).slice(0, this.#most);
    return sound.filter((test, place) => {
      const cost = this.#costOf(test);
      if (place > 0 && cost > left) return false;
      left -= cost;
      return true;
    });
  }

  #costOf(test) {
    return RUN_COST + (this.#results.cost(test) ?? UNKNOWN_COST);
  }

  /** The tests to ask, in order, without those that were asked in vain; `loaded` says that modules must be loaded with it. */
  #testsOf(mutant) {
    const near = this.#copy.near(mutant.file);
    const loaded = this.#results.isLoaded(mutant);
    const reached = this.#results.reached(mutant);
    const known = new Set(reached);
    const within = new Set(near);
    const all =
      reached === undefined || loaded
        ? near
        : // The nearest are asked anyway: what a module remembers was made for whichever test of a process came first.
          near.filter((test, place) => place < ASKED_ALONE || known.has(test) || !this.#results.wasLookedAt(test));
    // Those that come by it in a process that they start.
    const far = [...known].filter((test) => !within.has(test));
    const noticers = this.#results.noticers(mutant);
    const likely = (test) => noticers.has(test) || (loaded && known.has(test));
    const rank = new Map(
      [...all, ...far].map((test, place) => [
        test,
        (this.#costOf(test) * (place + 1)) / (likely(test) ? NOTICED_BEFORE : 1),
      ]),
    );
    const ordered = [...rank.keys()].toSorted((a, b) => rank.get(a) - rank.get(b));
    return { loaded, tests: ordered.filter((test) => !this.#results.askedInVain(mutant, test)) };
  }
}
