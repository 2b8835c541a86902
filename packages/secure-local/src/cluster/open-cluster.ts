// Joins the other processes of this server over Redis, with what they share. Loaded where `--redis` is given, and
// nowhere else.
import { createHmac, type KeyObject } from "node:crypto";
import { basename } from "node:path";
import { LocalError } from "@secure-local/mcp/client/node";
import {
  FairLimits,
  fleetOf,
  RECORD_TEXT,
  type RecordStore,
  type Share,
  type SharedStores,
  shareOver,
} from "@secure-local/mcp/cluster";
import { redisStores } from "@secure-local/mcp/redis";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
import { chainOf, checkpointKey, headText, publicPem, readHeadText, type SignedHead } from "../audit/checkpoint.js";
import type { RecordLink } from "../audit/event-text.js";
import type { ApprovalChannel } from "../guard/approvals/approvals.js";
import type { CallerMemory } from "../guard/rate-limits.js";
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
  /** Why it cannot, for anybody: with no address and no password. Undefined while it can. */
  readonly whyAway: () => string | undefined;
  /** To be called once requests are served. Rejects with UNREACHABLE, and with BAD_SHARE where something else is kept. */
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
  const { policy, parts } = agreed(keys, common);
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
  const { bus, records } = stores;
  const heads = new AuditHeads({ node, records, key: checkpointKey(auditKey), witnessMs });
  const questions = new SharedQuestions({ node, bus, records, local, away: () => presence.away });
  let quiet = (): void => undefined;
  return {
    name: stores.name,
    node,
    share,
    memory: new SharedMemory(stores, { processes: () => nodes.size, away: () => presence.away }),
    channel: questions,
    heads,
    away: () => presence.away,
    whyAway: () => presence.why,
    async start(audit, metrics) {
      presence.audit = audit;
      await questions.start();
      await heads.start(audit, { redis: stores.name, prefix });
      quiet = tellMetrics(stores.records, node, metrics);
      const others = [...nodes.keys()].filter((each) => each !== node).length;
      say(`shares over ${stores.name} as ${node}, with ${others === 1 ? "1 other" : `${others || "no"} others`}`);
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

/** Fingerprints of what all processes have to have alike. */
function agreed(
  keys: readonly string[],
  common: ClusterOptions["common"],
): {
  readonly policy: () => readonly string[];
  readonly parts: () => Readonly<Record<string, readonly string[]>>;
} {
  return {
    policy: () => fingerprints(keys, Object.values(common()).flat()),
    parts: () =>
      Object.fromEntries(Object.entries(common()).map(([name, values]) => [name, fingerprints(keys, values)])),
  };
}

/** Why the processes that share there would refuse one with these keys and this in common; undefined where they would not. Joins nothing. */
export async function refusalBy(
  { redis, prefix, keys }: ClusterPlace,
  common: ReturnType<ClusterOptions["common"]>,
): Promise<string | undefined> {
  const stores = redisStores(redis, { key: keys, ...(prefix === undefined ? {} : { prefix }) });
  const { policy, parts } = agreed(keys, () => common);
  try {
    await stores.open(newName(), fleetOf(keys, policy, parts));
    return undefined;
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    if (code === "BAD_SHARE") return message;
    throw error;
  } finally {
    await stores.close();
  }
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
  const { name, sessions, tasks, limits, marks, locks, records, streams, bus, mail } = stores;
  return {
    ...{ name, sessions, tasks, limits, marks, locks, records, streams, bus, mail },
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

/** Signs of life in a row after which a Redis that was full has room: it takes some while it is full, too. */
const ROOM_BEATS = 10;

/** Knows by the signs of life, one a second, whether Redis is there, and tells of it once when it goes and once when it is back. */
export class Presence {
  /** Where it is recorded, once there is a log. */
  audit: AuditSink | undefined;
  readonly #name: string;
  readonly #say: (line: string) => void;
  /** Since when it is away, by `performance.now()`. */
  #since: number | undefined;
  /** Signs of life that it has to take before it counts as back. */
  #due = 0;
  #why: string | undefined;

  constructor(name: string, say: (line: string) => void) {
    this.#name = name;
    this.#say = say;
  }

  get away(): boolean {
    return this.#since !== undefined;
  }

  /** Why it is away, as anybody may know it; undefined while it is there. */
  get why(): string | undefined {
    return this.away ? this.#why : undefined;
  }

  gone(error: Error): void {
    const { message, cause } = error;
    this.#why = openly(this.#name, error);
    const isFull = cause instanceof Error && cause.message.startsWith("OOM ");
    this.#due = isFull || this.#due > 0 ? ROOM_BEATS : 0;
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    const reason = message.includes(this.#name) ? message : `${this.#name} cannot be used: ${message}`;
    this.#say(`redis: ${reason}; ${WITHOUT}`);
    this.#record({ kind: "cluster.away", detail: { redis: this.#name, reason } });
  }

  back(): void {
    if (this.#since === undefined || --this.#due > 0) return;
    this.#due = 0;
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

/** What may be said of Redis to anybody; what else it or its client says may hold an address. */
const OPEN_WHY =
  /^(?:is full: raise its maxmemory|cannot be reached: (?:the connection was (?:refused|lost)|no answer within \d+ ms))/;

/** Why Redis is away without where it is: of words that nobody here has written there is only the first, which names the error. */
function openly(name: string, { message, cause }: Error): string {
  const said = message.startsWith(`${name} `) ? message.slice(name.length + 1) : "";
  const [known] = OPEN_WHY.exec(said) ?? [];
  if (known !== undefined) return `Redis ${known}`;
  const { code, message: words = "" } = (cause ?? {}) as { readonly code?: unknown; readonly message?: string };
  const [word] = /^[A-Z][A-Z_]+\b/.exec(typeof code === "string" ? code : words) ?? [];
  return word === undefined ? "Redis cannot be used" : `Redis cannot be used (${word})`;
}

/**
 * Tells what is common from what is not, and nothing of it to who has none of the keys. One for each key: while keys are changed,
 * two processes have one key in common at least, and know by it that all the rest is the same.
 */
function fingerprints(keys: readonly string[], common: readonly string[]): readonly string[] {
  const text = JSON.stringify(common);
  return keys.map((key) =>
    createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64url").slice(0, 22),
  );
}

/** Names this process in ids: small letters and digits. */
function newName(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 12);
}

// The metrics of all processes of a server as one text: each sample with the name of its process.

const METRICS = "metrics";
/** Milliseconds between two texts of a process. */
const TELL_MS = 5_000;
/** A process that has said nothing for so long is left out. */
const METRICS_LIFE_MS = 16_000;

/** Tells the other processes of this one's metrics from now on; returns what ends that. */
function tellMetrics(records: RecordStore, node: string, text: () => string): () => void {
  const tell = async (): Promise<void> => records.put(METRICS, node, short(text()), METRICS_LIFE_MS);
  const told = (): void => void tell().catch(() => undefined);
  told();
  const timer = setInterval(told, TELL_MS).unref();
  return () => clearInterval(timer);
}

/** Of a text that is too long first the buckets of histograms go, then what comes last. */
function short(text: string): string {
  if (text.length <= RECORD_TEXT) return text;
  const lines = text.split("\n").filter((line) => !/^\w+_bucket\{/.test(line));
  let length = 0;
  return lines.filter((line) => (length += line.length + 1) <= RECORD_TEXT).join("\n");
}

/** Rejects with UNREACHABLE when nobody can be asked. */
export async function allMetrics(records: RecordStore): Promise<string> {
  return joinedMetrics(await records.list(METRICS));
}

/** Joins texts for Prometheus by the names of their processes: samples of one metric stand together, as the format wants it. */
export function joinedMetrics(texts: ReadonlyMap<string, string>): string {
  const metrics = new Map<string, { readonly head: readonly string[]; readonly samples: string[] }>();
  for (const [node, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    let head: string[] = [];
    let name = "";
    for (const line of text.split("\n")) {
      if (line.startsWith("# HELP ")) [head, name] = [[line], line.split(" ", 3)[2] ?? ""];
      else if (line.startsWith("#")) head.push(line);
      else if (line !== "") {
        const metric = metrics.get(name) ?? { head, samples: [] };
        metrics.set(name, metric);
        metric.samples.push(withNode(line, node));
      }
    }
  }
  return [...metrics.values()].map(({ head, samples }) => `${[...head, ...samples].join("\n")}\n`).join("");
}

function withNode(sample: string, node: string): string {
  const label = `node="${node}"`;
  // A value holds neither brace nor space: what stands after the last of them is the value, whatever labels say.
  const end = sample.lastIndexOf("}");
  if (end !== -1) return `${sample.slice(0, end)},${label}${sample.slice(end)}`;
  const space = sample.lastIndexOf(" ");
  return `${sample.slice(0, space)}{${label}}${sample.slice(space)}`;
}

// What the processes of one server remember together of callers: limits, consents and what was read, each by its name.

const MINUTE_MS = 60_000;
/** Names of which is remembered that they have no place now; the oldest make room. */
const MOST_FULL = 10_000;

export class SharedMemory implements CallerMemory {
  readonly #stores: SharedStores;
  readonly #limits: FairLimits;
  readonly #away: () => boolean;
  /** Until when a name surely has no place, by `performance.now()`: whoever asks meanwhile need not be counted. */
  readonly #full = new Map<string, number>();

  constructor(stores: SharedStores, now: { readonly processes: () => number; readonly away: () => boolean }) {
    this.#stores = stores;
    this.#limits = new FairLimits(stores.limits, now.processes);
    this.#away = now.away;
  }

  async take(caller: string | undefined, names: Readonly<Record<string, number>>): Promise<number> {
    const now = performance.now();
    const entries = Object.entries(names).map(([name, most]) => [JSON.stringify([caller ?? "", name]), most] as const);
    const all = JSON.stringify(entries);
    const until = this.#full.get(all) ?? 0;
    if (until > now) return until - now;
    const rules = entries.map(([key, most]) => [key, { most, windowMs: MINUTE_MS }] as const);
    const waitMs = await this.#limits.take(Object.fromEntries(rules));
    this.#full.delete(all);
    if (waitMs > 0) this.#full.set(all, performance.now() + waitMs);
    if (this.#full.size > MOST_FULL) this.#full.delete(this.#full.keys().next().value as string);
    return waitMs;
  }

  async keep(kind: string, name: string, text: string, lifeMs: number): Promise<void> {
    await this.#stores.records.put(`${kind} ${bucketOf(name)}`, name, text, lifeMs);
  }

  async find(kind: string, name: string): Promise<string | undefined> {
    // Where nothing can be written, what people say now is not known to the others, though what they have said may still be read.
    if (kind === "consent" && this.#away())
      throw new LocalError("UNREACHABLE", `${this.#stores.name} cannot be used now`);
    return this.#stores.records.get(`${kind} ${bucketOf(name)}`, name);
  }

  async list(kind: string): Promise<ReadonlyMap<string, string>> {
    const groups = Array.from({ length: BUCKETS }, (_, at) => this.#stores.records.list(`${kind} ${at}`));
    return new Map((await Promise.all(groups)).flatMap((group) => [...group]));
  }

  async drop(kind: string, name: string): Promise<void> {
    await this.#stores.records.delete(`${kind} ${bucketOf(name)}`, name);
  }
}

/** A group holds so many records only: many callers are many groups. */
const BUCKETS = 256;

function bucketOf(name: string): string {
  let sum = 0;
  for (let at = 0; at < name.length; at++) sum = (sum * 31 + name.charCodeAt(at)) % BUCKETS;
  return String(sum);
}

// Signs where this process's chain of records has come to, for all to find, and records in it where the others' had come to.

/** Milliseconds between two heads: what was cut off later than that is found. */
const HEAD_MS = 1_000;
/** Milliseconds between two records of the others' heads. */
const WITNESS_MS = 60_000;
/** A head is kept long after its process has ended, so that its log cannot go unnoticed. */
const HEAD_LIFE_MS: number = 30 * 24 * 60 * 60_000;
/** It is written again although nothing has happened, long before that. */
const AGAIN_MS: number = 24 * 60 * 60_000;
/** Heads in one record of the log. */
const PIECE = 50;
const HEADS = "heads";

export interface AuditHeadsOptions {
  readonly node: string;
  readonly records: RecordStore;
  readonly key: KeyObject;
  /** Default a minute. */
  readonly witnessMs?: number | undefined;
}

export class AuditHeads {
  readonly #options: AuditHeadsOptions;
  #audit: (AuditSink & { readonly file: string }) | undefined;
  #chain: string | undefined;
  #latest: RecordLink | undefined;
  #written = { seq: 0, at: 0 };
  #writing: Promise<void> | undefined;
  /** Of each other chain the last record that was noted here. */
  readonly #noted = new Map<string, number>();
  #timers: NodeJS.Timeout[] = [];

  constructor(options: AuditHeadsOptions) {
    this.#options = options;
  }

  /** The log has come to this record, safely. Never throws. */
  reached(link: RecordLink): void {
    this.#latest = link;
  }

  /** Begins with the log that is told of by `reached`. */
  async start(audit: AuditSink & { readonly file: string }, about: Readonly<Record<string, unknown>>): Promise<void> {
    const { node, key, witnessMs = WITNESS_MS } = this.#options;
    this.#audit = audit;
    await audit.record({ kind: "cluster.joined", detail: { node, ...about, publicKey: publicPem(key) } });
    await this.#write();
    const every = (ms: number, run: () => Promise<unknown>): void =>
      void this.#timers.push(setInterval(() => void run().catch(() => undefined), ms).unref());
    every(HEAD_MS, () => this.#write());
    every(witnessMs, () => this.witness());
    await this.witness().catch(() => undefined);
  }

  /** Records what the other processes have signed since it was last recorded. */
  async witness(): Promise<void> {
    const heads = (await signedHeads(this.#options.records)).filter(
      ({ chain, seq }) => chain !== this.#chain && seq > (this.#noted.get(chain) ?? 0),
    );
    for (let at = 0; at < heads.length; at += PIECE) {
      const piece = heads.slice(at, at + PIECE);
      const detail = { heads: piece.map(({ publicKey: _, ...head }) => head) };
      await this.#audit?.record({ kind: "cluster.heads", detail });
      for (const { chain, seq } of piece) this.#noted.set(chain, seq);
    }
  }

  /** Signs the last record. To be called when nothing more is recorded. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.#writing?.catch(() => undefined);
    await this.#write().catch(() => undefined);
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeOnce().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #writeOnce(): Promise<void> {
    const { node, key, records } = this.#options;
    const link = this.#latest;
    const file = this.#audit?.file;
    const now = performance.now();
    if (file === undefined || link === undefined) return;
    if (link.seq === this.#written.seq && now - this.#written.at < AGAIN_MS) return;
    this.#chain ??= await chainOf(file);
    if (this.#chain === undefined) return;
    const head = { chain: this.#chain, node, file: basename(file), ...link };
    await records.put(HEADS, this.#chain, headText(head, key), HEAD_LIFE_MS);
    this.#written = { seq: link.seq, at: now };
  }
}

/** What all processes have signed, as far as it is signed with the keys it names. */
export async function signedHeads(records: RecordStore): Promise<readonly SignedHead[]> {
  const heads = [...(await records.list(HEADS)).values()].map(readHeadText);
  return heads.filter((head) => head !== undefined);
}
