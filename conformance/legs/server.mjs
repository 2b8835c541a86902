// The server leg: the fixture over HTTP, once more with nothing but streams for answers, and its stdio twin behind a shim,
// each in both requirement sets; and the same fixture behind the gateway, over both transports.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { SETS, scenariosOf } from "../suite/requirement-sets.mjs";
import { runServerScenarios } from "../suite/run-scenarios.mjs";
import { judge } from "../suite/verdict.mjs";

/** Scenarios about HTTP itself: behind the shim they would test the shim. */
const ABOUT_HTTP = new Set([
  "server-stateless",
  "server-session-lifecycle",
  "server-sse-polling",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
  "http-header-validation",
  "http-custom-header-server-validation",
  "tasks-request-headers",
]);

const file = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** Each gives the URL it listens on as its first line. */
const TARGETS = [
  { name: "http", args: [file("server.mjs")], leavesOut: () => false },
  { name: "http-streams", args: [file("server.mjs"), "0", "sse"], leavesOut: () => false },
  {
    name: "stdio",
    args: [file("shim.mjs"), process.execPath, file("stdio.mjs")],
    leavesOut: (scenario) => ABOUT_HTTP.has(scenario),
  },
];
const GATEWAY_TARGETS = ["stdio", "http"].map((upstream) => ({
  name: `gateway-${upstream}`,
  args: [file("gateway.mjs"), upstream],
  leavesOut: () => false,
}));
const BALANCED_TARGETS = [3, 10].map((count) => ({
  name: `balanced-${count}`,
  args: [file("balanced.mjs"), String(count)],
  leavesOut: () => false,
}));

/**
 * Runs the leg, every target and set at the same time, each against a process of its own. Resolves to one result for each
 * scenario: `{ key, run, unscored, outcome, passed, faults }`.
 */
export function serverLeg(only) {
  return runAll(TARGETS, only);
}

/** The same with the fixture behind the gateway. */
export function gatewayLeg(only) {
  return runAll(GATEWAY_TARGETS, only);
}

/** The same with the fixture in several processes behind a balancer. One after the other: they are many processes. */
export async function balancedLeg(only) {
  const results = [];
  for (const target of BALANCED_TARGETS) results.push(...(await runAll([target], only)));
  return results;
}

async function runAll(targets, only) {
  const runs = targets.flatMap((target) => SETS.map((set) => runAgainst(target, set, only)));
  return (await Promise.all(runs)).flat();
}

async function runAgainst(target, set, only) {
  const run = `server ${target.name} ${set}`;
  const wanted = scenariosOf(set, "server").filter(
    ({ name }) => !target.leavesOut(name) && (only.length === 0 || only.includes(name)),
  );
  if (wanted.length === 0) return [];
  const child = spawn(process.execPath, target.args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const names = only.length === 0 ? [] : wanted.map(({ name }) => name);
    const { checks, output } = await runServerScenarios(await firstLine(child), set, names);
    if (process.env.CONFORMANCE_VERBOSE !== undefined) process.stderr.write(output);
    return wanted.map(({ name, unscored }) => ({
      key: `${run} ${name}`,
      run,
      unscored,
      ...judge(name, checks.get(name)),
    }));
  } finally {
    child.kill();
  }
}

/** A server that ends before it says where it listens is an error. */
async function firstLine(child) {
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${child.spawnargs.join(" ")} ended with ${code} before it listened`);
  });
  ended.catch(() => undefined);
  const [line] = await Promise.race([once(lines, "line"), ended]);
  return line;
}
