// F14: the wall clock jumps an hour back and a day on. Limits and timeouts go by another clock, the log keeps its order.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { quantile } from "../../measure/statistics.mjs";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const PRELOAD = fileURLToPath(new URL("../jumping-clock.mjs", import.meta.url));
/** Seconds the clock is off, in turn. */
const JUMPS = [-3_600, 86_400, 0];
const RATE = 30;
const TIMEOUT_S = 0.4;
const EXACT_MS = 100;
const DAY_MS = 86_400_000;
const SLOW = `
import { definePlugin } from "mcp-secure-local/plugin";
export default definePlugin({ name: "slow", version: "1.0.0",
  tools: { wait: { description: "Never answers", annotations: { readOnlyHint: true }, run: () => new Promise(() => undefined) } } });
`;

export async function run({ full }) {
  const jumps = full ? 200 : 24;
  const place = arena({
    tools: ["calculate", "get_timestamp", "slow_*"],
    limits: { calculate: RATE },
    load: ["slow"],
    timeout: TIMEOUT_S,
  });
  place.writePlugin("slow", { "plugin.mjs": SLOW });
  const clock = clockOf(place.folder);
  clock.set(0);
  const client = startProduct(place, clock);
  try {
    await client.initialize();
    await client.listed(["slow_wait"]);
    const off = [];
    let [served, refused, seen, largest] = [0, 0, 0, 0];
    const hints = [];
    const from = performance.now();
    for (let n = 0; n < jumps; n += 1) {
      // In the middle of a call that will time out.
      const waiting = n % 4 === 0 ? client.call("slow_wait") : undefined;
      clock.set(JUMPS[n % JUMPS.length]);
      const { text } = await client.call("get_timestamp");
      const shown = Date.parse(/\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(text)?.[0] ?? "") - Date.now();
      if (Math.abs(shown - JUMPS[n % JUMPS.length] * 1_000) < 5_000) seen += 1;
      largest = Math.max(largest, Math.abs(shown));
      for (let call = 0; call < 3; call += 1) {
        const { ok, text: said } = await client.call("calculate", { expression: "6 * 7" });
        if (ok) served += 1;
        else refused += 1;
        const hint = Number(/in (\d+) second/.exec(said)?.[1]);
        if (hint > 0) hints.push(hint);
      }
      const timed = await waiting;
      if (timed !== undefined) off.push(timed.ms - TIMEOUT_S * 1_000);
      else await delay(10);
    }
    const minutes = Math.ceil((performance.now() - from) / 60_000);
    await client.stop();
    const order = place.records().every(({ seq }, index) => seq === index + 1);
    const backwards = place.records().filter(({ time }, index, all) => index > 0 && time < all[index - 1].time).length;
    const fault = place.auditFault();
    const late = quantile(off.map(Math.abs), 1);
    return [
      {
        what: `${jumps} jumps of the clock (${clock.how}), ${seen} of them seen by a tool, the largest ${(largest / DAY_MS).toFixed(1)} d`,
        measured: `${served} calls served at ${RATE} a minute within ${minutes} min, ${refused} refused, hints ${Math.min(...hints)} to ${Math.max(...hints)} s; ${off.length} timeouts off by ${late.toFixed(0)} ms at most; times went back ${backwards} times, numbers ${order ? "never" : "DID"}; ${fault ?? "audit verifies"}`,
        limit: `<= ${RATE} a minute, hints <= 60 s, +-${EXACT_MS} ms, order kept`,
        passed:
          seen === jumps &&
          served >= RATE &&
          served <= RATE * minutes &&
          refused > 0 &&
          Math.max(...hints) <= 61 &&
          late <= EXACT_MS &&
          backwards > 0 &&
          order &&
          fault === undefined,
      },
    ];
  } finally {
    client.child.kill("SIGKILL");
    place.remove();
  }
}

/** libfaketime where it is installed, which every library and timer sees; else the product's own view of the clock alone. */
function clockOf(folder) {
  const file = join(folder, "clock");
  const library = faketime();
  if (library === undefined) {
    const set = (seconds) => writeFileSync(file, String(seconds));
    return { how: "Date replaced", set, node: ["--import", PRELOAD], env: { FAULTS_OFFSET: file } };
  }
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
  return { how: "libfaketime", set: (seconds) => writeFileSync(file, `${seconds < 0 ? "" : "+"}${seconds}\n`), env };
}

function faketime() {
  const folders = [
    "/usr/lib",
    ...(existsSync("/usr/lib") ? readdirSync("/usr/lib").map((name) => join("/usr/lib", name)) : []),
  ];
  return folders.map((folder) => join(folder, "faketime", "libfaketimeMT.so.1")).find(existsSync);
}
