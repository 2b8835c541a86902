// Joins the other processes of this server over Redis. Loaded where `--redis` is given, and nowhere else.
import { createHmac } from "node:crypto";
import { fleetOf, type Share, shareOver, type SharedStores } from "@secure-local/mcp/cluster";
import { redisStores } from "@secure-local/mcp/redis";
import type { AuditSink } from "../audit/audit-event.js";
import { checkpointKey } from "../audit/checkpoint.js";
import type { ApprovalChannel } from "../guard/approvals/approvals.js";
import type { CallerMemory } from "../guard/caller-memory.js";
import { allMetrics, tellMetrics } from "./all-metrics.js";
import { AuditHeads, signedHeads } from "./audit-heads.js";
import { SharedMemory } from "./shared-memory.js";
import { SharedQuestions } from "./shared-questions.js";

/** Where processes share, and what shows that they belong together. */
export interface ClusterPlace {
  readonly redis: string;
  /** Begins every key in Redis. */
  readonly prefix: string | undefined;
  /** 32 bytes each, in base64: the first is used, all are accepted. */
  readonly keys: readonly string[];
}

export interface ClusterOptions extends ClusterPlace {
  /** Where the other processes reach this one. */
  readonly address: string | undefined;
  /** What has to be the same in all processes, as it is now: policy, approved plugins and servers, token. */
  readonly common: () => readonly string[];
  /** The file of the key that heads of the audit log are signed with. */
  readonly auditKey: string;
  /** Shows questions to the people at this process. */
  readonly local: ApprovalChannel;
  readonly witnessMs?: number | undefined;
}

/** This process among those of its server. */
export interface OpenCluster {
  /** For people: the address of Redis, without its password. */
  readonly name: string;
  readonly node: string;
  readonly share: Share;
  readonly memory: CallerMemory;
  readonly channel: ApprovalChannel;
  readonly heads: AuditHeads;
  /** To be called once requests are served. */
  start(audit: AuditSink & { readonly file: string }, metrics: () => string): Promise<void>;
  /** The metrics of all processes. Rejects with UNREACHABLE. */
  metrics(): Promise<string>;
  /** To be called when nothing is recorded any more. */
  close(): Promise<void>;
}

/** Rejects with a LocalError BAD_SHARE whose one sentence says what to change. */
export async function openCluster(options: ClusterOptions): Promise<OpenCluster> {
  const { redis, prefix, keys, address, common, auditKey, local, witnessMs } = options;
  const stores = redisStores(redis, { key: keys, ...(prefix === undefined ? {} : { prefix }) });
  const node = newName();
  const policy = (): string => fingerprint(keys.at(-1) ?? "", common());
  let nodes: ReadonlyMap<string, string> = new Map();
  const onBeat = (now: ReadonlyMap<string, string>): void => {
    nodes = now;
    questions.present(now);
  };
  const share = shareOver(keptOpen(stores, onBeat), {
    key: keys,
    node,
    policy,
    ...(address === undefined ? {} : { address }),
  });
  const heads = new AuditHeads({ node, records: stores.records, key: checkpointKey(auditKey), witnessMs });
  const questions = new SharedQuestions({ node, bus: stores.bus, records: stores.records, local });
  let quiet = (): void => undefined;
  return {
    name: stores.name,
    node,
    share,
    memory: new SharedMemory(stores, () => nodes.size),
    channel: questions,
    heads,
    async start(audit, metrics) {
      await questions.start();
      await heads.start(audit, { redis: stores.name, prefix });
      quiet = tellMetrics(stores.records, node, metrics);
    },
    metrics: () => allMetrics(stores.records),
    async close() {
      quiet();
      questions.close();
      await stores.close();
    },
  };
}

/** What the processes of a server have signed of their logs. Rejects as `openCluster` does. */
export async function headsIn({ redis, prefix, keys }: ClusterPlace): ReturnType<typeof signedHeads> {
  const stores = redisStores(redis, { key: keys, ...(prefix === undefined ? {} : { prefix }) });
  try {
    await stores.open(newName(), fleetOf(keys));
    return await signedHeads(stores.records);
  } finally {
    await stores.close();
  }
}

/** What is shared outlives the serving: the last records of the log are signed after it has ended. */
function keptOpen(stores: SharedStores, onBeat: (nodes: ReadonlyMap<string, string>) => void): SharedStores {
  const { name, sessions, tasks, limits, marks, locks, records, bus } = stores;
  return {
    ...{ name, sessions, tasks, limits, marks, locks, records, bus },
    open: (node, fleet) => stores.open(node, fleet),
    async beat(node, address) {
      const directory = await stores.beat(node, address);
      onBeat(directory.nodes);
      return directory;
    },
    leave: (node) => stores.leave(node),
    close: () => Promise.resolve(),
  };
}

/** Tells what is common from what is not, and nothing of it to who has not the key. */
function fingerprint(key: string, common: readonly string[]): string {
  return createHmac("sha256", Buffer.from(key, "base64"))
    .update(JSON.stringify(common))
    .digest("base64url")
    .slice(0, 22);
}

/** Names this process in ids: small letters and digits. */
function newName(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 12);
}
