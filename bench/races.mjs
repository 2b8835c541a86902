// `npm run bench -- races`: four attackers exchange files and folders while the product uses them; nothing may come from or
// go to what lies outside. Then the time of a read, against a plain one.
import { open } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median, pairedRatio } from "./measure/statistics.mjs";
import { arena } from "./races/arena.mjs";
import { inMemory } from "./races/in-memory.mjs";
import { productFiles } from "./races/product-files.mjs";
import { escapedBy, KINDS, underAttack } from "./races/under-attack.mjs";
import { checkThenOpen, product } from "./races/victims.mjs";

const USAGE = `npm run bench -- races [options]
  --operations N   under attack (1000000)     --control N   by the common method, which leaks (20000)
  --lookup NAME    linux or portable (what this system has)
  --folder DIR     where it happens (in memory where a tmpfs of its own can be had: there no write waits for a disk)
  --attackers a,b  of dir-swap,file-swap,hard-link,folder-move
`;
const TIME_LIMIT = 1.2;
const ROUNDS = 40;
const READS_A_ROUND = 500;

/** Returns the exit code: 0, 1 for an escape or too slow a read, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  if (options.folder === undefined) {
    const code = await inMemory((folder) => [process.argv[1], "races", ...argv, "--folder", folder]);
    if (code !== undefined) return code;
    console.log("no folder in memory is to be had here: writes wait for the disk");
  }
  const kit = await productFiles();
  const told = { ...options, tell: showProgress };
  const attacked = await underAttack((place) => product(kit, place, options.lookup), options.operations, told);
  show("product", attacked);
  const control = await underAttack(checkThenOpen, options.control, told);
  show("realpath, compare, open (for comparison)", control);
  const ratio = await timeRatio(kit, options);
  const held = attacked.escapes === 0 && attacked.damage.length === 0;
  if (attacked.done === 0) console.log("nothing was done at all: that shows nothing");
  return held && attacked.done > 0 && ratio <= TIME_LIMIT ? 0 : 1;
}

/** Both read the same small file whole, in turns, so that what the machine does meanwhile falls on both. */
async function timeRatio(kit, { lookup, folder }) {
  const place = arena(folder);
  const path = join(place.inside, "calm/file.txt");
  const victim = await product(kit, place, lookup);
  const [plain, guarded] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    plain.push(await microseconds(() => plainRead(path)));
    guarded.push(await microseconds(() => victim.read(path)));
  }
  victim.close();
  place.remove();
  const ratio = pairedRatio(guarded, plain);
  const times = `${median(guarded).toFixed(1)} us against ${median(plain).toFixed(1)} us for a plain open, stat, read, close`;
  console.log(`time of a read: ${times}: ${ratio.toFixed(2)} times (at most ${TIME_LIMIT})`);
  return ratio;
}

async function plainRead(path) {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.allocUnsafe(size), 0, size, 0);
    return new TextDecoder().decode(buffer);
  } finally {
    await file.close();
  }
}

async function microseconds(work) {
  const started = performance.now();
  for (let count = 0; count < READS_A_ROUND; count += 1) await work();
  return ((performance.now() - started) * 1_000) / READS_A_ROUND;
}

function showProgress({ operations, done, refused, escapes }) {
  process.stderr.write(`${done + refused} of ${operations} operations, ${escapes} escapes\n`);
}

function show(name, outcome) {
  const { operations, escapes, done, refused, damage: harm, seconds } = outcome;
  const shown = harm.length === 0 ? "nothing outside changed" : `OUTSIDE: ${harm.slice(0, 5).join(", ")}`;
  console.log(`${name}: ${operations} operations in ${seconds.toFixed(0)} s, ${done} done, ${refused} refused`);
  console.log(`  escapes: ${escapes === 0 ? 0 : escapedBy(outcome)}; ${shown}`);
}

function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        operations: { type: "string", default: "1000000" },
        control: { type: "string", default: "20000" },
        lookup: { type: "string" },
        folder: { type: "string" },
        attackers: { type: "string", default: KINDS.join(",") },
      },
    });
    const [operations, control] = [Number(values.operations), Number(values.control)];
    const kinds = values.attackers.split(",").filter((kind) => kind !== "");
    const known =
      kinds.every((kind) => KINDS.includes(kind)) && [undefined, "linux", "portable"].includes(values.lookup);
    if (Number.isInteger(operations) && Number.isInteger(control) && known) {
      return { operations, control, kinds, lookup: values.lookup, folder: values.folder };
    }
  } catch {
    // The usage says it all.
  }
  process.stderr.write(USAGE);
  return undefined;
}
