// What a start costs: bare, behind bubblewrap alone, behind our wall, and as a command a policy allows; by turns.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, realpathSync } from "node:fs";
import { median, pairedRatio, quantile } from "../measure/statistics.mjs";
import { cpuTimes } from "./cpu-time.mjs";

/** The goal: at most this much longer than a bare spawn, at the 95th percentile. */
const MOST_ADDED_MS = 15;
const PROGRAM = realpathSync("/usr/bin/true");
const LIMITS = { processes: 64, memoryMb: 1_024, cpuSeconds: 60, fileMb: 64 };
/** Before whose look-ups a keeper stands. */
const FOLDER = realpathSync(new URL(".", import.meta.url));
const SILENT = ["ignore", "ignore", "ignore"];
/** Starts of each kind whose processor time is counted. */
const CPU_STARTS = 50;
/** Turns before those that count: files are read and programs loaded for the first time. */
const WARM_UP = 5;

/** A start costs at most this many times what it did at the base, in processor time. */
const MOST_TIMES_BASE = 1.3;

/** Prints a line a kind; whether every one that has to keep to the goal does. */
export async function starts({ kit, wall, base }, count) {
  const closing = [];
  const ours = await kindsOf(kit, wall, closing);
  const theirs = base === undefined ? [] : await kindsOf(base.kit, base.wall, closing);
  const kinds = [...plainKinds(), floor(kit, wall), ...ours, ...theirs.map((kind) => ({ ...kind, base: true }))];
  const times = kinds.map(() => []);
  for (let turn = -WARM_UP; turn < count; turn += 1)
    for (const [index, { work }] of kinds.entries()) {
      const started = performance.now();
      await work();
      if (turn >= 0) times[index].push(performance.now() - started);
    }
  const cpu = await cpuTimes(kinds, Math.min(count, CPU_STARTS));
  for (const close of closing) await close();
  if (cpu === undefined) console.log("skipped: processor time (no control group can be made here)");
  const quick = report(kinds, { times, cpu }, count);
  const cheap = base === undefined || cpu === undefined || compare(kinds, cpu);
  return quick && cheap;
}

const ended = (child) => once(child, "exit");

function plainKinds() {
  const bwrap = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", PROGRAM];
  return [
    { name: "bare spawn", work: () => ended(spawn(PROGRAM, [], { stdio: SILENT, env: {} })) },
    { name: "bare bwrap", work: () => ended(spawn("/usr/bin/bwrap", bwrap, { stdio: SILENT, env: {} })) },
  ];
}

/** Bubblewrap with our namespaces, mounts and filter, and nothing of ours inside: what no first program could be cheaper than. */
function floor({ startWalled }, wall) {
  const alone = {
    name: wall.name,
    launch(command) {
      const launch = wall.launch(command);
      return { ...launch, args: [...launch.args.slice(0, launch.args.indexOf("--") + 1), PROGRAM] };
    },
  };
  const reach = [{ path: FOLDER, access: "write" }];
  const command = { executable: PROGRAM, args: [], limits: LIMITS, reach };
  return { name: "bwrap with our mounts", work: () => ended(startWalled(alone, command, SILENT)) };
}

async function kindsOf(kit, wall, closing) {
  const { startWalled, createRun } = kit;
  const proxy = await kit.EgressProxy.open({ decide: () => ({ allowed: false, rule: "bench" }) });
  closing.push(() => proxy.close());
  const policy = await kit.parsePolicy(policyText(), { file: "bench.yaml" });
  const command = { executable: PROGRAM, args: [], limits: LIMITS };
  const run = createRun(() => policy);
  return [
    { name: "walled, no network", judged: true, work: () => ended(startWalled(wall, command, SILENT)) },
    {
      name: "walled, network",
      judged: true,
      work: () => ended(startWalled(wall, { ...command, egress: proxy.socket }, SILENT)),
    },
    { name: "a command of the policy", judged: true, work: () => run("plain", []) },
    { name: "… with a hash", judged: true, work: () => run("hashed", []) },
    { name: "… with network", work: () => run("connected", []) },
    { name: "… in a folder", work: () => run("working", []) },
  ];
}

function policyText() {
  const sha256 = createHash("sha256").update(readFileSync(PROGRAM)).digest("hex");
  return `version: "1.0"
network: { allowed_endpoints: [{ host: example.com }] }
filesystem: { allowed_paths: ["${FOLDER}/**"] }
commands:
  allowed:
    - { name: plain, executable: ${PROGRAM} }
    - { name: hashed, executable: ${PROGRAM}, sha256: ${sha256} }
    - { name: working, executable: ${PROGRAM}, working_directory: "${FOLDER}" }
    - { name: connected, executable: ${PROGRAM}, network: { allowed_endpoints: [{ host: example.com }] } }
`;
}

function report(kinds, { times, cpu }, count) {
  const at = (values, share) => quantile(values, share);
  const shown = (ms) => ms.toFixed(1).padStart(6);
  console.log(`${count} starts of each kind, by turns, in ms; added: to the same quantile of the bare spawn`);
  console.log(`${"".padEnd(32)}   p10    p50    p95    p99   cpu   added p50    p95    p99   cpu`);
  let good = true;
  for (const [index, { name, judged, base }] of kinds.entries()) {
    const all = [0.1, 0.5, 0.95, 0.99].map((share) => shown(at(times[index], share))).join(" ");
    const added = [0.5, 0.95, 0.99].map((share) => at(times[index], share) - at(times[0], share));
    const missed = judged === true && base !== true && added[1] > MOST_ADDED_MS;
    good &&= !missed;
    const used = median(cpu?.[index] ?? []);
    const more = index === 0 ? "" : `     ${[...added, used - median(cpu?.[0] ?? [])].map(shown).join(" ")}`;
    console.log(
      `${(base ? `base: ${name}` : name).padEnd(32)}${all}${shown(used)}${more}${missed ? `  over ${MOST_ADDED_MS} at p95` : ""}`,
    );
  }
  return good;
}

/** Round by round, as they took turns: the machine's other work is the same for both. */
function compare(kinds, cpu) {
  let good = true;
  console.log("processor time of a start, as many times that of the same start at the base");
  for (const [index, { name, base }] of kinds.entries()) {
    const before = base ? -1 : kinds.findIndex((kind) => kind.base && kind.name === name);
    if (before < 0) continue;
    const times = pairedRatio(cpu[index], cpu[before]);
    const missed = times > MOST_TIMES_BASE;
    good &&= !missed;
    console.log(`${name.padEnd(32)}${times.toFixed(2).padStart(6)}${missed ? `  over ${MOST_TIMES_BASE}` : ""}`);
  }
  return good;
}
