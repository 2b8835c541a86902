// Many processes, one server, on Redis: the value of `share`.
import { keysOf, shareOver, type ShareOptions } from "../cluster/member.js";
import type { SharedStores } from "../cluster/stores.js";
import type { Share } from "../http/server/http-cluster.js";
import { checkRedis, type RedisReport } from "./check-redis.js";
import { openDoor, type RedisTarget } from "./door.js";
import { RedisStores } from "./redis-stores.js";

/** How processes share over Redis. */
export interface RedisClusterOptions extends ShareOptions {
  /** Begins every key in Redis: letters, digits, `_`, `-`, `.` and `:`. Default `mcp`. Other servers need another. */
  readonly prefix?: string;
}

/**
 * Lets many processes of one server share over Redis 6.2 or later: `redis://…`, `rediss://…`, `redis+sentinel://…`,
 * `redis+cluster://…` (these load `ioredis`, which you install), or a client of ioredis or @redis/client. Throws BAD_SHARE for
 * options that make no sense; `serveHttp` rejects with it when Redis is not fit.
 */
export function redisCluster(target: RedisTarget, { prefix, ...options }: RedisClusterOptions): Share {
  return shareOver(new RedisStores(target, { keys: keysOf(options.key), prefix }), options);
}

/**
 * What processes share in Redis, for `shareOver` and for uses of your own: limits, marks, locks, records, a bus. Throws BAD_SHARE
 * for options that make no sense; `open` rejects with it when Redis is not fit.
 */
export function redisStores(
  target: RedisTarget,
  { key, prefix }: Pick<RedisClusterOptions, "key" | "prefix">,
): SharedStores {
  return new RedisStores(target, { keys: keysOf(key), prefix });
}

/** Looks whether a Redis is fit to be shared, and what it is. Rejects with BAD_SHARE, in one sentence that says what to change. */
export async function inspectRedis(target: RedisTarget, prefix = "mcp"): Promise<RedisReport> {
  const door = await openDoor(target);
  try {
    return await checkRedis(door, prefix);
  } finally {
    door.close();
  }
}
