// `--prove`: takes each defence that a goal names out of a copy of the repository, and tells whether the goal then fails.
// A goal that passes without its defence proves nothing.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { ChangedCopy } from "../../scripts/lib/changed-copy.mjs";

/** Longest for building the copy and running one goal in it. */
const TIME_LIMIT_MS = 400_000;
/** What the run prints of a goal that was missed, and of why. */
const MISS = /^MISS .*$/m;
const REASON = /^ +(bypass|side effect|not held|refused): .*$/m;

/** How many of the defences of these goals were missed by their goal; prints a line each. */
export async function prove(files) {
  const copy = new ChangedCopy();
  let unnoticed = 0;
  let count = 0;
  try {
    for (const file of files) {
      const { goal, defences = [] } = await import(pathToFileURL(file).href);
      for (const defence of defences) {
        count += 1;
        const said = await withoutIt(copy, defence, basename(file).slice(0, 3));
        if (!said.noticed) unnoticed += 1;
        console.log(`${said.noticed ? "ok  " : "MISS"} ${goal.id.padEnd(7)} without ${defence.name}: ${said.why}`);
      }
    }
  } finally {
    copy.remove();
  }
  console.log(`${count} defences taken out, ${unnoticed} not noticed`);
  return unnoticed;
}

async function withoutIt(copy, defence, goal) {
  copy.apply({ ...defence, file: defence.file.startsWith("packages/") ? defence.file : `packages/${defence.file}` });
  const built = defence.built === true ? await run(copy.root, ["scripts/bundle-product.mjs"]) : { code: 0, output: "" };
  if (built.code !== 0) return { noticed: false, why: `the copy cannot be built: ${built.output.slice(-400)}` };
  const { code, output } = await run(copy.root, ["scorecard/run.mjs", goal, "--no-write"]);
  const miss = MISS.exec(output);
  const reason = REASON.exec(output)?.[0].trim();
  if (code !== 0 && miss !== null) return { noticed: true, why: reason ?? "the goal was missed" };
  if (code === 0) return { noticed: false, why: "the goal is met all the same" };
  return { noticed: false, why: `the goal did not run: ${output.slice(-400)}` };
}

async function run(cwd, args) {
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "pipe"], timeout: TIME_LIMIT_MS });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const [code] = await once(child, "close");
  return { code, output };
}
