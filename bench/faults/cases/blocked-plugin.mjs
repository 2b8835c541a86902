// F13: a plugin that computes without a pause holds up nobody but whoever called it, and it is told that it hangs.
import { setTimeout as delay } from "node:timers/promises";
import { quantile } from "../../measure/statistics.mjs";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const TIMEOUT_S = 1;
const EXACT_MS = 100;
/** What one call of another tool may take while the machine has one core left. */
const OTHERS_P99_MS = 50;
/** A second of silence, and one without an answer to a ping. */
const REPORT_MS = 2_000;
const REPORT_SLACK_MS = 300;
const PLUGIN = `
import { definePlugin } from "mcp-secure-local/plugin";
export default definePlugin({ name: "busy", version: "1.0.0", tools: { block: { description: "Computes",
  annotations: { readOnlyHint: true }, input: { type: "object", properties: { ms: { type: "integer" } } },
  run: ({ ms }) => { const end = performance.now() + ms; while (performance.now() < end); return "done"; } },
  wait: { description: "Waits", annotations: { readOnlyHint: true }, run: () => new Promise(() => undefined) } } });
`;

export async function run({ full }) {
  const ms = full ? 5_000 : 2_500;
  const place = arena({ tools: ["calculate", "busy_*"], load: ["busy"], timeout: TIMEOUT_S });
  place.writePlugin("busy", { "plugin.mjs": PLUGIN });
  const client = startProduct(place);
  try {
    await client.initialize();
    await client.listed(["busy_block"]);
    const before = await others(client, 1_000);
    void client.call("busy_wait"); // slow, but its process gives signs of life
    await delay(REPORT_MS + REPORT_SLACK_MS);
    const falseAlarms = reports(client).length;
    const reported = reportOf(client);
    const blocked = client.call("busy_block", { ms });
    const during = await others(client, ms);
    const { text, ms: took } = await blocked;
    const again = await client.call("busy_block", { ms: 1 });
    const reportMs = await reported;
    await delay(REPORT_SLACK_MS);
    const states = place
      .records()
      .filter(({ kind }) => kind === "plugins.changed")
      .map(({ detail }) => detail.plugins[0].state)
      .slice(-2);
    const p99 = quantile(during.times, 0.99);
    return [
      {
        what: `a plugin computes for ${ms} ms without a pause`,
        measured: `${during.times.length} other calls, ${during.failed} failed, p99 ${p99.toFixed(1)} ms (before ${quantile(before.times, 0.99).toFixed(1)}), longest ${quantile(during.times, 1).toFixed(1)} ms; its caller was told after ${took.toFixed(0)} ms "${text}"; afterwards ${again.ok ? "it answers" : again.text}`,
        limit: `0 failed, p99 < ${OTHERS_P99_MS} ms, told at ${TIMEOUT_S} s +-${EXACT_MS} ms`,
        passed: during.failed === 0 && p99 < OTHERS_P99_MS && Math.abs(took - TIMEOUT_S * 1_000) < EXACT_MS && again.ok,
      },
      {
        what: "what is told of it meanwhile",
        measured: `the operator after ${reportMs?.toFixed(0) ?? "-"} ms: "${reports(client).join('", "')}"; in the log ${states.join(", ")}; ${falseAlarms} such reports while a call only waited`,
        limit: `after ${REPORT_MS} ms, then that it is well again; 0 false`,
        passed:
          Math.abs(reportMs - REPORT_MS) < REPORT_SLACK_MS &&
          reports(client).length === 2 &&
          states.join() === "unresponsive,ready" &&
          falseAlarms === 0,
      },
    ];
  } finally {
    await client.stop();
    place.remove();
  }
}

async function others(client, ms) {
  const outcome = { times: [], failed: 0 };
  for (const end = performance.now() + ms; performance.now() < end; await delay(5)) {
    const { ok, ms: took } = await client.call("calculate", { expression: "6 * 7" });
    outcome.times.push(took);
    if (!ok) outcome.failed += 1;
  }
  return outcome;
}

/** What the operator is told of the plugin's signs of life. */
function reports({ stderr }) {
  return stderr.split("\n").filter((line) => /plugin busy: .*signs? of life/.test(line));
}

/** Milliseconds from now until the first report; undefined when none comes. */
async function reportOf(client) {
  const from = performance.now();
  while (reports(client).length === 0) {
    if (performance.now() - from > 2 * REPORT_MS) return undefined;
    await delay(10);
  }
  return performance.now() - from;
}
