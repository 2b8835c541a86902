// What a start costs: bare, behind bubblewrap alone, behind our wall, and as a command a policy allows; by turns.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, realpathSync } from "node:fs";
import { quantile } from "../measure/statistics.mjs";
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

/** Prints a line a kind; whether every one that has to keep to the goal does. */
export async function starts(kit, wall, count) {
  const proxy = await kit.EgressProxy.open({ decide: () => ({ allowed: false, rule: "bench" }) });
  const kinds = kindsOf(kit, wall, { proxy, policy: await kit.parsePolicy(policyText(), { file: "bench.yaml" }) });
  const times = kinds.map(() => []);
  for (let turn = -WARM_UP; turn < count; turn += 1)
    for (const [index, { work }] of kinds.entries()) {
      const started = performance.now();
      await work();
      if (turn >= 0) times[index].push(performance.now() - started);
    }
  const cpu = await cpuTimes(kinds, Math.min(count, CPU_STARTS));
  await proxy.close();
  if (cpu === undefined) console.log("skipped: processor time (no control group can be made here)");
  return report(kinds, { times, cpu }, count);
}

function kindsOf({ startWalled, createRun }, wall, { proxy, policy }) {
  const ended = (child) => once(child, "exit");
  const command = { executable: PROGRAM, args: [], limits: LIMITS };
  const bwrap = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", PROGRAM];
  const run = createRun(() => policy);
  return [
    { name: "bare spawn", work: () => ended(spawn(PROGRAM, [], { stdio: SILENT, env: {} })) },
    { name: "bare bwrap", work: () => ended(spawn("/usr/bin/bwrap", bwrap, { stdio: SILENT, env: {} })) },
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
  console.log(`${"".padEnd(26)}   p10    p50    p95    p99   cpu   added p50    p95    p99   cpu`);
  let good = true;
  for (const [index, { name, judged }] of kinds.entries()) {
    const all = [0.1, 0.5, 0.95, 0.99].map((share) => shown(at(times[index], share))).join(" ");
    const added = [0.5, 0.95, 0.99].map((share) => at(times[index], share) - at(times[0], share));
    const missed = judged === true && added[1] > MOST_ADDED_MS;
    good &&= !missed;
    const used = cpu?.[index] ?? Number.NaN;
    const more = index === 0 ? "" : `     ${[...added, used - (cpu?.[0] ?? Number.NaN)].map(shown).join(" ")}`;
    console.log(`${name.padEnd(26)}${all}${shown(used)}${more}${missed ? `  over ${MOST_ADDED_MS} at p95` : ""}`);
  }
  return good;
}
