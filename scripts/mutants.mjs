#!/usr/bin/env node
// Plants faults in the sources, one at a time, and tells which of them no test notices.
//
// --quick N    N mutants, chosen by a seed that is printed; without it 480 that are always the same
// --all        every mutant there is: hours
// --seed S     the seed of an earlier run
// --only PATH  only files whose path contains this; may be repeated
// --lanes N    processes that run tests side by side (default 2)
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./lib/run-command.mjs";
import { mutantsOf } from "./mutants/make-mutants.mjs";
import { Lane } from "./mutants/lane.mjs";

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
  "packages/mcp/src/transport/http",
];
/** A whole run: an hour on two quiet cores. */
const WHOLE = { count: 480, seed: 1 };
/** Share of mutants that have to be noticed. */
const LEAST_KILLED = 0.95;
const ACCEPTED = join(root, "scripts/mutants/accepted.json");

const { values } = parseArgs({
  options: {
    quick: { type: "string" },
    all: { type: "boolean" },
    seed: { type: "string" },
    only: { type: "string", multiple: true },
    lanes: { type: "string" },
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

/** The same numbers for the same seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function chosen(all, count, seed) {
  const random = randomOf(seed);
  const left = [...all];
  const picked = [];
  while (picked.length < count && left.length > 0) picked.push(...left.splice(Math.floor(random() * left.length), 1));
  return picked;
}

const files = sources().filter((file) => values.only?.some((part) => file.includes(part)) ?? true);
const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")));
const seed = Number(values.seed ?? (values.quick === undefined ? WHOLE.seed : Math.floor(Math.random() * 2 ** 31)));
const mutants = values.all ? all : chosen(all, Number(values.quick ?? WHOLE.count), seed);
const accepted = JSON.parse(readFileSync(ACCEPTED, "utf8"));
const reasonOf = ({ file, find, replace }) =>
  accepted.find((each) => each.file === file && each.find === find && each.replace === replace)?.reason;
console.log(`${mutants.length} of ${all.length} mutants in ${files.length} files, seed ${seed}`);

const queue = [...mutants];
const survivors = [];
let killed = 0;
let known = 0;
async function work(lane) {
  await lane.ready();
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    const { noticed, by } = await lane.judge(mutant);
    const place = `${mutant.file}:${mutant.line}`;
    if (noticed) {
      killed += 1;
      if (process.env.MUTANTS_VERBOSE) console.log(`killed   ${place}: ${mutant.what}; by ${by}`);
    } else if (reasonOf(mutant) !== undefined) known += 1;
    else {
      survivors.push(mutant);
      console.log(`SURVIVED ${place}: ${mutant.what}\n    - ${mutant.find}\n    + ${mutant.replace}`);
    }
  }
  lane.close();
}

const lanes = Array.from({ length: Number(values.lanes ?? 2) }, () => new Lane());
// The copies and the processes that run tests in them go with this one.
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    for (const lane of lanes) lane.close();
    process.exit(130);
  });
await Promise.all(lanes.map(work));
const share = killed / Math.max(1, mutants.length - known);
console.log(
  `${killed} of ${mutants.length} noticed (${(100 * share).toFixed(1)} % of those that change anything), ${known} accepted survivors, ${survivors.length} others; seed ${seed}`,
);
process.exitCode = share < LEAST_KILLED || survivors.length > 0 ? 1 : 0;
