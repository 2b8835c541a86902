// `mcp-secure-local doctor --redis URL`: says whether a Redis is fit for what processes share, and if not what to change.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { inspectRedis, type RedisReport } from "@secure-local/mcp/redis";
import { type CommandLine, UsageError } from "./command-line.js";
import { loadPolicy } from "../policy/load-policy.js";
import { KnownPeople } from "../server/http-options.js";
import { namedTokens } from "./named-tokens.js";
import { clusterPlace, type ClusterSettings, clusterSettings, storedToken } from "./serve-http-settings.js";
import { policyFile, tokenFile } from "./settings.js";
import { complain, ExitCode, print, printJson, styled } from "./terminal.js";

/** A clock so far off makes the times of records hard to compare; sharing itself goes by the clock of Redis. */
const CLOCK_MS = 5_000;

/** Resolves with 2 and one sentence for each thing that is wrong. Rejects with BAD_SHARE for what keeps processes from sharing at all. */
export async function redisDoctor(line: CommandLine): Promise<number> {
  if (line.words.length > 1)
    throw new UsageError(`doctor --redis takes no target, not "${line.words[1]}"; leave it out`);
  const settings = clusterSettings(line);
  if (settings === undefined) throw new UsageError("doctor needs an address of Redis, as in --redis redis://127.0.0.1");
  const keys = keysFor(line, settings);
  const report = await inspectRedis(settings.redis, settings.prefix);
  const stranger = await refusalThere(line, settings, keys);
  const wrong = [...faultsOf(report), ...(stranger === undefined ? [] : [stranger])];
  if (line.json) printJson({ ok: wrong.length === 0, ...report, wrong });
  else if (wrong.length > 0) for (const each of wrong) complain(`mcp-secure-local: ${each}`);
  else print(`${styled("green", "ok")}  ${told(report)}`);
  return wrong.length === 0 ? ExitCode.Ok : ExitCode.Usage;
}

/** Those of the file; none where there is none yet at the usual place, which the first start of `serve` makes. */
function keysFor(line: CommandLine, settings: ClusterSettings): readonly string[] | undefined {
  if (line.shareKey === undefined && !existsSync(settings.keyFile)) return undefined;
  return clusterPlace(settings).keys;
}

/** Why `serve` with these options would be refused by the processes that share there; undefined where it would be let in. */
async function refusalThere(
  line: CommandLine,
  settings: ClusterSettings,
  keys: readonly string[] | undefined,
): Promise<string | undefined> {
  const { refusalBy } = await import("../cluster/open-cluster.js");
  const { commonOf, known } = await import("./serve-http-command.js");
  const policy = await loadPolicy(policyFile(line), line.profile);
  const token = existsSync(tokenFile()) ? storedToken(tokenFile()) : undefined;
  const people = new KnownPeople(line.tokens === undefined ? [] : namedTokens(line.tokens, token));
  const common = { ...commonOf(policy), "--profile": [line.profile ?? ""], ...known(token, people) };
  // A key of nobody: whoever is there has another one.
  const used = keys ?? [randomBytes(32).toString("base64")];
  const why = await refusalBy({ redis: settings.redis, prefix: settings.prefix, keys: used }, common);
  if (why === undefined) return undefined;
  const keyless = keys === undefined ? `; there is no key at ${settings.keyFile}: copy theirs there` : "";
  return `serve would be refused here: ${why.replace(/^share: /, "")}${keyless}`;
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
