// `npm run bench -- cycles`: a thousand connections to servers over stdio, opened and closed, must leave nothing behind.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const USAGE = `npm run bench -- cycles [--cycles 1000] [--warm-up 100] [--grandchildren 100]
`;
const MB = 2 ** 20;
const HEAP_LIMIT = 2 * MB;
const worker = fileURLToPath(new URL("cycles/worker.mjs", import.meta.url));

/** Returns the exit code: 0, 1 when something is left, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  if (process.platform !== "linux") {
    process.stdout.write("skipped: what a process holds is read from /proc, which only Linux has\n");
    return 0;
  }
  const { cycles, warmUp, grandchildren } = options;
  process.stdout.write("| what | measured | at most | verdict |\n| --- | --: | --: | --- |\n");
  const plain = await run(`${cycles} cycles`, { cycles, warmUp, grandchild: false });
  const left = await run(`${grandchildren} cycles, each server leaving a process in its own session`, {
    cycles: grandchildren,
    warmUp: Math.ceil(grandchildren / 5),
    grandchild: true,
  });
  return plain && left ? 0 : 1;
}

async function run(title, { cycles, warmUp, grandchild }) {
  if (cycles === 0) return true;
  // The library adds its own marks to the one it was started with: so all that stems from this run is found.
  const CYCLES_MARK = randomBytes(8).toString("hex");
  const env = { ...process.env, CYCLES_MARK, MCP_SECURE_LOCAL_TREE: CYCLES_MARK };
  const args = ["--expose-gc", worker, cycles, warmUp, grandchild ? 1 : 0].map(String);
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk) => (text += chunk));
  const [code] = await once(child, "close");
  if (code !== 0) {
    process.stdout.write(`| ${title} | - | - | failed: status ${code} |\n`);
    return false;
  }
  return report(title, cycles, JSON.parse(text));
}

function report(title, cycles, { name, seconds, before, after }) {
  const pace = `${((seconds * 1_000) / cycles).toFixed(1)} ms each: ${name}`;
  const rows = [["heap growth", after.heap - before.heap, HEAP_LIMIT, mb, `${mb(before.heap)} before; ${pace}`]];
  for (const what of ["processes", "descriptors", "timers", "resources", "listeners"]) {
    rows.push([`${what} left`, after[what] - before[what], 0, String, `${before[what]} before`]);
  }
  for (const [what, measured, limit, show, note] of rows) {
    const verdict = measured <= limit ? "pass" : "MISSED";
    process.stdout.write(`| ${what} after ${title} | ${show(measured)} | ${show(limit)} | ${verdict} (${note}) |\n`);
  }
  return rows.every(([, measured, limit]) => measured <= limit);
}

function mb(bytes) {
  return `${(bytes / MB).toFixed(2)} MB`;
}

function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        cycles: { type: "string", default: "1000" },
        "warm-up": { type: "string", default: "100" },
        grandchildren: { type: "string", default: "100" },
      },
    });
    const options = [values.cycles, values["warm-up"], values.grandchildren].map(Number);
    if (options.some((count) => !Number.isSafeInteger(count) || count < 0))
      throw new Error("a count is a whole number");
    const [cycles, warmUp, grandchildren] = options;
    return { cycles, warmUp, grandchildren };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}
