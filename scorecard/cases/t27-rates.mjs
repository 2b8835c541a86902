// T27: rate limits: a million calls of fifty callers, clocks that jump, more callers than windows, and the answers of the server.
import { session, wasServed } from "../support/session.mjs";

export const goal = { id: "T27", title: "Rate limits", atLeast: 5_000 };

const CALLERS = 50;
const LIMIT = 120;
const CALLS = 1_000_000;
const MINUTE = 60_000;

export async function run(report, parts) {
  million(report, parts);
  await clocks(report, parts);
  await manyCallers(report, parts);
  await throughTheProduct(report, parts);
}

/** Nobody gets more than the limit in any minute, and nobody much less. */
function million(report, { RateLimits }) {
  let now = 0;
  const limits = new RateLimits(() => now);
  const admitted = Array.from({ length: CALLERS }, () => []);
  const step = (20 * MINUTE) / (CALLS / CALLERS);
  for (let turn = 0; turn < CALLS; turn += 1) {
    const caller = turn % CALLERS;
    if (caller === 0) now += step;
    if (limits.take(`caller ${caller}`, "tool x", LIMIT) === 0) admitted[caller].push(now);
  }
  let over = 0;
  for (const times of admitted)
    for (let at = LIMIT; at < times.length; at += 1) if (times[at] - times[at - LIMIT] < MINUTE) over += 1;
  const most = LIMIT * 20 * CALLERS;
  const got = admitted.reduce((sum, times) => sum + times.length, 0);
  report.demand(
    `${CALLS} calls of ${CALLERS} callers: nobody over the limit in any minute`,
    over === 0,
    `${over} over`,
  );
  report.demand(
    "and admitted within 1 % of the limit",
    got <= most * 1.01 && got >= most * 0.99,
    `${((got / most) * 100).toFixed(2)} %`,
  );
}

/** The clock is monotonic; should one jump after all, it gives no calls away and locks nobody out. */
async function clocks(report, { RateLimits }) {
  report.kind("clocks that jump");
  for (const jump of [-3_600_000, -60_000, -1, -86_400_000]) {
    let now = 10_000_000;
    const limits = new RateLimits(() => now);
    for (let used = 0; used < LIMIT; used += 1) limits.take("ada", "x", LIMIT);
    now += jump;
    for (let tries = 0; tries < 100; tries += 1)
      await report.attack(`${jump} ms back, call ${tries}`, () => limits.take("ada", "x", LIMIT) > 0 || "admitted");
    now = 10_000_000 + MINUTE + 300;
    await report.benign(`a minute after ${jump} ms`, () => limits.take("ada", "x", LIMIT) === 0);
  }
  for (const jump of [60_300, 3_600_000, 86_400_000, 2 ** 40]) {
    let now = 1_000;
    const limits = new RateLimits(() => now);
    for (let used = 0; used < LIMIT; used += 1) limits.take("ada", "x", LIMIT);
    now += jump;
    let free = 0;
    while (limits.take("ada", "x", LIMIT) === 0) free += 1;
    await report.attack(`${jump} ms on: one minute's worth`, () => free === LIMIT || `${free} calls`);
  }
}

/** Names of callers come from outside: their number is bounded, and nobody pushes out somebody else's count. */
async function manyCallers(report, { RateLimits }) {
  report.kind("floods of names");
  let now = 0;
  const limits = new RateLimits(() => now);
  for (let used = 0; used < 5; used += 1) limits.take("ada", "x", 5);
  for (let other = 0; other < 5_000; other += 1) limits.take(`other ${other}`, "x", 5);
  for (let tries = 0; tries < 1_000; tries += 1)
    await report.attack(`after a flood of names, call ${tries}`, () => limits.take("ada", "x", 5) > 0 || "admitted");
  for (let other = 5_000; other < 8_000; other += 1)
    await report.attack(
      `name ${other} while all windows are full`,
      () => limits.take(`other ${other}`, "x", 5) > 0 || "admitted",
    );
  now = 61_000;
  await report.benign("a new name a minute later", () => limits.take("new", "x", 5) === 0);
}

async function throughTheProduct(report, parts) {
  const policy =
    'version: "1.0"\ntools:\n  allowed: [calculate, get_timestamp]\n  rate_limits: { default: 60, calculate: 20 }';
  report.kind("more calls than a minute has, by the tools");
  for (const revision of ["2024-11-05", "2025-11-25", "2026-07-28"]) {
    const { call, close } = await session(parts, { policy, revision });
    for (let turn = 0; turn < 20; turn += 1)
      await report.benign(`call ${turn} in ${revision}`, async () =>
        wasServed(await call("calculate", { expression: "1+1" })),
      );
    for (let turn = 20; turn < 320; turn += 1)
      await report.attack(`call ${turn} in ${revision}`, async () => {
        const { answer, records } = await call("calculate", { expression: "1+1" });
        if (answer.isError !== true || !/Too many calls/.test(answer.content[0].text)) return JSON.stringify(answer);
        const [record] = records;
        const said =
          records.length === 1 && record.outcome === "rate_limited" && /rate limit/.test(record.decision?.rule);
        return said || `on record: ${JSON.stringify(records)}`;
      });
    await report.benign(`another tool in ${revision}`, async () => wasServed(await call("get_timestamp", {})));
    await close();
  }
}
