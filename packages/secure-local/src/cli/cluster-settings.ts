// Reads where the processes of a server share: option first, then environment. The key is a file's, made once like the token.
import { join } from "node:path";
import type { ClusterPlace } from "../cluster/open-cluster.js";
import { configFolder } from "../policy/own-places.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { storedShareKeys } from "./stored-secret.js";

export interface ClusterSettings {
  readonly redis: string;
  readonly prefix: string | undefined;
  readonly address: string | undefined;
  readonly keyFile: string;
}

type ClusterLine = Pick<CommandLine, "redis" | "prefix" | "address" | "shareKey">;

/** Undefined where nothing is shared. @throws UsageError for an option that says nothing without `--redis` */
export function clusterSettings(
  line: ClusterLine,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ClusterSettings | undefined {
  // A password in it would stand in the list of processes, so there is a variable too.
  const redis = line.redis ?? (environment["MCP_SECURE_LOCAL_REDIS"] || undefined);
  if (redis === undefined) {
    const lonely = Object.entries({ "--share-key": line.shareKey, "--address": line.address, "--prefix": line.prefix });
    const [given] = lonely.find(([, value]) => value !== undefined) ?? [];
    if (given === undefined) return undefined;
    throw new UsageError(`${given} belongs to --redis: say where the processes share, as in --redis redis://127.0.0.1`);
  }
  const keyFile = line.shareKey ?? join(configFolder(environment), "share-key");
  return { redis, prefix: line.prefix, address: line.address, keyFile };
}

/** With the keys of the file, of which one is made if there is none. @throws UsageError for a file not fit to hold them */
export function clusterPlace({ redis, prefix, keyFile }: ClusterSettings): ClusterPlace {
  return { redis, prefix, keys: storedShareKeys(keyFile) };
}
