// What has to happen in Redis in one step, in Lua. Times are Redis's own: the clocks of the processes do not matter. And whether
// a Redis is fit for that.
import { badShare } from "../cluster/relay-link.js";
import { LocalError } from "../jsonrpc/errors.js";
import { type Door, whyNot } from "./door.js";

/**
 * KEYS: directory (hash of addresses), leases (sorted set), fleets (hash), steadiness (hash of the `last` sign of life and of the
 * first, `since`, after which none was late), keys in use (hash: until when processes seal with each of them). ARGV: node, address,
 * lease in ms, fleet, ms after which a sign of life is late, the key that this process seals with. Returns whether the lease had
 * lapsed, the directory, for how long it has been steady, and the keys that nobody seals with any more, each with its time.
 */
export const BEAT = `
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local gone = redis.call("ZRANGEBYSCORE", KEYS[2], "-inf", now)
for _, node in ipairs(gone) do
  redis.call("ZREM", KEYS[2], node)
  redis.call("HDEL", KEYS[1], node)
  redis.call("HDEL", KEYS[3], node)
end
local lapsed = redis.call("ZSCORE", KEYS[2], ARGV[1]) and 0 or 1
redis.call("ZADD", KEYS[2], now + tonumber(ARGV[3]), ARGV[1])
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
redis.call("PEXPIRE", KEYS[1], 60000)
redis.call("PEXPIRE", KEYS[2], 60000)
redis.call("HSET", KEYS[3], ARGV[1], ARGV[4])
redis.call("PEXPIRE", KEYS[3], 60000)
local steady = redis.call("HMGET", KEYS[4], "last", "since")
local since = steady[2]
if not steady[1] or now - steady[1] > tonumber(ARGV[5]) then since = now end
redis.call("HSET", KEYS[4], "last", now, "since", since)
redis.call("PEXPIRE", KEYS[4], 60000)
redis.call("HSET", KEYS[5], ARGV[6], now + tonumber(ARGV[3]))
redis.call("PEXPIRE", KEYS[5], 60000)
local unused = {}
local uses = redis.call("HGETALL", KEYS[5])
for i = 1, #uses, 2 do
  if tonumber(uses[i + 1]) < now then
    unused[#unused + 1] = uses[i]
    unused[#unused + 1] = uses[i + 1]
  end
end
return { lapsed, redis.call("HGETALL", KEYS[1]), now - since, unused }
`;

/** KEYS: leases, fleets, directory. Returns name, fleet and address of each process that is there. */
export const FLEETS = `
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local found = {}
for _, node in ipairs(redis.call("ZRANGEBYSCORE", KEYS[1], now, "+inf")) do
  local fleet = redis.call("HGET", KEYS[2], node)
  if fleet then
    found[#found + 1] = node
    found[#found + 1] = fleet
    found[#found + 1] = redis.call("HGET", KEYS[3], node) or ""
  end
end
return found
`;

/**
 * KEYS: index, record. ARGV: sealed text, life in ms, most records of a group; and, where something else must not be replaced, the
 * text that is there, "" for none. Returns 1 when it was kept.
 */
export const PUT_RECORD = `
if ARGV[4] and (redis.call("GET", KEYS[2]) or "") ~= ARGV[4] then return 0 end
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for _, key in ipairs(redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", now)) do redis.call("ZREM", KEYS[1], key) end
redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2])
redis.call("ZADD", KEYS[1], now + tonumber(ARGV[2]), KEYS[2])
local over = redis.call("ZCARD", KEYS[1]) - tonumber(ARGV[3])
if over > 0 then
  for _, key in ipairs(redis.call("ZRANGE", KEYS[1], 0, over - 1)) do
    redis.call("DEL", key)
    redis.call("ZREM", KEYS[1], key)
  end
end
if redis.call("PTTL", KEYS[1]) < tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
return 1
`;

/** KEYS: index. Returns the key and the text of each record. */
export const LIST_RECORDS = `
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local found = {}
for _, key in ipairs(redis.call("ZRANGEBYSCORE", KEYS[1], now, "+inf")) do
  local text = redis.call("GET", key)
  if text then
    found[#found + 1] = key
    found[#found + 1] = text
  end
end
return found
`;

/** KEYS: index, record. ARGV: the only text to delete, where it is not any. Returns what it deleted. */
export const DELETE_RECORD = `
local text = redis.call("GET", KEYS[2])
if ARGV[1] and text ~= ARGV[1] then return false end
redis.call("ZREM", KEYS[1], KEYS[2])
redis.call("DEL", KEYS[2])
return text
`;

/** KEYS: keys in use. ARGV: the key that a process seals with, for how many ms. */
export const USE_KEY = `
local t = redis.call("TIME")
redis.call("HSET", KEYS[1], ARGV[1], t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(ARGV[2]))
return redis.call("PEXPIRE", KEYS[1], 60000)
`;

/** KEYS: keys in use. ARGV: keys, each with its time as it was read: those that nobody has used since are not needed any more. */
export const FORGET_KEYS = `
for i = 1, #ARGV, 2 do
  if redis.call("HGET", KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call("HDEL", KEYS[1], ARGV[i]) end
end
return 1
`;

/** KEYS: task, index of its principal by each key. ARGV: record as it was read, record sealed anew, ms left, task id. Returns 1 when it was kept. */
export const CARRY_TASK = `
if redis.call("HGET", KEYS[1], "text") ~= ARGV[1] then return 0 end
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call("HSET", KEYS[1], "text", ARGV[2])
for i = 3, #KEYS do redis.call("ZREM", KEYS[i], ARGV[4]) end
redis.call("ZADD", KEYS[2], now + tonumber(ARGV[3]), ARGV[4])
if redis.call("PTTL", KEYS[2]) < tonumber(ARGV[3]) then redis.call("PEXPIRE", KEYS[2], ARGV[3]) end
return 1
`;

/** KEYS: stream. ARGV: its length and last id as it was read; then of each entry its id and what it holds. Returns 1 when it was replaced. */
export const CARRY_STREAM = `
local newest = redis.call("XREVRANGE", KEYS[1], "+", "-", "COUNT", 1)[1]
if not newest or newest[1] ~= ARGV[2] or redis.call("XLEN", KEYS[1]) ~= tonumber(ARGV[1]) then return 0 end
local life = redis.call("PTTL", KEYS[1])
redis.call("DEL", KEYS[1])
for i = 3, #ARGV, 4 do
  redis.call("XADD", KEYS[1], ARGV[i], "d", ARGV[i + 1], "b", ARGV[i + 2], "e", ARGV[i + 3])
end
redis.call("PEXPIRE", KEYS[1], math.max(life, 1))
return 1
`;

/** KEYS: directory, leases, fleets. ARGV: node. */
export const LEAVE = `
redis.call("ZREM", KEYS[2], ARGV[1])
redis.call("HDEL", KEYS[3], ARGV[1])
return redis.call("HDEL", KEYS[1], ARGV[1])
`;

/** How sessions and tasks are kept; what was kept in another way is not read. */
export const RECORD_VERSION = "3";

/** KEYS: session. ARGV: owner, fence, text, ttl. Returns 1 when it was kept. */
export const PUT_SESSION: string = `
local kept = redis.call("HMGET", KEYS[1], "owner", "fence", "v")
if kept[3] and kept[3] ~= "${RECORD_VERSION}" then return 0 end
if kept[1] and (kept[1] ~= ARGV[1] or tonumber(kept[2]) > tonumber(ARGV[2])) then return 0 end
redis.call("HSET", KEYS[1], "v", "${RECORD_VERSION}", "owner", ARGV[1], "fence", ARGV[2], "text", ARGV[3])
redis.call("PEXPIRE", KEYS[1], ARGV[4])
return 1
`;

/** KEYS: session. ARGV: text as it was read, owner, the fence it was read with, text with its new end, ttl. Returns 1 when it was taken. */
export const CLAIM_SESSION: string = `
local kept = redis.call("HMGET", KEYS[1], "fence", "text", "v")
if kept[1] ~= ARGV[3] or kept[2] ~= ARGV[1] or kept[3] ~= "${RECORD_VERSION}" then return 0 end
redis.call("HSET", KEYS[1], "owner", ARGV[2], "fence", tostring(tonumber(ARGV[3]) + 1), "text", ARGV[4])
redis.call("PEXPIRE", KEYS[1], ARGV[5])
return 1
`;

/** KEYS: session. ARGV: owner, text as it was read, text with its new end, ttl. Returns 1 when it is another's. */
export const TOUCH_SESSION = `
local kept = redis.call("HMGET", KEYS[1], "owner", "text")
if not kept[1] then return 0 end
if kept[1] ~= ARGV[1] then return 1 end
if kept[2] ~= ARGV[2] then return 0 end
redis.call("HSET", KEYS[1], "text", ARGV[3])
redis.call("PEXPIRE", KEYS[1], ARGV[4])
return 0
`;

/** KEYS: session. ARGV: owner. */
export const DELETE_SESSION = `
if redis.call("HGET", KEYS[1], "owner") == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0
`;

/**
 * Counts many events at once, one after the other, each under all its keys or under none. KEYS: all of them, each once. ARGV: how
 * many keys; three for each: "r", the microseconds of one event and the burst (GCRA: of each key one time is kept); or "w", the
 * microseconds of a window and the most in it (of each key a count for each sixtieth of the window, their sum `n`, and the oldest
 * of them, `o`); then for each event the number of its keys and their places. Returns the wait of each in milliseconds, or 0.
 */
const COUNT = `
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
local count = tonumber(ARGV[1])
local rules = {}
for i = 1, count do
  local kind, a, b = ARGV[i * 3 - 1], tonumber(ARGV[i * 3]), tonumber(ARGV[i * 3 + 1])
  local key = KEYS[i]
  if kind == "r" then
    rules[i] = { each = a, burst = b, stop = math.max(tonumber(redis.call("GET", key) or now), now) }
  else
    local width = a / 60
    local slot = math.floor(now / width)
    local head = redis.call("HMGET", key, "n", "o")
    local n, oldest = tonumber(head[1] or 0), tonumber(head[2] or slot)
    local from = oldest
    while oldest < slot - 60 and n > 0 do
      local old = redis.call("HGET", key, oldest)
      if old then
        n = n - old
        redis.call("HDEL", key, oldest)
      end
      oldest = oldest + 1
    end
    if n == 0 then
      redis.call("DEL", key)
      oldest = slot
    elseif oldest ~= from then
      redis.call("HSET", key, "n", n, "o", oldest)
    end
    rules[i] = { most = b, width = width, n = n, oldest = oldest, slot = slot }
  end
  rules[i].taken = 0
end
local function waitOf(i)
  local rule = rules[i]
  if rule.each then return rule.stop + rule.each - now - rule.burst * rule.each end
  if rule.n < rule.most then return 0 end
  local surplus, at = rule.n - rule.most, rule.oldest
  while at < rule.slot do
    surplus = surplus - (redis.call("HGET", KEYS[i], at) or 0)
    if surplus < 0 then break end
    at = at + 1
  end
  return math.max((at + 61) * rule.width - now, 1000)
end
local waits = {}
local at = count * 3 + 2
while at <= #ARGV do
  local of = tonumber(ARGV[at])
  local wait = 0
  for k = at + 1, at + of do wait = math.max(wait, waitOf(tonumber(ARGV[k]))) end
  waits[#waits + 1] = math.ceil(wait / 1000)
  if wait <= 0 then
    for k = at + 1, at + of do
      local rule = rules[tonumber(ARGV[k])]
      rule.taken = rule.taken + 1
      if rule.each then rule.stop = rule.stop + rule.each else rule.n = rule.n + 1 end
    end
  end
  at = at + of + 1
end
for i = 1, count do
  local rule, key = rules[i], KEYS[i]
  if rule.taken > 0 and rule.each then
    redis.call("SET", key, string.format("%.0f", rule.stop), "PX", math.max(1, math.ceil((rule.stop - now) / 1000)))
  elseif rule.taken > 0 then
    redis.call("HSET", key, "n", rule.n, "o", rule.oldest)
    redis.call("HINCRBY", key, rule.slot, rule.taken)
    redis.call("PEXPIRE", key, math.ceil(rule.width * 61 / 1000))
  end
end
`;
export const TAKE: string = `${COUNT}
return waits
`;

/**
 * The same while keys are changed. KEYS: the names of all by the first key, then those by the next, and so on. What was counted
 * under any name counts, each event once as the most of each moment is taken, and what is counted is kept under all.
 */
export const TAKE_ALL: string = `
local many = tonumber(ARGV[1])
local function merge(own, other)
  local kinds = { redis.call("TYPE", own).ok, redis.call("TYPE", other).ok }
  if kinds[1] == "none" and kinds[2] ~= "none" then redis.call("COPY", other, own) end
  if kinds[1] ~= kinds[2] then return end
  if kinds[1] == "string" then
    if tonumber(redis.call("GET", other)) > tonumber(redis.call("GET", own)) then redis.call("COPY", other, own, "REPLACE") end
  elseif kinds[1] == "hash" then
    local n, oldest = 0, nil
    local slots = {}
    for _, key in ipairs({ own, other }) do
      local flat = redis.call("HGETALL", key)
      for f = 1, #flat, 2 do
        local slot = tonumber(flat[f])
        if slot then slots[slot] = math.max(slots[slot] or 0, tonumber(flat[f + 1])) end
      end
    end
    for slot, count in pairs(slots) do
      n = n + count
      oldest = math.min(oldest or slot, slot)
      redis.call("HSET", own, string.format("%.0f", slot), count)
    end
    if oldest then redis.call("HSET", own, "n", n, "o", string.format("%.0f", oldest)) end
    redis.call("PEXPIRE", own, math.max(redis.call("PTTL", own), redis.call("PTTL", other), 1))
  end
end
for i = 1, many do
  for other = i + many, #KEYS, many do merge(KEYS[i], KEYS[other]) end
end
${COUNT}
for i = 1, many do
  for other = i + many, #KEYS, many do
    if rules[i].taken > 0 then redis.call("COPY", KEYS[i], KEYS[other], "REPLACE") end
  end
end
return waits
`;

/** KEYS: lock. ARGV: the holder's secret. */
export const RELEASE = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0
`;

/**
 * KEYS: task, index of its principal by each key, the first of which takes it. ARGV: record, ttl in ms, "1" for one that has ended, task id, most tasks of one
 * principal. Returns 1 when it was kept, 0 without room, -1 when it has ended already.
 */
export const PUT_TASK: string = `
local kept = redis.call("HGET", KEYS[1], "over")
if kept == "1" then return -1 end
if not kept then
  local t = redis.call("TIME")
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local count = 0
  for i = 2, #KEYS do
    redis.call("ZREMRANGEBYSCORE", KEYS[i], "-inf", now)
    count = count + redis.call("ZCARD", KEYS[i])
  end
  if count >= tonumber(ARGV[5]) then return 0 end
  redis.call("ZADD", KEYS[2], now + tonumber(ARGV[2]), ARGV[4])
end
for i = 3, #KEYS do
  local ends = redis.call("ZSCORE", KEYS[i], ARGV[4])
  if ends then
    redis.call("ZREM", KEYS[i], ARGV[4])
    redis.call("ZADD", KEYS[2], ends, ARGV[4])
  end
end
redis.call("HSET", KEYS[1], "v", "${RECORD_VERSION}", "text", ARGV[1], "over", ARGV[3])
redis.call("PEXPIRE", KEYS[1], ARGV[2])
if redis.call("PTTL", KEYS[2]) < tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[2], ARGV[2]) end
return 1
`;

/**
 * Adds one piece to each of many streams. KEYS: the streams. ARGV, seven for each: the position before the piece, its id, its text,
 * "1" where it ends the stream, and the most pieces, characters and milliseconds that are kept of it. An entry holds the text `d`,
 * the length of all up to it `b`, and whether it ends the stream `e`. Returns for each 1 when it was kept.
 */
export const APPEND_STREAMS = `
local kept = {}
for i, key in ipairs(KEYS) do
  local at = i * 7 - 6
  local after, id, text, ended = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local pieces, bytes, life = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]), ARGV[at + 6]
  local newest = redis.call("XREVRANGE", key, "+", "-", "COUNT", 1)[1]
  local before, open = 0, true
  if newest then
    before = tonumber(newest[2][4])
    open = newest[2][6] == "0" and tonumber(string.match(newest[1], "^%d+")) <= after
  end
  kept[i] = 0
  if open then
    local total = before + #text
    redis.call("XADD", key, id, "d", text, "b", total, "e", ended)
    redis.call("PEXPIRE", key, life)
    kept[i] = 1
    local count = redis.call("XLEN", key)
    while count > 1 do
      local first = redis.call("XRANGE", key, "-", "+", "COUNT", 1)[1]
      if count <= pieces and total - first[2][4] + #first[2][2] <= bytes then break end
      redis.call("XDEL", key, first[1])
      count = count - 1
    end
  end
end
return kept
`;

// Whether a Redis is fit for what processes share: asked once at the start, and by `doctor --redis`.

/** The oldest version with all that is used. */
const OLDEST = [6, 2] as const;
/** How far the clocks may be apart: what is sealed says when it ends by the clock of a process. */
const CLOCK_MS = 10 * 60_000;
/** One use of every command, on keys that end at once. */
const TRIALS: readonly (readonly [string, (key: string) => readonly string[]])[] = [
  ["SET", (key) => [`${key}:1`, "1", "PX", "1000"]],
  ["HMGET", (key) => [`${key}:2`, "v"]],
  ["ZRANGE", (key) => [`${key}:3`, "0", "-1"]],
  ["XREVRANGE", (key) => [`${key}:4`, "+", "-", "COUNT", "1"]],
  ["XREAD", (key) => ["COUNT", "1", "STREAMS", `${key}:4`, "0"]],
  ["EVAL", (key) => ["return 1", "1", `${key}:1`]],
  ["EVALSHA", (key) => ["0".repeat(40), "1", `${key}:1`]],
];

/** Every other command, tried in one step: `K` is a key of its own for each kind. What is refused is named. */
const OTHERS = `
TIME; COPY K5 K6; DEL K5; GET K1; HSET K2 a 1; HGET K2 a; HGETALL K2; HINCRBY K2 a 1; HKEYS K2; HDEL K2 b; PEXPIRE K2 1000; PTTL K2;
TYPE K2; XADD K4 * a 1; PEXPIRE K4 1000; XDEL K4 0-1; XLEN K4; XRANGE K4 - +; XTRIM K4 MINID 0; ZADD K3 1 a; PEXPIRE K3 1000; ZCARD K3;
ZRANGEBYSCORE K3 1 1; ZREM K3 b; ZSCORE K3 a; ZREMRANGEBYSCORE K3 5 5; ZUNION 1 K3`;
const TRY_OTHERS = `
for _, words in ipairs(cjson.decode(ARGV[1])) do
  local answer = redis.pcall(unpack(words))
  if type(answer) == "table" and answer.err and (answer.err:find("NOPERM") or answer.err:find("ermission") or answer.err:find("can't run")) then
    return words[1]
  end
end
`;

/** What was found out about a Redis that is fit. */
export interface RedisReport {
  readonly version: string;
  readonly cluster: boolean;
  /** What its memory policy and bound are. */
  readonly policy: string;
  readonly maxmemory: number;
  /** By what it keeps data over a restart; "unknown" where it does not tell us. */
  readonly persistence: "aof" | "rdb" | "none" | "unknown";
  /** Milliseconds its clock is ahead of ours. */
  readonly clockMs: number;
}

/** Rejects with BAD_SHARE, in one sentence that says what to change. */
export async function checkRedis(door: Door, prefix: string): Promise<RedisReport> {
  const { name } = door;
  const info = await facts(door, prefix);
  const version = info.get("redis_version") ?? "unknown";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw badShare(`${name} is Redis ${version}: use version ${OLDEST.join(".")} or later`);
  }
  if (info.get("redis_mode") === "sentinel")
    throw badShare(`${name} is a Sentinel: write redis+sentinel:// and the name of its master after the /`);
  if (info.get("cluster_enabled") === "1" && !door.isCluster) {
    throw badShare(
      `${name} is one of a Redis Cluster: write redis+cluster:// and the addresses of some of its servers`,
    );
  }
  if (info.get("role") === "slave" && !door.isCluster) {
    throw badShare(
      `${name} is a replica, which takes no writes: name its master, or its Sentinels with redis+sentinel://`,
    );
  }
  const policy = info.get("maxmemory_policy") ?? "unknown";
  const maxmemory = Number(info.get("maxmemory") ?? 0);
  if (maxmemory > 0 && policy !== "noeviction") {
    throw badShare(`${name} forgets keys when its memory is full (${policy}): set maxmemory-policy noeviction`);
  }
  await tryCommands(door, prefix);
  const clockMs = await clockOf(door, prefix);
  if (Math.abs(clockMs) > CLOCK_MS) {
    throw badShare(`the clock of ${name} is ${Math.round(Math.abs(clockMs) / 1_000)} s off ours: set both by NTP`);
  }
  const persistence = info.get("aof_enabled") === "1" ? "aof" : await snapshots(door);
  return { version, cluster: door.isCluster, policy, maxmemory, persistence, clockMs };
}

/** Whether it writes snapshots. Many that are run for others do not tell. */
async function snapshots(door: Door): Promise<"rdb" | "none" | "unknown"> {
  try {
    const found = (await door.run("CONFIG", ["GET", "save"])) as readonly unknown[] | object;
    const save = Array.isArray(found) ? (found as readonly unknown[])[1] : (found as { readonly save?: unknown }).save;
    return typeof save !== "string" ? "unknown" : save.trim() === "" ? "none" : "rdb";
  } catch {
    return "unknown";
  }
}

async function facts(door: Door, prefix: string): Promise<ReadonlyMap<string, string>> {
  const text = (await trial(door, "INFO", [], prefix)) as string;
  const lines = text.split("\r\n").map((line) => /^(\w+):(.*)$/.exec(line));
  return new Map(lines.flatMap((line) => (line === null ? [] : [[line[1] as string, line[2] as string]])));
}

/** What a user needs: the keys of `prefix`, whether the part before the last colon is what a Cluster goes by or not, and no channels. */
function rightsOf(prefix: string, isCluster: boolean): string {
  const cluster = isCluster ? " +cluster|slots +cluster|shards +cluster|info +cluster|nodes" : "";
  return `ACL SETUSER NAME on >PASSWORD ~${prefix}:* ~{${prefix}:* +@read +@write +@scripting +@connection -@dangerous +info +time${cluster}`;
}

/** Looks at its clock: the way there and back that was the shortest says it best, and the first is slow. */
const CLOCK_LOOKS = 4;

async function clockOf(door: Door, prefix: string): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  let clockMs = 0;
  for (let look = 0; look < CLOCK_LOOKS; look++) {
    const [before, began] = [Date.now(), performance.now()];
    const answer = await trial(door, "EVAL", ["return redis.call('TIME')", "1", `${prefix}:c`], prefix);
    const took = performance.now() - began;
    if (took >= shortest) continue;
    shortest = took;
    const [seconds = "0", micros = "0"] = answer as string[];
    clockMs = Number(seconds) * 1_000 + Number(micros) / 1_000 - before - took / 2;
  }
  return clockMs;
}

async function tryCommands(door: Door, prefix: string): Promise<void> {
  const key = `{${prefix}:c}`;
  for (const [command, args] of TRIALS) await trial(door, command, args(key), prefix);
  const others = OTHERS.trim()
    .split(/;\s/)
    .map((words) => words.split(" ").map((word) => word.replace(/^K(\d)$/, `${key}:$1`)));
  const keys = [1, 2, 3, 4, 5, 6].map((each) => `${key}:${each}`);
  const refused = await trial(door, "EVAL", [TRY_OTHERS, String(keys.length), ...keys, JSON.stringify(others)], prefix);
  if (typeof refused === "string") throw refusedRight(door, refused, prefix);
}

function refusedRight({ name, isCluster }: Door, command: string, prefix: string, why = "NOPERM"): LocalError {
  const rights = rightsOf(prefix, isCluster);
  return badShare(`${name} refuses ${command} (${why}): give this user its rights in redis-cli with ${rights}`);
}

async function trial(door: Door, command: string, args: readonly string[], prefix: string): Promise<unknown> {
  try {
    return await door.run(command, args);
  } catch (error) {
    if ((error as Error).message.startsWith("NOSCRIPT")) return undefined;
    if (error instanceof LocalError) throw error.code === "BAD_SHARE" ? error : badShare(error.message);
    // With some clients it is the first answer of all.
    if (/^(?:NOAUTH|WRONGPASS)\b/.test((error as Error).message)) throw badShare(whyNot(door.name, error));
    throw refusedRight(door, command, prefix, reason(error));
  }
}

function reason(error: unknown): string {
  return (error as Error).message.split("\n", 1)[0] ?? "";
}
