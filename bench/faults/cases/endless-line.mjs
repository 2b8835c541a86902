// F10: a line on stdin far beyond the limit is answered once, costs no memory, and the next line is served.
import { once } from "node:events";
import { peakBytes, residentBytes, resetPeak } from "../../measure/process-stats.mjs";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const MB = 2 ** 20;
const GROWTH_LIMIT_MB = 16;
const SETTLE_MB = 64;

export async function run({ full }) {
  const rows = [];
  for (const megabytes of full ? [10, 1_024] : [10, 256]) rows.push(await oneLine(megabytes));
  return rows;
}

async function oneLine(megabytes) {
  const place = arena();
  const client = startProduct(place);
  try {
    await client.initialize();
    // What a process grows by in its first busy seconds is not what a long line costs.
    await push(client, SETTLE_MB);
    await client.call("calculate", { expression: "1 + 1" });
    client.stray.length = 0;
    const before = residentBytes(client.pid);
    resetPeak(client.pid);
    const from = performance.now();
    await push(client, megabytes);
    const next = await client.call("calculate", { expression: "20 + 22" });
    const seconds = (performance.now() - from) / 1_000;
    const growth = (peakBytes(client.pid) - before) / MB;
    const codes = client.stray.map(({ error }) => error?.code);
    const passed = codes.length === 1 && next.text.includes("42") && growth < GROWTH_LIMIT_MB && !client.hasEnded;
    return {
      what: `a line of ${megabytes} MB`,
      measured: `answers ${codes.join(", ") || "none"}; next call ${next.ok ? "served" : next.text}; peak +${growth.toFixed(1)} MB; ${seconds.toFixed(1)} s`,
      limit: `one answer, next served, +< ${GROWTH_LIMIT_MB} MB`,
      passed,
    };
  } finally {
    await client.stop();
    place.remove();
  }
}

async function push({ child: { stdin } }, megabytes) {
  const chunk = Buffer.alloc(MB, "x");
  stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"');
  for (let n = 0; n < megabytes; n += 1) if (!stdin.write(chunk)) await once(stdin, "drain");
  stdin.write('"}}\n');
}
