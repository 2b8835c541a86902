// The public surface for many processes over Redis.
export { inspectRedis, redisCluster, redisStores, type RedisClusterOptions } from "../redis/redis-stores.js";
export type { RedisReport } from "../redis/redis-scripts.js";
export type { IoRedisLike, NodeRedisLike, RedisTarget } from "../redis/door.js";
export type { ShareKey, ShareOptions } from "../cluster/relay-link.js";
export type { Share } from "../http/server/exchange.js";
export type { TaskRecord, TaskStore } from "./types.js";
export type { SharedStores } from "./cluster.js";
