// F15: a plugin that ends as soon as it is started is started again less and less often, then left alone for a minute.
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const CLOCK = fileURLToPath(new URL("../scaled-clock.mjs", import.meta.url));
const MINUTES = 5;
const MOST_STARTS = 12;
/** Real time runs at least so fast that a start, which is no timer, does not look like a pause. */
const FACTOR = { short: 20, full: 5 };
const CRASHING = `process.exitCode = 1; setTimeout(() => process.exit(1), 10); await new Promise(() => undefined);`;
const SOUND = `
import { definePlugin } from "mcp-secure-local/plugin";
export default definePlugin({ name: "sound", version: "1.0.0",
  tools: { ping: { description: "Answers", annotations: { readOnlyHint: true }, run: () => "pong" } } });
`;

export async function run({ full }) {
  const factor = full ? FACTOR.full : FACTOR.short;
  const place = arena({ tools: ["calculate", "falls_*", "sound_*"], load: ["falls", "sound"] });
  place.writePlugin("falls", { "plugin.mjs": CRASHING });
  place.writePlugin("sound", { "plugin.mjs": SOUND });
  const client = startProduct(place, { node: ["--import", CLOCK], env: { FAULTS_CLOCK: String(factor) } });
  try {
    await client.initialize();
    await client.listed(["sound_ping"]);
    let [others, failed] = [0, 0];
    for (const end = performance.now() + (MINUTES * 60_000) / factor; performance.now() < end; await delay(50)) {
      const outcomes = await Promise.all([client.call("sound_ping"), client.call("calculate", { expression: "1+1" })]);
      others += outcomes.length;
      failed += outcomes.filter(({ ok }) => !ok).length;
    }
    const ends = endsOf(place.records());
    const gaps = ends.slice(1).map(({ at }, index) => ((at - ends[index].at) * factor) / 1_000);
    const broken = ends.filter(({ state }) => state === "broken").length;
    return [
      {
        what: `a plugin that exits after 10 ms, for ${MINUTES} minutes (clock at ${factor} times its speed)`,
        measured: `${ends.length} starts, ${gaps.map((gap) => gap.toFixed(1)).join(", ")} s apart, breaker open after ${broken} of them; ${others} calls of others, ${failed} failed`,
        limit: `<= ${MOST_STARTS} starts, waits grow to 60 s, others unaffected`,
        passed: ends.length <= MOST_STARTS && ends.length >= 5 && broken > 0 && failed === 0 && growing(gaps),
      },
    ];
  } finally {
    await client.stop();
    place.remove();
  }
}

/** Each record that says that the plugin has ended, and when. */
function endsOf(records) {
  return records
    .flatMap(({ kind, time, detail }) => {
      const state = kind === "plugins.changed" && detail.plugins.find(({ name }) => name === "falls")?.state;
      return state === "waiting" || state === "broken" ? [{ at: Date.parse(time), state }] : [];
    })
    .filter(({ at, state }, index, all) => index === 0 || at - all[index - 1].at > 5 || state !== all[index - 1].state);
}

/** Each wait is no shorter than half of the one before: they double, and starts and jitter come on top. */
function growing(gaps) {
  return gaps.at(-1) >= 59 && gaps.every((gap, index) => index === 0 || gap >= gaps[index - 1] * 0.5);
}
