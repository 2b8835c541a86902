// Joins the other processes of this server over Redis. Loaded where `--redis` is given, and nowhere else.
import { createHmac } from "node:crypto";
import { fleetOf, type Share, shareOver, type SharedStores } from "@secure-local/mcp/cluster";
import { redisStores } from "@secure-local/mcp/redis";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
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
  /** What has to be the same in all processes, as it is now, by the names a refusal gives it. */
  readonly common: () => Readonly<Record<string, readonly string[]>>;
  /** The file of the key that heads of the audit log are signed with. */
  readonly auditKey: string;
  /** Shows questions to the people at this process. */
  readonly local: ApprovalChannel;
  /** Tells the operator when Redis goes away, and when it is back. */
  readonly say: (line: string) => void;
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
  /** Whether what is shared cannot be reached now. */
  readonly away: () => boolean;
  /** To be called once requests are served. */
  start(audit: AuditSink & { readonly file: string }, metrics: () => string): Promise<void>;
  /** The metrics of all processes. Rejects with UNREACHABLE. */
  metrics(): Promise<string>;
  /** To be called when nothing is recorded any more. */
  close(): Promise<void>;
}

/** Rejects with a LocalError BAD_SHARE whose one sentence says what to change. */
export async function openCluster(options: ClusterOptions): Promise<OpenCluster> {
  const { redis, prefix, keys, address, common, auditKey, local, say, witnessMs } = options;
  const stores = redisStores(redis, { key: keys, ...(prefix === undefined ? {} : { prefix }) });
  const node = newName();
  const key = keys.at(-1) ?? "";
  const policy = (): string => fingerprint(key, Object.values(common()).flat());
  const parts = (): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(common()).map(([name, values]) => [name, fingerprint(key, values)]));
  let nodes: ReadonlyMap<string, string> = new Map();
  const onBeat = (now: ReadonlyMap<string, string>): void => {
    nodes = now;
    questions.present(now);
  };
  const presence = new Presence(stores.name, say);
  const share = shareOver(keptOpen(stores, presence, onBeat), {
    ...{ key: keys, node, policy, parts },
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
    away: () => presence.away,
    async start(audit, metrics) {
      presence.audit = audit;
      await questions.start();
      await heads.start(audit, { redis: stores.name, prefix });
      quiet = tellMetrics(stores.records, node, metrics);
    },
    metrics: () => allMetrics(stores.records),
    async close() {
      quiet();
      presence.audit = undefined;
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
function keptOpen(
  stores: SharedStores,
  presence: Presence,
  onBeat: (nodes: ReadonlyMap<string, string>) => void,
): SharedStores {
  const { name, sessions, tasks, limits, marks, locks, records, bus } = stores;
  return {
    ...{ name, sessions, tasks, limits, marks, locks, records, bus },
    open: (node, fleet) => stores.open(node, fleet),
    async beat(node, address) {
      const directory = await stores.beat(node, address).catch((error: unknown) => {
        presence.gone(error as Error);
        throw error;
      });
      presence.back();
      onBeat(directory.nodes);
      return directory;
    },
    leave: (node) => stores.leave(node),
    close: () => Promise.resolve(),
  };
}

const WITHOUT =
  "until it is back calls that need approval are refused, and each process keeps to its part of the limits; everything else goes on";

/** Knows by the signs of life, one a second, whether Redis is there, and tells of it once when it goes and once when it is back. */
class Presence {
  /** Where it is recorded, once there is a log. */
  audit: AuditSink | undefined;
  readonly #name: string;
  readonly #say: (line: string) => void;
  /** Since when it is away, by `performance.now()`. */
  #since: number | undefined;

  constructor(name: string, say: (line: string) => void) {
    this.#name = name;
    this.#say = say;
  }

  get away(): boolean {
    return this.#since !== undefined;
  }

  gone({ message }: Error): void {
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    const reason = message.includes(this.#name) ? message : `${this.#name} cannot be used: ${message}`;
    this.#say(`redis: ${reason}; ${WITHOUT}`);
    this.#record({ kind: "cluster.away", detail: { redis: this.#name, reason } });
  }

  back(): void {
    if (this.#since === undefined) return;
    const seconds = Math.round((performance.now() - this.#since) / 1_000);
    this.#since = undefined;
    this.#say(`redis: ${this.#name} is reached again, after ${seconds} s`);
    this.#record({ kind: "cluster.back", detail: { redis: this.#name, seconds } });
  }

  /** Nobody waits for it, and what is wrong with the log is told elsewhere. */
  #record(event: AuditEvent): void {
    void this.audit?.record(event).catch(() => undefined);
  }
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
