// `npm run bench -- memory`: a client that does not read must not grow the server, and a million calls must leave nothing behind.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { manyCalls } from "./memory/many-calls.mjs";
import { SCENARIOS, stalledClient } from "./memory/stalled-client.mjs";

const USAGE = `npm run bench -- memory [--server library|naive] [--megabytes 300] [--calls 1000000] [--warm-up 100000]
`;
const MB = 2 ** 20;
const STALLED_LIMIT = 32 * MB;
const HEAP_LIMIT = MB;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const SERVERS = {
  library: { args: [here("memory/library-server.mjs")] },
  naive: { args: [here("memory/naive-server.mjs")] },
};

/** Returns the exit code: 0, 1 when something grew or failed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  const { server, megabytes, calls, warmUp } = options;
  process.stdout.write("| what | measured | at most | verdict |\n| --- | --: | --: | --- |\n");
  const verdicts = [];
  for (const scenario of Object.values(SCENARIOS)) {
    const what = `growth while the client does not read ${megabytes} ${scenario.title}`;
    verdicts.push(
      await row(what, STALLED_LIMIT, async () => {
        const { before, stalled, drained, drainMs } = await stalledClient(server, scenario, megabytes);
        const note = `from ${mb(before)}; all exact, read in ${Math.round(drainMs)} ms, peak growth by then ${mb(drained)}`;
        return { measured: stalled, note };
      }),
    );
  }
  verdicts.push(
    await row(`heap growth over ${calls.toLocaleString("en")} calls`, HEAP_LIMIT, async () => {
      const { before, after } = await manyCalls(server, { warmUp, calls: calls - warmUp });
      return {
        measured: after - before,
        note: `${mb(before)} after ${warmUp.toLocaleString("en")} calls, ${mb(after)} at the end`,
      };
    }),
  );
  return verdicts.every(Boolean) ? 0 : 1;
}

async function row(what, limit, measure) {
  try {
    const { measured, note } = await measure();
    const passed = measured < limit;
    process.stdout.write(`| ${what} | ${mb(measured)} | ${mb(limit)} | ${passed ? "pass" : "MISSED"} (${note}) |\n`);
    return passed;
  } catch (error) {
    process.stdout.write(`| ${what} | - | ${mb(limit)} | failed: ${error.message} |\n`);
    return false;
  }
}

function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        server: { type: "string", default: "library" },
        megabytes: { type: "string", default: "300" },
        calls: { type: "string", default: "1000000" },
        "warm-up": { type: "string", default: "100000" },
      },
    });
    const server = SERVERS[values.server];
    if (server === undefined)
      throw new Error(`--server is one of ${Object.keys(SERVERS).join(", ")}, not ${values.server}`);
    return {
      server,
      megabytes: Number(values.megabytes),
      calls: Number(values.calls),
      warmUp: Math.min(Number(values["warm-up"]), Number(values.calls) / 2),
    };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}

function mb(bytes) {
  return `${(bytes / MB).toFixed(2)} MB`;
}
