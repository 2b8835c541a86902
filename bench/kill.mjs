// `npm run bench -- kill`: no orphan when a parent is killed, no broken audit log when the product is.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { crash } from "./kill/crashes.mjs";
import { killParent, ORPHAN_MS, PARENT_STATES } from "./kill/orphans.mjs";
import { median, quantile } from "./measure/statistics.mjs";
import { allServers, stateEnvironment, temporaryState } from "./stdio/servers.mjs";

const USAGE = `npm run bench -- kill [options]
  --runs N        times the parent is killed (500)          --server ID   which server outlives it (command-policy)
  --states a,b    of ${PARENT_STATES.join(",")}
  --crashes N     times the product is killed (1000)        --parallel N  servers at a time (2)
`;
/** A log grows with every run and is verified whole after each: start a new one before that takes long. */
const CRASHES_A_LOG = 20;
const FAILURES_SHOWN = 5;
/** From restart to the answer of the handshake, repair included. */
const RESTART_LIMIT_MS = 1_000;

/** Returns the exit code: 0, 1 for an orphan or a log that does not verify, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  const { state, remove } = temporaryState();
  try {
    const orphansPassed = await orphans(state, options);
    const crashesPassed = await crashes(state, options);
    return orphansPassed && crashesPassed ? 0 : 1;
  } finally {
    remove();
  }
}

async function orphans(state, { runs, states, serverId, parallel }) {
  if (runs === 0) return true;
  const server = allServers(state).find(({ id }) => id === serverId);
  const outcomes = new Map(states.map((name) => [name, []]));
  const failures = [];
  await inParallel(runs, parallel, async (run) => {
    const name = states[run % states.length];
    try {
      outcomes.get(name).push(await killParent(server, name));
    } catch (error) {
      failures.push(`run ${run} (${name}): ${error.message}`);
    }
  });
  print(`\n## Parent killed, ${runs} runs, ${server.label}\n`);
  print(
    "| server was | runs | orphans after 1 s | exit ms p50 | p99 | longest |\n| --- | --: | --: | --: | --: | --: |",
  );
  let orphaned = 0;
  for (const [name, times] of outcomes) {
    const ended = times.filter((time) => time !== undefined);
    orphaned += times.length - ended.length;
    const cells = [0.5, 0.99, 1].map((share) => (ended.length === 0 ? "-" : quantile(ended, share).toFixed(1)));
    print(`| ${name} | ${times.length} | ${times.length - ended.length} | ${cells.join(" | ")} |`);
  }
  showFailures(failures);
  const passed = orphaned === 0 && failures.length === 0;
  print(`\n${passed ? "pass" : "MISSED"}: ${orphaned} orphans after ${ORPHAN_MS} ms, ${failures.length} runs failed`);
  return passed;
}

async function crashes(state, { crashCount, parallel }) {
  if (crashCount === 0) return true;
  const failures = [];
  const lives = [];
  const logs = Math.ceil(crashCount / CRASHES_A_LOG);
  await inParallel(logs, parallel, async (index) => {
    const { server, log } = auditedServer(join(state, `log${index}`));
    const count = Math.min(CRASHES_A_LOG, crashCount - index * CRASHES_A_LOG);
    for (let run = 0; run < count; run += 1) {
      try {
        const life = await crash(server, { run, log });
        lives.push(life);
        failures.push(...life.faults.map((fault) => `log ${index}, run ${run}: ${fault}`));
      } catch (error) {
        failures.push(`log ${index}, run ${run}: ${error.message}`);
        return; // a server that does not start would fail the other runs as well
      }
    }
  });
  print(`\n## mcp-secure-local killed under load, ${crashCount} runs, ${logs} logs\n`);
  const slowest = summarise(lives);
  showFailures(failures);
  const passed = failures.length === 0 && lives.length === crashCount && slowest < RESTART_LIMIT_MS;
  print(`\n${passed ? "pass" : "MISSED"}: ${failures.length} faults, ${lives.length} of ${crashCount} kills judged`);
  return passed;
}

/** Prints what the lives had in common; returns the longest start in milliseconds. */
function summarise(lives) {
  const count = (test) => lives.filter(test).length;
  const ready = lives.map(({ readyMs }) => readyMs).filter((time) => time !== undefined);
  if (ready.length === 0) return 0;
  const slowest = Math.max(0, ...ready);
  const answers = lives.reduce((total, life) => total + life.answers, 0);
  print(`- audit verify passed after ${count(({ faults }) => faults.length === 0)} of ${lives.length} kills`);
  print(`- ${answers.toLocaleString("en")} answers had been read; each needs its result on record`);
  print(
    `- torn last line: ${count(({ tornByKill }) => tornByKill)} left by the kill, ${count(({ tornByUs }) => tornByUs)} made by the bench`,
  );
  print(`- restarts on a torn log, each noted as repaired: ${count(({ restartedTorn }) => restartedTorn)}`);
  print(`- start to handshake, repair included: p50 ${median(ready).toFixed(0)} ms, longest ${slowest.toFixed(0)} ms`);
  return slowest;
}

/** The product with a home of its own, and where its policy puts the log. */
function auditedServer(home) {
  mkdirSync(home, { recursive: true });
  const command = allServers(home).find(({ id }) => id === "command-policy");
  const log = join(home, "audit", "audit.log");
  const [program, ...options] = command.args;
  return {
    server: { ...command, env: stateEnvironment(home), verifyArgs: [program, "audit", "verify", ...options] },
    log,
  };
}

/** Calls `work(0…count-1)`, `width` of them at a time. */
async function inParallel(count, width, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

function showFailures(failures) {
  for (const failure of failures.slice(0, FAILURES_SHOWN)) print(`- failed: ${failure}`);
  if (failures.length > FAILURES_SHOWN) print(`- and ${failures.length - FAILURES_SHOWN} more`);
}

function print(line) {
  process.stdout.write(`${line}\n`);
}

function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        runs: { type: "string", default: "500" },
        crashes: { type: "string", default: "1000" },
        server: { type: "string", default: "command-policy" },
        states: { type: "string", default: PARENT_STATES.join(",") },
        parallel: { type: "string", default: "2" },
      },
    });
    const states = values.states.split(",");
    const strange = states.find((name) => !PARENT_STATES.includes(name));
    if (strange !== undefined) throw new Error(`--states are of ${PARENT_STATES.join(", ")}, not ${strange}`);
    const numbers = [values.runs, values.crashes, values.parallel].map(Number);
    if (!numbers.every(Number.isInteger)) throw new Error("--runs, --crashes and --parallel want whole numbers");
    const [runs, crashCount, parallel] = numbers;
    return { runs, crashCount, parallel, states, serverId: values.server };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}
