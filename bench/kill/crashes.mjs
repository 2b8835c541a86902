// Kills the product at random moments under load and asks `audit verify` each time whether the record still stands.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { startServer } from "../measure/raw-client.mjs";
import { callLines, checkAnswers } from "../stdio/requests.mjs";
import { countRecords, hasTornTail, sizeOf, tear } from "./log-damage.mjs";

const IN_FLIGHT = 64;
const CALLS_A_ROUND = 20_000;
/** Kills fall into this span after the first answer; every tenth one falls into the start instead. */
const LOAD_MS = 120;
const START_MS = 90;
const START_EVERY = 10;
/** The share of runs after which a record is begun and not finished, as when the power fails in a write. */
const TEAR_SHARE = 0.2;

/**
 * One life of the product: started on the log its predecessors left, loaded, killed, verified.
 * Returns what happened and `faults`, a sentence for each thing that should not have.
 */
export async function crash(server, { run, log }) {
  const tornBefore = hasTornTail(log);
  const sizeBefore = sizeOf(log);
  const life = await liveAndDie(server, run % START_EVERY === START_EVERY - 1);
  const tornByKill = hasTornTail(log);
  const tornByUs = !tornByKill && Math.random() < TEAR_SHARE && tear(log);
  const faults = [];
  const verdict = await verify(server);
  if (!verdict.passed && sizeOf(log) > 0) faults.push(`audit verify said: ${verdict.said}`);
  const records = countRecords(log, tornBefore ? 0 : sizeBefore);
  if (records["call.result"] < life.answers) {
    faults.push(`${life.answers} answers were read and ${records["call.result"]} results are on record`);
  }
  const restartedTorn = tornBefore && life.readyMs !== undefined;
  if (restartedTorn && !records["log.repaired"]) faults.push("the torn line was not noted as repaired");
  return { ...life, restartedTorn, tornByKill, tornByUs, faults };
}

/** Starts the server, loads it, kills it: somewhere in the start when `inStart`, else somewhere under load. */
async function liveAndDie(server, inStart) {
  const from = performance.now();
  const client = startServer(server);
  let readyMs;
  const ready = (async () => {
    await client.initialize();
    readyMs = performance.now() - from;
    checkAnswers(await client.pump(callLines(server.asks, 0, 1), 1), server.asks, { first: 0, count: 1 });
  })();
  const load = ready.then(async () => {
    for (;;) await client.pump(callLines(server.asks, 0, CALLS_A_ROUND), IN_FLIGHT);
  });
  load.catch(() => {}); // the kill ends it
  if (inStart) await Promise.race([delay(Math.random() * START_MS), ready]);
  else await ready.then(() => delay(Math.random() * LOAD_MS));
  if (client.child.exitCode !== null) throw new Error(`the server ended by itself${client.complaint()}`);
  client.child.kill("SIGKILL");
  await client.exited;
  return { readyMs, answers: client.answers };
}

/** Runs `audit verify`: exit code 0 is a yes. */
async function verify(server) {
  const child = spawn(process.execPath, server.verifyArgs, { env: server.env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  const [code] = await once(child, "close");
  return { passed: code === 0, said: said.trim() };
}
