// How cost grows with processes and sessions: a model of heartbeats, limits and sessions served from their facts, fed with costs
// measured on this machine, and compared with what 1 to 4 real processes did.
//
// Assumptions: requests come at random times and go to random processes; a process fetches the facts of a session it has not
// served for two minutes (one command), and hands one request a minute of each session on to its owner; each process gives one
// sign of life a second, which reads the whole directory; a call, counting included, costs what it costs a process that has so few
// at once: the more processes, the fewer are counted in one step.
import { RedisStores } from "../../packages/mcp/dist/redis/redis-stores.js";

/** Seconds that are simulated, and sessions of which the rest is scaled: the shares settle far below. */
const SECONDS = 300;
const SAMPLED = 50_000;
const GUEST_S = 60;
const IDLE_S = 120;

/** Processor seconds of one sign of life, here and in Redis, by how many processes the directory names. */
export async function beatCosts({ url, cli, keys }) {
  const costs = [];
  for (const count of [1, 10, 100]) {
    const stores = new RedisStores(url, { keys, prefix: `beat${count}` });
    await stores.open("probe", { keys: ["k"] });
    const rounds = 300;
    let own = 0;
    const before = redisCpu(cli);
    for (let round = 0; round < rounds; round++) {
      if (round % 100 === 0) for (let n = 1; n < count; n++) await stores.beat(`n${n}`, `tcp://10.0.0.${n}:3101`);
      const begun = process.cpuUsage();
      await stores.beat("probe", "tcp://10.0.0.0:3101");
      const { user, system } = process.cpuUsage(begun);
      own += (user + system) / 1e6;
    }
    costs.push({ count, own: own / rounds, redis: (redisCpu(cli) - before) / (rounds + 3 * (count - 1)) });
    await stores.close();
  }
  return costs;
}

function redisCpu(cli) {
  const text = cli("info", "cpu");
  const of = (name) => Number(new RegExp(`${name}:([0-9.]+)`).exec(text)[1]);
  return of("used_cpu_user") + of("used_cpu_sys");
}

/** A cost between the measured ones, on a line. */
export function between(costs, count, part) {
  const at = costs.findIndex((each) => each.count >= count);
  const high = costs[Math.max(1, at)];
  const low = costs[Math.max(1, at) - 1];
  return low[part] + ((high[part] - low[part]) * (count - low.count)) / (high.count - low.count);
}

/** What requests of sessions meet, by chance: shares of those that fetch facts, and that are handed on. */
export function sessionShares({ processes, sessions, perSession }, random) {
  const count = Math.min(sessions, SAMPLED);
  const seen = new Float64Array(count * processes).fill(-1e9);
  const until = new Float64Array(count * processes);
  let requests = 0;
  let fetched = 0;
  let relayed = 0;
  for (let session = 0; session < count; session++) {
    const owner = session % processes;
    for (let now = -Math.log(random()) / perSession; now < SECONDS; now += -Math.log(random()) / perSession) {
      const at = Math.floor(random() * processes);
      requests++;
      if (at === owner) continue;
      const place = session * processes + at;
      if (now - seen[place] > IDLE_S) {
        fetched++;
        until[place] = now + GUEST_S;
      } else if (now > until[place]) {
        relayed++;
        until[place] = now + GUEST_S;
      }
      seen[place] = now;
    }
  }
  return { fetched: fetched / requests, relayed: relayed / requests };
}

/** Cores of all processes and of Redis, and commands a second, for a load of sessions. */
export function predicted({ processes, sessions, perSession }, costs, random) {
  const { call, beats, take, takeRedis, fetch, relay } = costs;
  const requests = sessions * perSession;
  const shares = sessionShares({ processes, sessions, perSession }, random);
  const own = requests * (call + take + shares.fetched * fetch + shares.relayed * relay);
  const alive = processes * between(beats, processes, "own");
  const redis = processes * between(beats, processes, "redis") + requests * (takeRedis + shares.fetched * takeRedis);
  const commands = processes + requests * (1 + shares.fetched);
  return { cores: own + alive, redis, commands, ...shares };
}

/** Numbers between 0 and 1 that look random and are the same in every run. */
export function seeded(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 1) / (2 ** 32 + 1);
  };
}
