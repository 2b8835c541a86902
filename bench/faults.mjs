// `npm run bench -- faults [F03 …] [--full]`: lets go wrong what goes wrong on real machines, and looks what is left.
import { parseArgs } from "node:util";
import { cell, table } from "./measure/markdown.mjs";

const USAGE = "npm run bench -- faults [F02 F03 …] [--full]\n";

/** Each module exports `run({ full })`, which resolves to rows of the report, `skipped` ones among them. */
const CASES = {
  F01: () => import("./faults/cases/killed-server.mjs"),
  F02: () => import("./faults/cases/torn-files.mjs"),
  F03: () => import("./faults/cases/failing-disk.mjs"),
  F04: () => import("./faults/cases/full-disk.mjs"),
  F10: () => import("./faults/cases/endless-line.mjs"),
  F11: () => import("./faults/cases/no-descriptors.mjs"),
  F12: () => import("./faults/cases/no-memory.mjs"),
  F13: () => import("./faults/cases/blocked-plugin.mjs"),
  F14: () => import("./faults/cases/jumping-clock.mjs"),
  F15: () => import("./faults/cases/crash-loop.mjs"),
  F16: () => import("./faults/cases/silent-plugin.mjs"),
  F17: () => import("./faults/cases/flooding-plugin.mjs"),
  F18: () => import("./faults/cases/garbled-plugin.mjs"),
  F24: () => import("./faults/cases/many-reloads.mjs"),
  F26: () => import("./faults/cases/dead-parent.mjs"),
  F27: () => import("./faults/cases/lost-approval.mjs"),
};

/** Returns the exit code: 0, 1 when something did not hold, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  process.stdout.write(`${table(["fault", "what", "measured", "wanted", "verdict"], [])}\n`);
  let passed = true;
  for (const name of options.names) {
    for (const { what, measured, limit = "", ...row } of await outcome(name, options)) {
      const verdict = row.skipped ? "skipped" : row.passed ? "pass" : "MISSED";
      passed &&= verdict !== "MISSED";
      process.stdout.write(`| ${name} | ${what} | ${measured} | ${limit} | ${verdict} |\n`);
    }
  }
  return passed ? 0 : 1;
}

async function outcome(name, { full }) {
  try {
    return await (await CASES[name]()).run({ full });
  } catch (error) {
    return [{ what: "the case itself", measured: `failed: ${cell(error.stack ?? String(error))}`, passed: false }];
  }
}

function readOptions(argv) {
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { full: { type: "boolean", default: false }, quick: { type: "boolean" } },
    });
    const names = positionals.length === 0 ? Object.keys(CASES) : positionals;
    const unknown = names.find((name) => !Object.hasOwn(CASES, name));
    if (unknown !== undefined) throw new Error(`no fault ${unknown}: there are ${Object.keys(CASES).join(", ")}`);
    return { names, full: values.full };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}
