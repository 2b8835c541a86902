// F13: a plugin that computes without a pause holds up nobody but whoever called it.
import { setTimeout as delay } from "node:timers/promises";
import { quantile } from "../../measure/statistics.mjs";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const TIMEOUT_S = 1;
const EXACT_MS = 100;
/** What one call of another tool may take while the machine has one core left. */
const OTHERS_P99_MS = 50;
const PLUGIN = `
import { definePlugin } from "mcp-secure-local/plugin";
export default definePlugin({ name: "busy", version: "1.0.0", tools: { block: { description: "Computes",
  annotations: { readOnlyHint: true }, input: { type: "object", properties: { ms: { type: "integer" } } },
  run: ({ ms }) => { const end = performance.now() + ms; while (performance.now() < end); return "done"; } } } });
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
    const blocked = client.call("busy_block", { ms });
    const during = await others(client, ms);
    const { text, ms: took } = await blocked;
    const again = await client.call("busy_block", { ms: 1 });
    const p99 = quantile(during.times, 0.99);
    return [
      {
        what: `a plugin computes for ${ms} ms without a pause`,
        measured: `${during.times.length} other calls, ${during.failed} failed, p99 ${p99.toFixed(1)} ms (before ${quantile(before.times, 0.99).toFixed(1)}), longest ${quantile(during.times, 1).toFixed(1)} ms; its caller was told after ${took.toFixed(0)} ms "${text}"; afterwards ${again.ok ? "it answers" : again.text}`,
        limit: `0 failed, p99 < ${OTHERS_P99_MS} ms, told at ${TIMEOUT_S} s +-${EXACT_MS} ms`,
        passed: during.failed === 0 && p99 < OTHERS_P99_MS && Math.abs(took - TIMEOUT_S * 1_000) < EXACT_MS && again.ok,
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
