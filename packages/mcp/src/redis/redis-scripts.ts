// What has to happen in Redis in one step, in Lua. Times are Redis's own: the clocks of the processes do not matter.

/** KEYS: directory (hash of addresses), leases (sorted set), fleets (hash). ARGV: node, address, lease in ms, fleet. */
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
return { lapsed, redis.call("HGETALL", KEYS[1]) }
`;

/** KEYS: leases, fleets. Returns name and fleet of each process that is there. */
export const FLEETS = `
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local found = {}
for _, node in ipairs(redis.call("ZRANGEBYSCORE", KEYS[1], now, "+inf")) do
  local fleet = redis.call("HGET", KEYS[2], node)
  if fleet then
    found[#found + 1] = node
    found[#found + 1] = fleet
  end
end
return found
`;

/** KEYS: index, record. ARGV: sealed text, life in ms, most records of a group. */
export const PUT_RECORD = `
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

/** KEYS: index, record. */
export const DELETE_RECORD = `
redis.call("ZREM", KEYS[1], KEYS[2])
return redis.call("DEL", KEYS[2])
`;

/** KEYS: directory, leases, fleets. ARGV: node. */
export const LEAVE = `
redis.call("ZREM", KEYS[2], ARGV[1])
redis.call("HDEL", KEYS[3], ARGV[1])
return redis.call("HDEL", KEYS[1], ARGV[1])
`;

/** KEYS: session. ARGV: owner, fence, text, ttl. Returns 1 when it was kept. */
export const PUT_SESSION = `
local kept = redis.call("HMGET", KEYS[1], "owner", "fence", "v")
if kept[3] and kept[3] ~= "1" then return 0 end
if kept[1] and (kept[1] ~= ARGV[1] or tonumber(kept[2]) > tonumber(ARGV[2])) then return 0 end
redis.call("HSET", KEYS[1], "v", "1", "owner", ARGV[1], "fence", ARGV[2], "text", ARGV[3])
redis.call("PEXPIRE", KEYS[1], ARGV[4])
return 1
`;

/** KEYS: session. ARGV: owner, the fence it was read with, ttl. Returns the text, or nothing. */
export const CLAIM_SESSION = `
local kept = redis.call("HMGET", KEYS[1], "fence", "text", "v")
if kept[1] ~= ARGV[2] or kept[3] ~= "1" then return false end
redis.call("HSET", KEYS[1], "owner", ARGV[1], "fence", tostring(tonumber(ARGV[2]) + 1))
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return kept[2]
`;

/** KEYS: session. ARGV: owner, ttl. Returns 1 when it is another's. */
export const TOUCH_SESSION = `
local owner = redis.call("HGET", KEYS[1], "owner")
if not owner then return 0 end
if owner ~= ARGV[1] then return 1 end
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return 0
`;

/** KEYS: session. ARGV: owner. */
export const DELETE_SESSION = `
if redis.call("HGET", KEYS[1], "owner") == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0
`;

/**
 * Counts under several keys at once. KEYS: one for each rule. ARGV: three for each rule: "r", the microseconds of one event and
 * the burst (GCRA: of each key one time is kept); or "w", the microseconds of a window and the most in it (of each key a count
 * for each sixtieth of the window, their sum `n`, and the oldest of them, `o`).
 */
export const TAKE = `
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
local wait = 0
local next = {}
for i, key in ipairs(KEYS) do
  local kind, a, b = ARGV[i * 3 - 2], tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3])
  if kind == "r" then
    local kept = tonumber(redis.call("GET", key) or now)
    next[i] = math.max(kept, now) + a
    wait = math.max(wait, next[i] - now - b * a)
  else
    local width = a / 60
    local slot = math.floor(now / width)
    local head = redis.call("HMGET", key, "n", "o")
    local n, oldest = tonumber(head[1] or 0), tonumber(head[2] or slot)
    local from = oldest
    while oldest < slot - 60 and n > 0 do
      local count = redis.call("HGET", key, oldest)
      if count then
        n = n - count
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
    next[i] = { n, oldest, slot }
    if n >= b then
      local surplus, at = n - b, oldest
      while at < slot do
        surplus = surplus - (redis.call("HGET", key, at) or 0)
        if surplus < 0 then break end
        at = at + 1
      end
      wait = math.max(wait, (at + 61) * width - now, 1000)
    end
  end
end
if wait > 0 then return math.ceil(wait / 1000) end
for i, key in ipairs(KEYS) do
  if ARGV[i * 3 - 2] == "r" then
    redis.call("SET", key, string.format("%.0f", next[i]), "PX", math.max(1, math.ceil((next[i] - now) / 1000)))
  else
    redis.call("HSET", key, "n", next[i][1] + 1, "o", next[i][2])
    redis.call("HINCRBY", key, next[i][3], 1)
    redis.call("PEXPIRE", key, math.ceil(tonumber(ARGV[i * 3 - 1]) * 61 / 60000))
  end
end
return 0
`;

/** KEYS: lock. ARGV: the holder's secret. */
export const RELEASE = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0
`;

/**
 * KEYS: task, index of its principal. ARGV: record, ttl in ms, "1" for one that has ended, task id, most tasks of one
 * principal. Returns 1 when it was kept, 0 without room, -1 when it has ended already.
 */
export const PUT_TASK = `
local kept = redis.call("HGET", KEYS[1], "over")
if kept == "1" then return -1 end
if not kept then
  local t = redis.call("TIME")
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", now)
  if redis.call("ZCARD", KEYS[2]) >= tonumber(ARGV[5]) then return 0 end
  redis.call("ZADD", KEYS[2], now + tonumber(ARGV[2]), ARGV[4])
end
redis.call("HSET", KEYS[1], "v", "1", "text", ARGV[1], "over", ARGV[3])
redis.call("PEXPIRE", KEYS[1], ARGV[2])
if redis.call("PTTL", KEYS[2]) < tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[2], ARGV[2]) end
return 1
`;
