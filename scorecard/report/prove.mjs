// `--prove`: takes each defence that a goal names out of a copy of the repository, and tells by which kind of attack that goal then
// notices. A goal that passes without its defence proves nothing, and neither does one that fails for another reason. A defence may
// name the steps of the goal that are to notice (`steps`): then these alone are taken, with it as without it. Verdicts are kept, so
// that a run that was stopped goes on; what may have changed one is tried again.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ChangedCopy } from "../../scripts/lib/changed-copy.mjs";
import { keepVerdict, keptVerdict, verdictName } from "./kept-verdicts.mjs";

/** Longest for building the copy, or running one goal in it, which ends by itself when it hangs. */
const TIME_LIMIT_MS = 1_200_000;
/** What the run prints of a miss that is no attack that got through. */
const REASON = /^ +(?:broken case|bypass|not held|refused|only|no case|no kind|the process|refusals): ?.*$/m;

/**
 * How many of the defences of these goals were not noticed by their goal; prints a line each, and a table of them all. `words`: those
 * with these in their names alone. `lanes`: how many goals at a time, each in a copy of its own. `fresh`: no kept verdict counts.
 */
export async function prove(files, { words = "", lanes = 1, fresh = false } = {}) {
  const left = [];
  for (const file of files) {
    const { goal, defences = [] } = await import(pathToFileURL(file).href);
    const wanted = defences.filter(({ name }) => name.includes(words));
    if (wanted.length > 0) left.push({ file, goal, defences: wanted });
  }
  const rows = [];
  const lane = async () => {
    const bench = new Bench(fresh);
    try {
      for (let next = left.shift(); next !== undefined; next = left.shift())
        rows.push(...(await proveGoal(bench, next)));
    } finally {
      bench.remove();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const unnoticed = rows.filter(({ noticed }) => !noticed).length;
  console.log(`\n${table(rows)}\n${rows.length} defences taken out, ${unnoticed} not noticed`);
  return unnoticed;
}

async function proveGoal(bench, { file, goal, defences }) {
  const rows = [];
  const whole = await bench.missedWhole(file, stepsOf(defences));
  for (const defence of defences) {
    const said = whole === undefined ? await bench.without(file, defence) : { noticed: false, why: whole };
    const { noticed, kind, why, kept } = said;
    rows.push({ goal: goal.id, defence: defence.name, noticed, kind });
    console.log(
      `${noticed ? "ok  " : "MISS"} ${goal.id.padEnd(7)} without ${defence.name}: ${why}${kept ? " (kept)" : ""}`,
    );
  }
  return rows;
}

/** By goal, what was taken out and which kind of attack noticed. */
function table(rows) {
  const lines = [["goal", "defence", "caught by"]];
  for (const { goal, defence, noticed, kind } of rows.sort((a, b) => a.goal.localeCompare(b.goal)))
    lines.push([goal, defence, noticed ? (kind ?? "a case of no named kind") : "NOTHING"]);
  const widths = [0, 1].map((at) => Math.max(...lines.map((line) => line[at].length)));
  return lines
    .map(([goal, defence, kind]) => `${goal.padEnd(widths[0])}  ${defence.padEnd(widths[1])}  ${kind}`)
    .join("\n");
}

/** As an option, those that any of them names; none where one names no steps, and so needs all. */
function stepsOf(defences) {
  if (defences.some(({ steps }) => steps === undefined)) return [];
  return ["--steps", [...new Set(defences.flatMap(({ steps }) => steps))].sort().join(",")];
}

/** A copy of the repository, made when the first verdict is not known, in which one goal at a time is run. */
class Bench {
  #fresh;
  #copy;
  /** The command of the copy was built with a change in it. */
  #odd = false;

  constructor(fresh) {
    this.#fresh = fresh;
  }

  /** Why nothing can be shown by a goal: it is missed with all defences in their places. Undefined where it is met. */
  async missedWhole(file, steps) {
    const { missed } = await this.#verdict(file, undefined, steps, async () => {
      const { code, output } = await this.#run(file, steps);
      return code === 0 ? {} : { missed: `the goal is missed with it as well: ${reasonIn(output)}` };
    });
    return missed;
  }

  without(file, defence) {
    const { file: where, built = false, find, replace, also = [] } = defence;
    const change = { file: where.startsWith("packages/") ? where : `packages/${where}`, find, replace, also, built };
    return this.#verdict(file, change, stepsOf([defence]), async () => {
      const { code, output, outcome } = await this.#run(file, [...stepsOf([defence]), "--first"], change);
      if (outcome?.first !== undefined && code !== 0) return { noticed: true, ...outcome.first };
      if (code === 0) return { noticed: false, why: "the goal is met all the same" };
      return { noticed: false, why: `no attack got through; the goal was missed otherwise: ${reasonIn(output)}` };
    });
  }

  remove() {
    this.#copy?.remove();
  }

  /** A miss is not kept: it may be the machine's. */
  async #verdict(file, change, steps, find) {
    const name = verdictName(file, change, steps);
    const kept = this.#fresh ? undefined : keptVerdict(name);
    if (kept !== undefined) return { ...kept, kept: true };
    const found = await find();
    if (found.noticed !== false && found.missed === undefined) keepVerdict(name, found);
    return found;
  }

  /** Runs a goal in the copy, whose command is built anew where the change is in it, or was. */
  async #run(file, options, change) {
    this.#copy ??= new ChangedCopy();
    if (change === undefined) this.#copy.restore();
    else this.#copy.apply(change);
    if (change?.built === true || this.#odd) {
      const { code, output } = await run(this.#copy.root, ["scripts/bundle-product.mjs"]);
      if (code !== 0) return { code, output: `       the process cannot be built: ${output.slice(-400)}` };
      this.#odd = change?.built === true;
    }
    const said = join(this.#copy.root, "outcome.json");
    rmSync(said, { force: true });
    const goal = basename(file).slice(0, 3);
    const ran = await run(this.#copy.root, ["scorecard/run.mjs", goal, "--no-write", "--outcome", said, ...options]);
    return { ...ran, outcome: outcomeIn(said) };
  }
}

function outcomeIn(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"))[0];
  } catch {
    // The run ended before it could say anything, and why is in what it printed.
    return undefined;
  }
}

function reasonIn(output) {
  return REASON.exec(output)?.[0].trim() ?? output.slice(-400);
}

async function run(cwd, args) {
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "pipe"], timeout: TIME_LIMIT_MS });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const [code] = await once(child, "close");
  return { code, output };
}
