#!/usr/bin/env node
// Plants faults in the sources, one at a time, and tells which of them no test notices. Verdicts are kept in
// node_modules/.mutants and count as long as the source and the tests that were asked stay as they are: a run that was
// stopped goes on where it was, and what nobody noticed meets the tests that are new.
//
// --quick N     N mutants, chosen by a seed that is printed, before the nearest tests alone; without it 480 that stay the
//               same as far as the sources do, before the tests that come by them
// --all         every mutant there is: hours
// --seed S      the seed of an earlier run
// --only PATH   only files whose path contains this; may be repeated
// --patience S  seconds of processors that the tests asked about one mutant may cost in all (default 40, 0: all tests)
// --lanes N     processes that run tests side by side (default 2)
// --launcher W  a command that starts these processes, as `nice`
// --turn W      a command that waits for its turn on a shared machine and then runs what follows it; the turn is given back
//               after each batch
// --batch N     mutants a turn (default 40)
// --fresh       forget what earlier runs found out
// --costs FILE  what each test file costs, as a run of the tests with TEST_COSTS=FILE wrote it down
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./lib/run-command.mjs";
import { findReached, Judge, readCosts } from "./mutants/judge.mjs";
import { KeptResults } from "./mutants/kept-results.mjs";
import { Lane } from "./mutants/lane.mjs";
import { mutantsOf } from "./mutants/make-mutants.mjs";
import { SwitchedCopy } from "./mutants/switched-copy.mjs";

/** What is planted in: where a fault is a hole. */
const PLACES = [
  "packages/secure-local/src/policy",
  "packages/secure-local/src/guard",
  "packages/secure-local/src/audit",
  "packages/inspection/src/characters",
  "packages/secure-local/src/capabilities",
  "packages/secure-local/src/sandbox",
  "packages/mcp/src/jsonrpc",
  "packages/mcp/src/era",
  "packages/mcp/src/auth",
  "packages/mcp/src/http/server",
];
/** A whole run: about half an hour. */
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
    patience: { type: "string", default: "40" },
    batch: { type: "string", default: "40" },
    turn: { type: "string" },
    launcher: { type: "string" },
    fresh: { type: "boolean" },
    costs: { type: "string" },
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
      const verdict = await judge.judge(mutant, lane);
      if (!quick) results.keep(mutant, verdict);
      told(mutant, verdict);
    }
  };
  await Promise.all(lanes.map(work));
}

/** Does `work` when the command `words` lets `cat` run, and has it end afterwards. Without words at once. */
async function inTurn(words, work) {
  if (words === undefined) return await work();
  const [command, ...args] = [...words.split(" "), "cat"];
  const turn = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(turn, "close");
  turn.stdin.write("mine?\n");
  const begun = await Promise.race([once(turn.stdout, "data"), ended.then(() => undefined)]);
  if (begun === undefined) throw new Error(`${words} ended before it ran anything`);
  try {
    return await work();
  } finally {
    turn.stdin.end();
    await ended;
  }
}

/** Those of the first places first. */
function inOrder(mutants) {
  const place = ({ file }) => PLACES.findIndex((each) => file.startsWith(each));
  return mutants.toSorted((a, b) => place(a) - place(b) || (a.file < b.file ? -1 : 1));
}

const files = sources().filter((file) => values.only?.some((part) => file.includes(part)) ?? true);
const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")));
const quick = values.quick !== undefined;
const seed = Number(values.seed ?? (quick ? Math.floor(Math.random() * 2 ** 31) : WHOLE.seed));
const mutants = inOrder(values.all ? all : chosen(all, Number(values.quick ?? WHOLE.count), seed));
console.log(`${mutants.length} of ${all.length} mutants in ${files.length} files, seed ${seed}`);

const copy = new SwitchedCopy();
const launcher = values.launcher?.split(" ") ?? [];
const lanes = Array.from({ length: Number(values.lanes) }, () => new Lane(copy.root, { launcher }));
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
  const results = new KeptResults(copy.root, { fresh: quick || values.fresh });
  if (values.costs !== undefined) results.know(readCosts(values.costs));
  const unknown = quick ? [] : mutants.filter((mutant) => results.reached(mutant) === undefined);
  if (unknown.length > MOST_UNKNOWN * mutants.length)
    await inTurn(values.turn, () => findReached(copy, mutants, results, { launcher }));
  const patience = Number(values.patience) || Infinity;
  const judge = new Judge(copy, results, { most: quick ? QUICK.mostTests : Infinity, patience });
  const unknownYet = (mutant) => results.survived(mutant) === undefined;
  const open = mutants.filter((mutant) => {
    // One that is accepted was looked at by a person: it is not asked about again before its source changes.
    const accepted = reasonOf(mutant) === undefined ? undefined : results.survived(mutant);
    const verdict = results.noticed(mutant) ?? accepted;
    if (verdict !== undefined) told(mutant, verdict);
    return verdict === undefined;
  });
  // A run that is stopped has asked about as many as it could: those that survived before come last.
  open.sort((a, b) => Number(unknownYet(b)) - Number(unknownYet(a)));
  for (let at = 0; at < open.length; at += Number(values.batch)) {
    const batch = open.slice(at, at + Number(values.batch));
    await inTurn(values.turn, () => judgeAll(batch, { judge, results, lanes, told }));
  }
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
