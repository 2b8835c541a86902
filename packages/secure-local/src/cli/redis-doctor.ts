// `mcp-secure-local doctor --redis URL`: says whether a Redis is fit for what processes share, and if not what to change.
import { inspectRedis, type RedisReport } from "@secure-local/mcp/redis";
import { type CommandLine, UsageError } from "./command-line.js";
import { clusterSettings } from "./serve-http-settings.js";
import { complain, ExitCode, print, printJson, styled } from "./terminal.js";

/** A clock so far off makes the times of records hard to compare; sharing itself goes by the clock of Redis. */
const CLOCK_MS = 5_000;

/** Resolves with 2 and one sentence for each thing that is wrong. Rejects with BAD_SHARE for what keeps processes from sharing at all. */
export async function redisDoctor(line: CommandLine): Promise<number> {
  if (line.words.length > 1)
    throw new UsageError(`doctor --redis takes no target, not "${line.words[1]}"; leave it out`);
  const settings = clusterSettings(line);
  if (settings === undefined) throw new UsageError("doctor needs an address of Redis, as in --redis redis://127.0.0.1");
  const report = await inspectRedis(settings.redis, settings.prefix);
  const wrong = faultsOf(report);
  if (line.json) printJson({ ok: wrong.length === 0, ...report, wrong });
  else if (wrong.length > 0) for (const each of wrong) complain(`mcp-secure-local: ${each}`);
  else print(`${styled("green", "ok")}  ${told(report)}`);
  return wrong.length === 0 ? ExitCode.Ok : ExitCode.Usage;
}

function faultsOf({ persistence, policy, clockMs }: RedisReport): readonly string[] {
  const faults: string[] = [];
  if (persistence === "none")
    faults.push("Redis keeps nothing over a restart, and sessions and tasks end with it: set appendonly yes");
  if (policy !== "noeviction")
    faults.push(`Redis would forget keys once it has a maxmemory (${policy}): set maxmemory-policy noeviction`);
  if (Math.abs(clockMs) > CLOCK_MS)
    faults.push(`the clock of Redis is ${Math.round(Math.abs(clockMs) / 1_000)} s off this machine's: set both by NTP`);
  return faults;
}

function told({ version, cluster, persistence, policy }: RedisReport): string {
  const kept =
    persistence === "unknown" ? "whether it keeps data over a restart is not told" : `keeps data by ${persistence}`;
  return `Redis ${version}${cluster ? ", a Redis Cluster" : ""}: ${policy}, ${kept}`;
}
