// `npm run bench -- sandbox`: what the wall adds to a start, and whether anything stays after starts, stops and crashes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { rolldown } from "rolldown";
import { quantile } from "./measure/statistics.mjs";

const USAGE = `npm run bench -- sandbox [options]
  --starts N   bare and walled starts, by turns (300)     --cycles N   starts, stops and crashes (1000)
`;
/** The goal: a sandboxed call takes at most this much longer than a bare spawn, at the 95th percentile. */
const MOST_ADDED_MS = 15;
const SOURCES = fileURLToPath(new URL("../packages/secure-local/src/sandbox/", import.meta.url));
const DIST = fileURLToPath(new URL("dist/", import.meta.url));
const LIMITS = { processes: 64, memoryMb: 1_024, cpuSeconds: 60, fileMb: 64 };
const SILENT = ["ignore", "ignore", "ignore"];

/** Returns the exit code: 0, 1 when a goal is missed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  const kit = await load();
  const wall = await kit.findWall({ mode: "required" });
  const added = await overhead(kit, wall, options.starts);
  const left = await cycles(kit, wall, options.cycles);
  return added <= MOST_ADDED_MS && left === 0 ? 0 : 1;
}

/** The wall as one file, since Node cannot run its sources. */
async function load() {
  const entry = "virtual:wall";
  const text = `export { findWall } from ${JSON.stringify(join(SOURCES, "find-wall.ts"))};
export { startWalled, endWalled } from ${JSON.stringify(join(SOURCES, "start-walled.ts"))};`;
  const plugin = {
    name: "entry",
    resolveId: (id) => (id === entry ? id : undefined),
    load: (id) => (id === entry ? text : undefined),
  };
  const build = await rolldown({ input: entry, platform: "node", plugins: [plugin] });
  const file = join(DIST, "wall.mjs");
  await build.write({ file, format: "esm" });
  await build.close();
  return await import(file);
}

async function overhead({ startWalled }, wall, starts) {
  const [bare, walled] = [[], []];
  const command = { executable: "/usr/bin/true", args: [], limits: LIMITS };
  for (let turn = 0; turn < starts; turn += 1) {
    bare.push(await timed(() => spawn(command.executable, [], { stdio: SILENT, env: {} })));
    walled.push(await timed(() => startWalled(wall, command, SILENT)));
  }
  const p95 = [bare, walled].map((times) => quantile(times, 0.95));
  const p50 = [bare, walled].map((times) => quantile(times, 0.5));
  const added = p95[1] - p95[0];
  console.log(`${starts} starts of true: bare p50 ${p50[0].toFixed(1)} ms, p95 ${p95[0].toFixed(1)} ms`);
  console.log(`  walled p50 ${p50[1].toFixed(1)} ms, p95 ${p95[1].toFixed(1)} ms`);
  console.log(`  added at p95: ${added.toFixed(1)} ms (at most ${MOST_ADDED_MS})`);
  return added;
}

async function timed(start) {
  const started = performance.now();
  await once(start(), "exit");
  return performance.now() - started;
}

/** A third ends by itself, a third is ended at some moment of its start, a third when it runs; each leaves its session. */
async function cycles({ startWalled, endWalled }, wall, count) {
  const mark = `bench-cycle-${process.pid}`;
  const args = [
    "-c",
    `(setsid sh -c 'sleep 1000; : ${mark}' &); echo here; [ "$1" = crash ] && kill -9 $$; sleep 1000; : ${mark}`,
    "sh",
  ];
  let next = 0;
  const lane = async () => {
    for (let turn = next++; turn < count; turn = next++) {
      const kind = ["crash", "early", "late"][turn % 3];
      const child = startWalled(wall, { executable: "/bin/sh", args: [...args, kind], limits: LIMITS }, [
        "ignore",
        "pipe",
        "ignore",
      ]);
      const ended = once(child, "exit");
      if (kind === "early") await wait(turn % 17);
      if (kind === "late") await once(child.stdout, "data");
      if (kind !== "crash") endWalled(wall, child);
      await ended;
    }
  };
  await Promise.all(Array.from({ length: 4 }, lane));
  await wait(2_000);
  const left = processesWith(mark);
  console.log(`${count} starts, stops and crashes: ${left} processes left after 2 s`);
  return left;
}

function processesWith(mark) {
  const found = readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(mark)
      );
    } catch {
      return false;
    }
  });
  return found.length;
}

function readOptions(argv) {
  try {
    const text = { type: "string" };
    const { values } = parseArgs({
      args: argv,
      options: { starts: { ...text, default: "300" }, cycles: { ...text, default: "1000" } },
    });
    const [starts, cycles] = [Number(values.starts), Number(values.cycles)];
    if (Number.isInteger(starts) && Number.isInteger(cycles) && starts > 0) return { starts, cycles };
  } catch {
    // The usage says it all.
  }
  process.stderr.write(USAGE);
  return undefined;
}
