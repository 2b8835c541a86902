// F01: the bench `kill` as a fault: the product killed under load, its log verified after each kill, none of its children left.
import { setTimeout as delay } from "node:timers/promises";
import { main } from "../../kill.mjs";
import { processIdentity } from "../../measure/process-stats.mjs";
import { quantile } from "../../measure/statistics.mjs";
import { arena } from "../arena.mjs";
import { carriers, descendants, settle } from "../leftovers.mjs";
import { startProduct } from "../stdio-client.mjs";

const CHILDREN_MS = 2_000;
/** The kill falls somewhere into this span under load. */
const LOAD_MS = 120;
const CALLS_IN_FLIGHT = 16;
/** The sandbox, the plugin, its child; the sandbox and its command. */
const LEAST_CHILDREN = 5;
const CHILD_LIFE_S = 6_000;

/** Ignores its end, and starts what leaves its group and session and ignores it as well. */
const MAIN = `
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
process.on("SIGTERM", () => undefined);
setInterval(() => undefined, 1_000);
const script = "trap '' TERM HUP; while :; do sleep ${CHILD_LIFE_S}; done";
spawn("sh", ["-c", script], { detached: true, stdio: "ignore" });
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ id, content: "pong" }) + "\\n");
});
`;
const MANIFEST = `name: clings
version: "1.0.0"
run: [node, main.mjs]
persistent: true
tools:
  - { name: ping, description: Answers, input: { type: object } }
`;
const COMMANDS = `commands: { allowed: [{ name: nap, executable: /bin/sleep, arguments: [{ pattern: "[0-9.]+" }] }] }`;

export async function run({ full }) {
  const crashes = full ? 1_000 : 60;
  const code = await main(["--runs", "0", "--crashes", String(crashes)]);
  const killed = {
    what: `killed under load ${crashes} times (figures above)`,
    measured: code === 0 ? "every log verifies, every answer is on record" : "see above",
    limit: "the same",
    passed: code === 0,
  };
  return [killed, await withChildren(full ? 200 : 10)];
}

/** A plugin and a command are running while it is killed. */
async function withChildren(runs) {
  const place = arena({ tools: ["calculate", "clings_*", "run_command"], load: ["clings"], body: COMMANDS });
  place.writePlugin("clings", { "manifest.yaml": MANIFEST, "main.mjs": MAIN });
  const outcomes = [];
  try {
    for (let n = 0; n < runs; n += 1) outcomes.push(await killOnce(place, `${CHILD_LIFE_S}.${process.pid}${n}`));
  } finally {
    place.remove();
  }
  const left = outcomes.reduce((sum, outcome) => sum + outcome.left, 0);
  const children = Math.min(...outcomes.map((outcome) => outcome.children));
  const times = outcomes.map(({ ms }) => ms);
  const fewest = children < LEAST_CHILDREN ? `, fewer than the ${LEAST_CHILDREN} there should be` : "";
  return {
    what: `killed under load ${runs} times while a plugin that ignores SIGTERM, a child it has started and a command run`,
    measured: `${left} processes left after ${CHILDREN_MS / 1_000} s, of at least ${children} each time${fewest}; all gone after ${quantile(times, 0.5).toFixed(0)} ms at p50, ${quantile(times, 1).toFixed(0)} ms at most`,
    limit: "0 left",
    passed: left === 0 && children >= LEAST_CHILDREN,
  };
}

async function killOnce(place, seconds) {
  const client = startProduct(place);
  try {
    await client.initialize();
    await client.listed(["clings_ping"]);
    const ping = await client.call("clings_ping");
    if (!ping.ok) throw new Error(`the plugin did not answer: ${ping.text}`);
    void client.call("run_command", { command: "nap", arguments: [seconds] });
    for (const end = performance.now() + CHILDREN_MS; carriers(seconds).length === 0; await delay(2)) {
      if (performance.now() > end) throw new Error("the command did not start");
    }
    for (let n = 0; n < CALLS_IN_FLIGHT; n += 1) void calling(client);
    await delay(Math.random() * LOAD_MS);
    const children = descendants(client.pid);
    client.child.kill("SIGKILL");
    const known = () => children.filter(([pid, identity]) => processIdentity(pid) === identity).map(([pid]) => pid);
    const left = () => [...new Set([...known(), ...carriers(seconds, place.folder)])];
    await client.exited;
    return { ...(await settle(left, CHILDREN_MS)), children: children.length };
  } finally {
    client.child.kill("SIGKILL");
  }
}

async function calling(client) {
  while (!client.hasEnded) await client.call("calculate", { expression: "6 * 7" });
}
