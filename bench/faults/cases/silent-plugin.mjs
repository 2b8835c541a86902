// F16: plugins that hang while they start, never answer, and do not listen when they are told to end.
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { quantile } from "../../measure/statistics.mjs";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const CLOCK = fileURLToPath(new URL("../scaled-clock.mjs", import.meta.url));
const START_S = 10;
const TIMEOUT_S = 0.5;
const EXACT_MS = 100;
const EXIT_MS = 1_000;
const HANGING = `setInterval(() => undefined, 1000); await new Promise(() => undefined);`;
const DEAF = `
import { definePlugin } from "mcp-secure-local/plugin";
process.on("SIGTERM", () => undefined);
process.exit = () => undefined;
setInterval(() => undefined, 1000);
export default definePlugin({ name: "deaf", version: "1.0.0", tools: {
  never: { description: "Never answers", annotations: { readOnlyHint: true }, run: () => new Promise(() => undefined) },
  ping: { description: "Answers", annotations: { readOnlyHint: true }, run: () => "pong" } } });
`;

export async function run({ full }) {
  return [await hangsAtStart(full ? 1 : 10), ...(await neverAnswers(full ? 40 : 10))];
}

async function hangsAtStart(factor) {
  const place = arena({ tools: ["calculate", "hangs_*"], load: ["hangs"] });
  place.writePlugin("hangs", { "plugin.mjs": HANGING });
  const client = startProduct(place, { node: ["--import", CLOCK], env: { FAULTS_CLOCK: String(factor) } });
  try {
    await client.initialize();
    const from = Date.now();
    const { ok } = await client.call("calculate", { expression: "1+1" });
    const end = await ended(place, "hangs", (3 * START_S * 1_000) / factor);
    const seconds = end === undefined ? undefined : ((end - from) * factor) / 1_000;
    // The start itself is no timer: it takes as long however fast the clock is.
    const slack = 1 + 0.3 * factor;
    return {
      what: `a plugin hangs while it starts (clock at ${factor} times its speed)`,
      measured: `given up after ${seconds?.toFixed(1) ?? "-"} s; calls meanwhile ${ok ? "served" : "not served"}`,
      limit: `${START_S} s, others served`,
      passed: ok && seconds >= START_S - 0.5 && seconds < START_S + slack,
    };
  } finally {
    await client.stop();
    place.remove();
  }
}

async function neverAnswers(calls) {
  const place = arena({ tools: ["deaf_*"], load: ["deaf"], timeout: TIMEOUT_S });
  place.writePlugin("deaf", { "plugin.mjs": DEAF });
  const client = startProduct(place);
  try {
    await client.initialize();
    await client.listed(["deaf_never"]);
    const waits = await Promise.all(Array.from({ length: calls }, () => client.call("deaf_never")));
    const off = waits.map(({ ms }) => ms - TIMEOUT_S * 1_000);
    const after = await client.call("deaf_ping");
    const from = performance.now();
    const how = await client.stop();
    const exitMs = performance.now() - from;
    return [
      {
        what: `a plugin never answers, ${calls} calls`,
        measured: `told ${quantile(off, 0).toFixed(0)} to ${quantile(off, 1).toFixed(0)} ms after the timeout; next call ${after.ok ? "answered" : after.text}`,
        limit: `+-${EXACT_MS} ms`,
        passed:
          waits.every(({ ok, text }) => !ok && /timed out/.test(text)) &&
          off.every((ms) => Math.abs(ms) <= EXACT_MS) &&
          after.ok,
      },
      {
        what: "a plugin that ignores the end of its input and SIGTERM, when the server stops",
        measured: `server gone after ${exitMs.toFixed(0)} ms, exit ${how}`,
        limit: `< ${EXIT_MS} ms, exit 0`,
        passed: how === 0 && exitMs < EXIT_MS,
      },
    ];
  } finally {
    client.child.kill("SIGKILL");
    place.remove();
  }
}

/** When the audit log first said that the plugin had ended. */
async function ended(place, name, limitMs) {
  for (const end = performance.now() + limitMs; performance.now() < end; await delay(20)) {
    for (const { kind, time, detail } of place.records()) {
      const state = kind === "plugins.changed" && detail.plugins.find((plugin) => plugin.name === name)?.state;
      if (state === "waiting" || state === "broken") return Date.parse(time);
    }
  }
  return undefined;
}
