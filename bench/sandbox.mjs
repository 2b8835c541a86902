// `npm run bench -- sandbox`: what the wall adds to a start, and whether anything stays after starts, stops and crashes.
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { rolldown } from "rolldown";
import { sourcesOf } from "./sandbox/base.mjs";
import { cycles } from "./sandbox/cycles.mjs";
import { starts } from "./sandbox/starts.mjs";

const USAGE = `npm run bench -- sandbox [options]
  --starts N   starts of each kind, by turns (300)     --cycles N   starts, stops and crashes (1000)
  --base C     the wall of commit C started by turns with this one; fails where ours costs over 1.3 times as much
`;
const DIST = fileURLToPath(new URL("dist/", import.meta.url));

/** Returns the exit code: 0, 1 when a goal is missed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  const kit = await load();
  const wall = await kit.findWall({ mode: "required" });
  const base = options.base === undefined ? undefined : await loadBase(options.base);
  const quick = options.starts === 0 || (await starts({ kit, wall, base }, options.starts));
  const left = await cycles(kit, wall, options.cycles);
  return quick && left === 0 ? 0 : 1;
}

/** The wall and what runs commands behind it as one file, since Node cannot run their sources. */
async function load(input = fileURLToPath(new URL("sandbox/product-parts.ts", import.meta.url)), name = "parts") {
  const build = await rolldown({ input, platform: "node", external: [/^[^./]/] });
  await build.write({ dir: `${DIST}sandbox/`, format: "esm", entryFileNames: `${name}.mjs` });
  await build.close();
  return await import(`${DIST}sandbox/${name}.mjs`);
}

async function loadBase(commit) {
  const folder = `${DIST}sandbox/base-sources`;
  try {
    const kit = await load(await sourcesOf(commit, folder), "base");
    return { kit, wall: await kit.findWall({ mode: "required" }) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readOptions(argv) {
  try {
    const text = { type: "string" };
    const { values } = parseArgs({
      args: argv,
      options: { starts: { ...text, default: "300" }, cycles: { ...text, default: "1000" }, base: text },
    });
    const [starts, cycles] = [Number(values.starts), Number(values.cycles)];
    if (Number.isInteger(starts) && Number.isInteger(cycles) && starts >= 0 && cycles >= 0)
      return { starts, cycles, base: values.base };
  } catch {
    // The usage says it all.
  }
  process.stderr.write(USAGE);
  return undefined;
}
