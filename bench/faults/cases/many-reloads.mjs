// F24: policies come and go while calls run. Each decision is by exactly one version, which the log names, and a file with faults changes nothing.
import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const PER_SECOND = 500;
const TICK_MS = 10;
/** Every so many versions have a fault. */
const BAD_EVERY = 10;
const LABEL_DIGITS = 12;
const TOOLS = ["calculate", "get_timestamp"];
const RELOAD_MS = 5_000;
const PACE_MS = 20;

export async function run({ full }) {
  const reloads = full ? 1_000 : 150;
  const place = arena({ tools: TOOLS });
  const versions = new Map();
  install(place, versions, 0);
  const client = startProduct(place);
  const load = { running: true };
  try {
    await client.initialize();
    const from = performance.now();
    const calls = keepCalling(client, load);
    let bad = 0;
    for (let n = 1; n <= reloads; n += 1) {
      bad += (await reloadOnce(client, place, versions, n)) ? 0 : 1;
      // Each version is to see some calls, and some are to follow each other at once.
      if (n % 4 !== 0) await delay(PACE_MS);
    }
    load.running = false;
    const outcomes = await calls;
    const seconds = (performance.now() - from) / 1_000;
    await client.stop();
    return [report({ place, versions, outcomes, seconds, reloads, bad })];
  } finally {
    client.child.kill("SIGKILL");
    place.remove();
  }
}

/** Writes a version: an even one allows the first tool, an odd one the second. Every so many cannot be used. */
function install(place, versions, n) {
  const allowed = TOOLS[n % TOOLS.length];
  const isBad = n > 0 && n % BAD_EVERY === 0;
  const text = `# version ${n}\n${place.policyText({ tools: [allowed] })}${isBad ? "nonsense: here\n" : ""}`;
  versions.set(createHash("sha256").update(text).digest("hex").slice(0, LABEL_DIGITS), { n, allowed, isBad });
  writeFileSync(`${place.policy}.new`, text, { mode: 0o600 });
  renameSync(`${place.policy}.new`, place.policy);
  return isBad;
}

/** Resolves with whether the version came into force, once the server has said so. */
async function reloadOnce(client, place, versions, n) {
  client.stderr = "";
  install(place, versions, n);
  client.child.kill("SIGHUP");
  for (const end = performance.now() + RELOAD_MS; performance.now() < end; await delay(1)) {
    if (client.stderr.includes("SIGHUP: the policy before stays in force")) return false;
    if (client.stderr.includes("SIGHUP:") && client.stderr.includes("is in force")) return true;
  }
  throw new Error(`version ${n} was not answered: ${client.stderr.slice(-200)}`);
}

/** Resolves with what came of every call, once no more are wanted. */
async function keepCalling(client, load) {
  const outcomes = [];
  const from = performance.now();
  while (load.running) {
    const due = Math.floor(((performance.now() - from) / 1_000) * PER_SECOND);
    while (outcomes.length < due) {
      const number = outcomes.length;
      const id = `call-${number}`;
      const tool = TOOLS[number % TOOLS.length];
      const given = tool === "calculate" ? { expression: "6 * 7" } : {};
      outcomes.push(client.call(tool, given, { id }).then((outcome) => ({ ...outcome, id, tool })));
    }
    await delay(TICK_MS);
  }
  return Promise.all(outcomes);
}

function report({ place, versions, outcomes, seconds, reloads, bad }) {
  const records = place.records();
  const wrong = [];
  const decided = new Map();
  for (const { kind, id, tool, policy } of records) {
    if (!String(id).startsWith("call-")) continue;
    const version = versions.get(policy);
    if (version === undefined || version.isBad) wrong.push(`${id}: decided by ${policy}, which never was in force`);
    else if (kind === "call.intent" && version.allowed !== tool)
      wrong.push(`${id}: ${tool} allowed by version ${version.n}`);
    else if (kind === "denied" && version.allowed === tool) wrong.push(`${id}: ${tool} denied by version ${version.n}`);
    decided.set(id, [...(decided.get(id) ?? []), { kind, policy }]);
  }
  for (const { id, ok, text } of outcomes) {
    const made = decided.get(id) ?? [];
    const kinds = made.map(({ kind }) => kind).join("+");
    if (new Set(made.map(({ policy }) => policy)).size !== 1)
      wrong.push(`${id}: ${made.length} records of several versions`);
    else if (kinds !== (ok ? "call.intent+call.result" : "denied"))
      wrong.push(`${id}: ${kinds} and yet "${text.slice(0, 60)}"`);
  }
  const used = new Set([...decided.values()].flat().map(({ policy }) => policy)).size;
  const inForce = records.filter(({ kind }) => kind === "policy.loaded").length;
  const rejected = records.filter(({ kind }) => kind === "policy.rejected").length;
  const fault = place.auditFault();
  const rate = outcomes.length / seconds;
  for (const each of wrong.slice(0, 5)) process.stderr.write(`  ${each}\n`);
  return {
    what: `${reloads} reloads, ${bad} of files with faults, at ${PER_SECOND} calls a second`,
    measured: `${outcomes.length} calls (${rate.toFixed(0)}/s) decided by ${used} versions, ${wrong.length} wrongly or by more than one; ${inForce} came into force, ${rejected} were refused; ${fault ?? "audit verifies"}`,
    limit: "each by exactly one version, bad ones by none",
    passed:
      wrong.length === 0 &&
      rejected === bad &&
      inForce === reloads - bad &&
      rate > PER_SECOND * 0.9 &&
      fault === undefined &&
      used > reloads / 10,
  };
}
