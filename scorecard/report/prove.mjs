// `--prove`: takes each defence that a goal names out of a copy of the repository, and tells whether an attack of that goal then gets
// through. A goal that passes without its defence proves nothing, and neither does one that fails for another reason. A defence may
// name the steps of the goal that are to notice (`steps`): then these alone are taken, with it as without it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { ChangedCopy } from "../../scripts/lib/changed-copy.mjs";

/** Longest for building the copy, or running one goal in it, which ends by itself when it hangs. */
const TIME_LIMIT_MS = 1_200_000;
/** What the run prints of an attack that got through. One that threw was neither refused nor let through. */
const BYPASS = /^ +(?:bypass: (?!.*: threw )|side effect: ).*$/m;
/** What it prints of any other miss. */
const REASON = /^ +(?:bypass|not held|refused|only|no case|the process|refusals): ?.*$/m;

/** How many of the defences of these goals, with `words` in their names, were missed by their goal; prints a line each. */
export async function prove(files, words = "") {
  const copy = new ChangedCopy();
  let unnoticed = 0;
  let count = 0;
  try {
    for (const file of files) {
      const { goal, defences: all = [] } = await import(pathToFileURL(file).href);
      const defences = all.filter((defence) => defence.name.includes(words));
      const name = basename(file).slice(0, 3);
      const whole = defences.length === 0 ? undefined : await missedWhole(copy, name, stepsOf(defences));
      for (const defence of defences) {
        count += 1;
        const said = whole === undefined ? await withoutIt(copy, defence, name) : { noticed: false, why: whole };
        if (!said.noticed) unnoticed += 1;
        console.log(`${said.noticed ? "ok  " : "MISS"} ${goal.id.padEnd(7)} without ${defence.name}: ${said.why}`);
      }
      // What the goals after it run is the command as it ships.
      if (defences.some(({ built }) => built)) await built(copy);
    }
  } finally {
    copy.remove();
  }
  console.log(`${count} defences taken out, ${unnoticed} not noticed`);
  return unnoticed;
}

async function built(copy) {
  copy.restore();
  await run(copy.root, ["scripts/bundle-product.mjs"]);
}

/** As an option, those that any of them names; none where one names no steps, and so needs all. */
function stepsOf(defences) {
  if (defences.some(({ steps }) => steps === undefined)) return [];
  return ["--steps", [...new Set(defences.flatMap(({ steps }) => steps))].join(",")];
}

/** Why nothing can be shown by a goal: it is missed with all defences in their places. Undefined where it is met. */
async function missedWhole(copy, goal, steps) {
  copy.restore();
  const { code, output } = await run(copy.root, ["scorecard/run.mjs", goal, "--no-write", ...steps]);
  return code === 0 ? undefined : `the goal is missed with it as well: ${reasonIn(output)}`;
}

async function withoutIt(copy, defence, goal) {
  copy.apply({ ...defence, file: defence.file.startsWith("packages/") ? defence.file : `packages/${defence.file}` });
  const built = defence.built === true ? await run(copy.root, ["scripts/bundle-product.mjs"]) : { code: 0, output: "" };
  if (built.code !== 0) return { noticed: false, why: `the copy cannot be built: ${built.output.slice(-400)}` };
  const steps = stepsOf([defence]);
  const { code, output } = await run(copy.root, ["scorecard/run.mjs", goal, "--no-write", ...steps]);
  const bypass = BYPASS.exec(output)?.[0].trim();
  if (code !== 0 && bypass !== undefined) return { noticed: true, why: bypass };
  if (code === 0) return { noticed: false, why: "the goal is met all the same" };
  return { noticed: false, why: `no attack got through; the goal was missed otherwise: ${reasonIn(output)}` };
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
