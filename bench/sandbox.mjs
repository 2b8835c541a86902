// `npm run bench -- sandbox`: what the wall adds to a start, and whether anything stays after starts, stops and crashes.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { rolldown } from "rolldown";
import { cycles } from "./sandbox/cycles.mjs";
import { starts } from "./sandbox/starts.mjs";

const USAGE = `npm run bench -- sandbox [options]
  --starts N   starts of each kind, by turns (300)     --cycles N   starts, stops and crashes (1000)
`;
const DIST = fileURLToPath(new URL("dist/", import.meta.url));

/** Returns the exit code: 0, 1 when a goal is missed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  const kit = await load();
  const wall = await kit.findWall({ mode: "required" });
  const quick = options.starts === 0 || (await starts(kit, wall, options.starts));
  const left = await cycles(kit, wall, options.cycles);
  return quick && left === 0 ? 0 : 1;
}

/** The wall and what runs commands behind it as one file, since Node cannot run their sources. */
async function load() {
  const input = fileURLToPath(new URL("sandbox/product-parts.ts", import.meta.url));
  const build = await rolldown({ input, platform: "node", external: [/^[^./]/] });
  await build.write({ dir: `${DIST}sandbox/`, format: "esm", entryFileNames: "parts.mjs" });
  await build.close();
  return await import(`${DIST}sandbox/parts.mjs`);
}

function readOptions(argv) {
  try {
    const text = { type: "string" };
    const { values } = parseArgs({
      args: argv,
      options: { starts: { ...text, default: "300" }, cycles: { ...text, default: "1000" } },
    });
    const [starts, cycles] = [Number(values.starts), Number(values.cycles)];
    if (Number.isInteger(starts) && Number.isInteger(cycles) && starts >= 0 && cycles >= 0) return { starts, cycles };
  } catch {
    // The usage says it all.
  }
  process.stderr.write(USAGE);
  return undefined;
}
