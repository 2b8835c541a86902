// Whether a Redis is fit for what processes share: asked once at the start, and by `doctor --redis`.
import { LocalError } from "../jsonrpc/errors.js";
import type { Door } from "./door.js";

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
  ["EVAL", (key) => ["return redis.call('TIME')", "1", `${key}:1`]],
];

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
  const info = await facts(door);
  const version = info.get("redis_version") ?? "unknown";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw bad(`${name} is Redis ${version}: use version ${OLDEST.join(".")} or later`);
  }
  if (info.get("cluster_enabled") === "1" && !door.isCluster) {
    throw bad(`${name} is one of a Redis Cluster: write redis+cluster:// and the addresses of some of its servers`);
  }
  if (info.get("role") === "slave" && !door.isCluster) {
    throw bad(`${name} is a replica, which takes no writes: name its master, or its Sentinels with redis+sentinel://`);
  }
  const policy = info.get("maxmemory_policy") ?? "unknown";
  const maxmemory = Number(info.get("maxmemory") ?? 0);
  if (maxmemory > 0 && policy !== "noeviction") {
    throw bad(`${name} forgets keys when its memory is full (${policy}): set maxmemory-policy noeviction`);
  }
  const clockMs = await clockOf(door, prefix);
  if (Math.abs(clockMs) > CLOCK_MS) {
    throw bad(`the clock of ${name} is ${Math.round(Math.abs(clockMs) / 1_000)} s off ours: set both by NTP`);
  }
  await tryCommands(door, prefix);
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

async function facts(door: Door): Promise<ReadonlyMap<string, string>> {
  try {
    const text = (await door.run("INFO", [])) as string;
    const lines = text.split("\r\n").map((line) => /^(\w+):(.*)$/.exec(line));
    return new Map(lines.flatMap((line) => (line === null ? [] : [[line[1] as string, line[2] as string]])));
  } catch (error) {
    throw bad(`${door.name} does not answer INFO: ${reason(error)}`);
  }
}

async function clockOf(door: Door, prefix: string): Promise<number> {
  const before = Date.now();
  const [seconds = "0", micros = "0"] = (await trial(door, "EVAL", [
    "return redis.call('TIME')",
    "1",
    `${prefix}:c`,
  ])) as string[];
  return Number(seconds) * 1_000 + Number(micros) / 1_000 - (before + Date.now()) / 2;
}

async function tryCommands(door: Door, prefix: string): Promise<void> {
  for (const [command, args] of TRIALS) await trial(door, command, args(`{${prefix}:c}`));
}

async function trial(door: Door, command: string, args: readonly string[]): Promise<unknown> {
  try {
    return await door.run(command, args);
  } catch (error) {
    throw bad(
      `${door.name} refuses ${command} (${reason(error)}): give this user the right to it on keys that begin with the prefix`,
    );
  }
}

function reason(error: unknown): string {
  return (error as Error).message.split("\n", 1)[0] ?? "";
}

function bad(what: string): LocalError {
  return new LocalError("BAD_SHARE", `share: ${what}`);
}
