// C9: many sessions open for a long time, some of them replaced all the time: what processes and Redis hold must not grow.
import { randomInt } from "node:crypto";
import { readdirSync } from "node:fs";
import { ECHO, effectsOf, inLanes, openSession, pause, pick, post, send, startMembers, stop, told } from "./fleet.mjs";

/** Minutes by default; `--minutes 30` for the figure. */
export const CHURN_MINUTES = 2;
const SESSIONS = 10_000;
/** Requests in a round, and how many of them replace a session by a new one. */
const ROUND = 500;
const REPLACED = 25;
/** A round begins this often, so that a shared machine is left to others: 200 requests a second. */
const ROUND_MS = 2_500;

/** Grown by more than this share between the first third of the time and the end is not level. */
const LEVEL = 0.1;

export async function churn({ redis, minutes, faults }) {
  const members = await startMembers(3, redis.url, "");
  const ids = [];
  await inLanes(SESSIONS, async () => ids.push(await openSession(pick(members).port)));
  const counts = { answered: 0, ended: 0, failed: 0, replaced: 0 };
  const samples = [];
  const until = performance.now() + minutes * 60_000;
  for (let round = 0; performance.now() < until; round++) {
    const begun = performance.now();
    await inLanes(ROUND, (n) => oneRequest(members, ids, n, counts));
    samples.push(await sample(members, redis));
    await pause(Math.max(0, begun + ROUND_MS - performance.now()));
  }
  const effects = await effectsOf(members);
  await stop(members);
  if (counts.failed > 0) faults.push(`C9: ${counts.failed} calls failed`);
  if (effects !== counts.answered) faults.push(`C9: ${effects} effects of ${counts.answered} calls that were answered`);
  return report(samples, counts, { minutes, effects, faults });
}

async function oneRequest(members, ids, n, counts) {
  const at = randomInt(ids.length);
  const headers = { "mcp-session-id": ids[at], "mcp-protocol-version": "2025-11-25" };
  if (n >= REPLACED) {
    const { error } = await post(pick(members).port, { jsonrpc: "2.0", id: n, ...ECHO }, headers);
    // Another lane may have ended this session meanwhile.
    if (error === undefined) counts.answered++;
    else if (ids[at] === headers["mcp-session-id"]) counts.failed++;
    else counts.ended++;
    return;
  }
  const made = await openSession(pick(members).port);
  const [gone] = ids.splice(at, 1, made);
  counts.replaced++;
  await send(pick(members).port, undefined, { ...headers, "mcp-session-id": gone }, "DELETE");
}

async function sample(members, redis) {
  const memory = (await told(members)).reduce((sum, each) => sum + each.memory, 0);
  return {
    MB: memory / 2 ** 20,
    descriptors: members.reduce((sum, { child }) => sum + readdirSync(`/proc/${child.pid}/fd`).length, 0),
    keys: Number(redis.cli("dbsize")),
    "bytes in Redis": Number(/used_memory:(\d+)/.exec(redis.cli("info", "memory"))[1]),
  };
}

function report(samples, counts, { minutes, effects, faults }) {
  const parts = Object.keys(samples[0]).map((part) => {
    // The middle of a tenth of the samples: a single one is what the garbage collector happens to have left. The first third
    // is when engines and guests settle.
    const tenth = Math.max(1, Math.floor(samples.length / 10));
    const early = median(samples.slice(Math.floor(samples.length / 3)).slice(0, tenth), part);
    const late = median(samples.slice(-tenth), part);
    if (late > early * (1 + LEVEL)) faults.push(`C9: ${part} grew from ${early.toFixed(0)} to ${late.toFixed(0)}`);
    return `${early.toFixed(0)} to ${late.toFixed(0)} ${part}`;
  });
  const { answered, replaced, ended, failed } = counts;
  return [
    `C9 ${SESSIONS} sessions, 3 processes, ${minutes} minutes: ${answered} calls answered, ${effects} effects, ${failed} failed, ` +
      `${ended} met a session that had just ended, ${replaced} sessions replaced; from the end of the first third to the last tenth: ${parts.join(", ")}`,
  ];
}

function median(samples, part) {
  const sorted = samples.map((each) => each[part]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
