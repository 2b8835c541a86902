#!/usr/bin/env node
// Plants faults in the sources, one at a time, and tells which of them no test notices. Verdicts are kept in
// node_modules/.mutants and count as long as the source stays as it is: a run that was stopped goes on where it was.
//
// --quick N    N mutants, chosen by a seed that is printed, before the nearest tests alone; without it 480 that stay the
//              same as far as the sources do, before all tests that come by them
// --all        every mutant there is: hours
// --seed S     the seed of an earlier run
// --only PATH  only files whose path contains this; may be repeated
// --lanes N    processes that run tests side by side (default 2)
// --fresh      forget what earlier runs found out
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./lib/run-command.mjs";
import { findReached, Judge } from "./mutants/judge.mjs";
import { KeptResults } from "./mutants/kept-results.mjs";
import { Lane } from "./mutants/lane.mjs";
import { mutantsOf } from "./mutants/make-mutants.mjs";
import { SwitchedCopy } from "./mutants/switched-copy.mjs";

/** What is planted in: where a fault is a hole. */
const PLACES = [
  "packages/secure-local/src/policy",
  "packages/secure-local/src/guard",
  "packages/secure-local/src/audit",
  "packages/secure-local/src/capabilities",
  "packages/secure-local/src/sandbox",
  "packages/mcp/src/jsonrpc",
  "packages/mcp/src/era",
  "packages/mcp/src/auth",
  "packages/mcp/src/http/server",
];
/** A whole run: two hours on two quiet cores. */
const WHOLE = { count: 480, seed: 1 };
/** Share of mutants that have to be noticed in a whole run. */
const LEAST_KILLED = 0.95;
/**
 * A quick run asks a sample of the nearest tests alone, which notice three of four: fewer than half of 24 come once in some hundred
 * runs, and mean that the tests of a part have stopped to look.
 */
const QUICK = { leastKilled: 0.5, mostTests: 15 };
/** Share of mutants of which nobody has looked which tests come by them; they meet all that import their file. */
const MOST_UNKNOWN = 0.25;
const ACCEPTED = join(root, "scripts/mutants/accepted.json");

const { values } = parseArgs({
  options: {
    quick: { type: "string" },
    all: { type: "boolean" },
    seed: { type: "string" },
    only: { type: "string", multiple: true },
    lanes: { type: "string", default: "2" },
    fresh: { type: "boolean" },
  },
});

function sources() {
  return PLACES.flatMap((place) =>
    readdirSync(join(root, place), { recursive: true })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => relative(root, join(root, place, name)))
      .sort(),
  );
}

/** The same mutants for the same seed; one that comes or goes changes nothing about the others. */
function chosen(all, count, seed) {
  const rank = ({ number }) => createHash("sha256").update(`${seed} ${number}`).digest("hex");
  const ranked = all.map((mutant) => [rank(mutant), mutant]).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return ranked.slice(0, count).map(([, mutant]) => mutant);
}

function acceptedReasons() {
  const accepted = JSON.parse(readFileSync(ACCEPTED, "utf8"));
  return ({ file, number, find, after }) =>
    accepted.find(
      (each) =>
        each.file === file && each.find === find && each.replace === after && (each.number ?? number) === number,
    )?.reason;
}

/** Judges each mutant in one of the lanes and calls `told` with each verdict. */
async function judgeAll(mutants, { judge, results, lanes, told }) {
  const queue = mutants.values();
  const work = async (lane) => {
    for (const mutant of queue) {
      const before = results.verdict(mutant);
      const verdict = before?.noticed ? before : await judge.judge(mutant, lane);
      if (!quick && verdict !== before) results.keep(mutant, verdict);
      told(mutant, verdict);
    }
  };
  await Promise.all(lanes.map(work));
}

const files = sources().filter((file) => values.only?.some((part) => file.includes(part)) ?? true);
const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")));
const quick = values.quick !== undefined;
const seed = Number(values.seed ?? (quick ? Math.floor(Math.random() * 2 ** 31) : WHOLE.seed));
const mutants = values.all ? all : chosen(all, Number(values.quick ?? WHOLE.count), seed);
console.log(`${mutants.length} of ${all.length} mutants in ${files.length} files, seed ${seed}`);

const copy = new SwitchedCopy();
const lanes = Array.from({ length: Number(values.lanes) }, () => new Lane(copy.root));
function close() {
  for (const lane of lanes) lane.close();
  copy.remove();
}
// The copy and the processes that run tests in it go with this one.
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    close();
    process.exit(130);
  });

const reasonOf = acceptedReasons();
const counts = { killed: 0, known: 0, survived: 0 };
function told(mutant, { noticed, by, file }) {
  const place = `${mutant.file}:${mutant.line}`;
  if (noticed) {
    counts.killed += 1;
    if (process.env.MUTANTS_VERBOSE) console.log(`killed   ${place}: ${mutant.what}; by ${file}: ${by}`);
  } else if (reasonOf(mutant) !== undefined) counts.known += 1;
  else {
    counts.survived += 1;
    console.log(`SURVIVED ${place}: ${mutant.what}\n    - ${mutant.find}\n    + ${mutant.after}`);
  }
}

try {
  await copy.make(mutants);
  const results = new KeptResults({ fresh: quick || values.fresh });
  const unknown = quick ? [] : mutants.filter((mutant) => results.reached(mutant) === undefined);
  if (unknown.length > MOST_UNKNOWN * mutants.length) await findReached(copy, mutants, results);
  const judge = new Judge(copy, results, { most: quick ? QUICK.mostTests : Infinity });
  await judgeAll(mutants, { judge, results, lanes, told });
} finally {
  close();
}
const { killed, known, survived } = counts;
const share = killed / Math.max(1, mutants.length - known);
const wanted = quick ? QUICK.leastKilled : LEAST_KILLED;
console.log(
  `${killed} of ${mutants.length} noticed (${(100 * share).toFixed(1)} % of those that change anything; wanted: ${100 * wanted} %), ${known} accepted survivors, ${survived} others; seed ${seed}`,
);
process.exitCode = share < wanted ? 1 : 0;
