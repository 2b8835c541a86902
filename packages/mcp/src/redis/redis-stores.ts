// `redisCluster` and its stores in Redis 6.2 or later. What is kept can be read by nobody without the key, every key ends by
// itself, and what is put back after its end is not read.

import { randomBytes } from "node:crypto";
import { checkOptions } from "../protocol/capabilities.js";
import { LocalError } from "../jsonrpc/errors.js";
import { exactJson, exactValue } from "../jsonrpc/exact-numbers.js";
import { DEFAULT_SERVER_LIMITS } from "../server/limits.js";
import type { TaskPage, TaskRecord, TaskStore } from "../server/tasks/task-store.js";
import { isFinal } from "../protocol/extensions/tasks.js";
import {
  type Bus,
  checkFleet,
  checkRecord,
  type Directory,
  type Fleet,
  LEASE_MS,
  type LimitStore,
  type LockStore,
  type MarkStore,
  RECORDS,
  type RecordStore,
  type SessionStore,
  type SharedSession,
  type SharedStores,
  STEADY_MS,
  type StreamStore,
} from "../cluster/stores.js";
import { checkRedis, type Door, openDoor, type RedisReport, type RedisTarget, idOfSealed, Vault } from "./door.js";
import { digest, MAIL, type Place, RedisBus, RedisStreams } from "./redis-streams.js";
import {
  BEAT,
  CLAIM_SESSION,
  DELETE_RECORD,
  DELETE_SESSION,
  FLEETS,
  LEAVE,
  LIST_RECORDS,
  PUT_RECORD,
  PUT_SESSION,
  PUT_TASK,
  RECORD_VERSION,
  RELEASE,
  TAKE,
  TOUCH_SESSION,
} from "./redis-scripts.js";
import { SHARE_MEMBERS, type ShareOptions, keysOf, shareOver } from "../cluster/member.js";
import type { Share } from "../http/server/exchange.js";

/** Tries to take a session whose owner writes it at the same moment. */
const TRIALS = 3;

interface KeptSession {
  readonly version: number;
  readonly sealed: string;
  readonly session: SharedSession | undefined;
}

/** Scripts have to read whose a session is, so that stands beside what is sealed: another owner or fence, and it does not open. */
function placeOf(key: string, owner: string, fence: number): string {
  return `${key} ${owner} ${fence}`;
}

class RedisSessions implements SessionStore {
  readonly #place: () => Place;

  constructor(place: () => Place) {
    this.#place = place;
  }

  async put(id: string, { owner, fence, text }: SharedSession, ttlMs: number): Promise<boolean> {
    const { door, vault } = this.#place();
    const key = this.#key(id);
    const args = [owner, String(fence), vault.seal(placeOf(key, owner, fence), text, ttlMs), String(ttlMs)];
    return (await door.script(PUT_SESSION, [key], args)) === 1;
  }

  async get(id: string): Promise<SharedSession | undefined> {
    const kept = await this.#read(id);
    if (kept !== undefined && kept.version > Number(RECORD_VERSION))
      throw new LocalError(
        "NEWER",
        "A newer version of this library wrote the record of a session: update this process",
      );
    return kept?.session;
  }

  async claim(id: string, owner: string, fence: number, ttlMs: number): Promise<SharedSession | undefined> {
    const key = this.#key(id);
    const { door, vault } = this.#place();
    for (let trial = 0; trial < TRIALS; trial++) {
      const { sealed = "", session } = (await this.#read(id)) ?? {};
      if (session?.fence !== fence) return undefined;
      const taken = vault.seal(placeOf(key, owner, fence + 1), session.text, ttlMs);
      const args = [sealed, owner, String(fence), taken, String(ttlMs)];
      if ((await door.script(CLAIM_SESSION, [key], args)) === 1) return { owner, fence: fence + 1, text: session.text };
    }
    return undefined;
  }

  async touch(ids: readonly string[], owner: string, ttlMs: number): Promise<readonly string[]> {
    const lost = await Promise.all(ids.map((id) => this.#touch(id, owner, ttlMs)));
    return ids.filter((_, at) => lost[at]);
  }

  /** Seals it anew, with a later end. True when it is another's. */
  async #touch(id: string, owner: string, ttlMs: number): Promise<boolean> {
    const key = this.#key(id);
    const { door, vault } = this.#place();
    const kept = await this.#read(id);
    // Whose a record is that nobody can read, nobody knows.
    if (kept?.session === undefined) return false;
    const { sealed, session } = kept;
    if (session.owner !== owner) return true;
    // What was put meanwhile has its whole time already.
    const args = [owner, sealed, vault.seal(placeOf(key, owner, session.fence), session.text, ttlMs), String(ttlMs)];
    return (await door.script(TOUCH_SESSION, [key], args)) === 1;
  }

  /** Without a session where there is one that cannot be read. */
  async #read(id: string): Promise<KeptSession | undefined> {
    const { door, vault } = this.#place();
    const key = this.#key(id);
    const fields = ["v", "owner", "fence", "text"];
    const [version, owner, fence, sealed] = (await door.run("HMGET", [key, ...fields])) as (string | null)[];
    if (typeof owner !== "string" || typeof sealed !== "string") return undefined;
    const text = vault.open(placeOf(key, owner, Number(fence)), sealed);
    const session = text === undefined ? undefined : { owner, fence: Number(fence), text };
    return { version: Number(version), sealed, session };
  }

  async delete(id: string, owner: string): Promise<void> {
    await this.#place().door.script(DELETE_SESSION, [this.#key(id)], [owner]);
  }

  #key(id: string): string {
    return `${this.#place().prefix}:s:${digest(id)}`;
  }
}

class RedisTasks implements TaskStore {
  readonly #place: () => Place;

  constructor(place: () => Place) {
    this.#place = place;
  }

  async put(record: TaskRecord): Promise<void> {
    const { door, vault } = this.#place();
    const { task, principal } = record;
    const key = this.#key(task.taskId);
    const ttl = Math.max(1, task.ttlMs ?? DEFAULT_SERVER_LIMITS.taskMaxTtlMs);
    const over = isFinal(task.status) ? "1" : "0";
    const args = [vault.seal(key, exactJson(record), ttl), String(ttl), over, task.taskId];
    const most = String(DEFAULT_SERVER_LIMITS.tasksPerPrincipal);
    const kept = await door.script(PUT_TASK, [key, this.#index(principal)], [...args, most]);
    if (kept === 0)
      throw new LocalError("FULL", "There is no room for more tasks: fetch those that have ended, or wait");
  }

  async get(taskId: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    const record = await this.#read(taskId);
    return record?.principal === principal ? record : undefined;
  }

  async list(principal: string | undefined, { after = "", limit }: TaskPage): Promise<readonly TaskRecord[]> {
    const { door } = this.#place();
    const ids = (await door.run("ZRANGE", [this.#index(principal), "0", "-1"])) as string[];
    const later = ids.filter((id) => id > after).sort();
    const records: TaskRecord[] = [];
    for (const id of later) {
      if (records.length >= limit) break;
      const record = await this.get(id, principal);
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  async delete(taskId: string): Promise<void> {
    await this.#place().door.run("DEL", [this.#key(taskId)]);
  }

  async #read(taskId: string): Promise<TaskRecord | undefined> {
    const { door, vault } = this.#place();
    const key = this.#key(taskId);
    const sealed = (await door.run("HGET", [key, "text"])) as string | null;
    const text = sealed === null ? undefined : vault.open(key, sealed);
    return text === undefined ? undefined : (exactValue(text) as TaskRecord);
  }

  #key(taskId: string): string {
    return `{${this.#place().prefix}:t}:${digest(taskId)}`;
  }

  #index(principal: string | undefined): string {
    const { prefix, vault } = this.#place();
    return `{${prefix}:t}:of:${vault.hidden(principal ?? "")}`;
  }
}

/** Events in one script: beyond them another one begins, so that none keeps Redis from others for long. */
const BATCH = 200;

type Rules = Parameters<LimitStore["take"]>[0];

/** Events that are counted together: many requests arrive at once where it matters what counting costs. */
interface TakeBatch {
  readonly keys: Map<string, { readonly place: number; readonly rule: string; readonly args: readonly string[] }>;
  readonly events: string[];
  readonly waiting: { resolve(waitMs: number): void; reject(error: unknown): void }[];
}

class RedisLimits implements LimitStore {
  readonly #place: () => Place;
  /** Those that were not sent yet; the last one takes more. */
  readonly #batches: TakeBatch[] = [];
  #sending = false;

  constructor(place: () => Place) {
    this.#place = place;
  }

  take(rules: Rules): Promise<number> {
    return new Promise((resolve, reject) => {
      const all = Object.entries(rules).map(([key, rule]) => [key, argsOf(rule)] as const);
      // A key has one rule in a script; who asks with another one, after the rule has changed, is counted by the next.
      const open = this.#batches.at(-1);
      const fits =
        open !== undefined && open.waiting.length < BATCH && all.every(([key, args]) => fit(open, key, args));
      const batch = fits ? open : this.#begin();
      const places = all.map(([key, args]) => placeIn(batch, key, args));
      batch.events.push(String(places.length), ...places);
      batch.waiting.push({ resolve, reject });
    });
  }

  #begin(): TakeBatch {
    const batch: TakeBatch = { keys: new Map(), events: [], waiting: [] };
    this.#batches.push(batch);
    this.#next();
    return batch;
  }

  /** Sends one after the other: what arrives while Redis counts is counted together by the next. */
  #next(): void {
    if (this.#sending || this.#batches.length === 0) return;
    this.#sending = true;
    setImmediate(() => {
      void this.#send(this.#batches.shift() as TakeBatch).finally(() => {
        this.#sending = false;
        this.#next();
      });
    });
  }

  async #send({ keys, events, waiting }: TakeBatch): Promise<void> {
    try {
      const { door, prefix, vault } = this.#place();
      const names = [...keys.keys()].map((key) => `{${prefix}:l}:${vault.hidden(key)}`);
      const rules = [...keys.values()].flatMap(({ args }) => args);
      const waits = (await door.script(TAKE, names, [String(keys.size), ...rules, ...events])) as number[];
      for (const [at, { resolve }] of waiting.entries()) resolve(waits[at] as number);
    } catch (error) {
      // Those behind it would wait as long for the same answer.
      const behind = this.#batches.splice(0).flatMap((each) => each.waiting);
      for (const { reject } of [...waiting, ...behind]) reject(error);
    }
  }
}

function argsOf(rule: Rules[string]): readonly string[] {
  return "most" in rule
    ? ["w", String(rule.windowMs * 1_000), String(rule.most)]
    : ["r", String(1_000_000 / rule.perSecond), String(rule.burst)];
}

function fit(batch: TakeBatch, key: string, args: readonly string[]): boolean {
  const known = batch.keys.get(key);
  return known === undefined || known.rule === args.join();
}

function placeIn({ keys }: TakeBatch, key: string, args: readonly string[]): string {
  const known = keys.get(key);
  if (known !== undefined) return String(known.place);
  const place = keys.size + 1;
  keys.set(key, { place, rule: args.join(), args });
  return String(place);
}

/** Records of which is remembered that they were there, and those that were deleted since. */
const MOST_SEEN = 10_000;

/**
 * What this process knows of records: one that was there and then was not has been deleted, such as a consent that was taken back,
 * and whoever puts it back is not believed.
 */
class SeenRecords {
  readonly #last = new Map<string, string>();
  readonly #gone = new Set<string>();

  /** Whether a text that is there now may be read. */
  there(key: string, sealed: string): boolean {
    const id = idOfSealed(sealed);
    if (this.#gone.has(id)) return false;
    this.#last.delete(key);
    this.#last.set(key, id);
    if (this.#last.size > MOST_SEEN) this.#last.delete(this.#last.keys().next().value as string);
    return true;
  }

  gone(key: string): void {
    const id = this.#last.get(key);
    if (id === undefined) return;
    this.#last.delete(key);
    this.#gone.add(id);
    if (this.#gone.size > MOST_SEEN) this.#gone.delete(this.#gone.keys().next().value as string);
  }
}

/** Each record is a key of its own; an index of its group, in the same slot, says until when each lives. */
class RedisRecords implements RecordStore {
  readonly #place: () => Place;
  readonly #seen = new SeenRecords();

  constructor(place: () => Place) {
    this.#place = place;
  }

  async put(group: string, name: string, text: string, lifeMs: number): Promise<void> {
    checkRecord(text);
    const { door, vault } = this.#place();
    const [index, key] = this.#keys(group, name);
    const sealed = vault.seal(key, JSON.stringify([name, text]), lifeMs);
    await door.script(PUT_RECORD, [index, key], [sealed, String(Math.ceil(lifeMs)), String(RECORDS)]);
    this.#seen.there(key, sealed);
  }

  async get(group: string, name: string): Promise<string | undefined> {
    const [, key] = this.#keys(group, name);
    const sealed = (await this.#place().door.run("GET", [key])) as string | null;
    if (sealed === null) this.#seen.gone(key);
    return sealed === null ? undefined : this.#open(key, sealed)?.[1];
  }

  async list(group: string): Promise<ReadonlyMap<string, string>> {
    const flat = (await this.#place().door.script(LIST_RECORDS, [this.#keys(group, "")[0]], [])) as string[];
    const found = new Map<string, string>();
    for (let at = 0; at < flat.length; at += 2) {
      const record = this.#open(flat[at] as string, flat[at + 1] as string);
      if (record !== undefined) found.set(...record);
    }
    return found;
  }

  async delete(group: string, name: string): Promise<void> {
    const [index, key] = this.#keys(group, name);
    const deleted = (await this.#place().door.script(DELETE_RECORD, [index, key], [])) as string | null;
    if (deleted !== null) this.#seen.there(key, deleted);
    this.#seen.gone(key);
  }

  #open(key: string, sealed: string): readonly [string, string] | undefined {
    const text = this.#place().vault.open(key, sealed);
    if (text === undefined || !this.#seen.there(key, sealed)) return undefined;
    return JSON.parse(text) as [string, string];
  }

  #keys(group: string, name: string): readonly [index: string, key: string] {
    const { prefix, vault } = this.#place();
    const tag = `{${prefix}:r:${vault.hidden(`group ${group}`)}}`;
    return [`${tag}:all`, `${tag}:${vault.hidden(name)}`];
  }
}

/** How `redisStores` keeps things. */
export interface RedisStoresOptions {
  /** 32 bytes each: the first encrypts, all decrypt. */
  readonly keys: readonly Buffer[];
  /** Begins every key. Default `mcp`. Servers that are not the same need prefixes of their own. */
  readonly prefix?: string | undefined;
}

/** Keeps what processes share in Redis. */
export class RedisStores implements SharedStores {
  readonly name: string;
  readonly sessions: SessionStore = new RedisSessions(() => this.#here);
  readonly tasks: TaskStore = new RedisTasks(() => this.#here);
  readonly records: RecordStore = new RedisRecords(() => this.#here);
  readonly streams: StreamStore = new RedisStreams(() => this.#here);
  readonly bus: Bus = new RedisBus(() => this.#here);
  readonly mail: Bus = new RedisBus(() => this.#here, MAIL);
  readonly limits: LimitStore;
  readonly marks: MarkStore;
  readonly locks: LockStore;
  readonly #target: RedisTarget;
  readonly #vault: Vault;
  readonly #prefix: string;
  #door: Door | undefined;
  #fleet: Fleet = { keys: [] };

  constructor(target: RedisTarget, { keys, prefix = "mcp" }: RedisStoresOptions) {
    if (!/^[\w.:-]{1,64}$/.test(prefix)) {
      throw new LocalError(
        "BAD_SHARE",
        `share: prefix "${prefix}" may have letters, digits, _, -, . and : only, at most 64`,
      );
    }
    this.#target = target;
    this.#prefix = prefix;
    this.#vault = new Vault(keys);
    this.name = typeof target === "string" ? target.replace(/\/\/[^@/]*@/, "//") : "Redis";
    this.limits = new RedisLimits(() => this.#here);
    this.marks = { once: async (name, lifeMs) => (await this.#set("m", name, "1", lifeMs)) === "OK" };
    this.locks = { hold: (name, lifeMs) => this.#hold(name, lifeMs) };
  }

  async open(node: string, fleet: Fleet): Promise<void> {
    const door = await openDoor(this.#target);
    try {
      // Bounded there: a Redis that lies about the time moves no end by more.
      this.#vault.clockMs = (await checkRedis(door, this.#prefix)).clockMs;
      this.#door = door;
      this.#fleet = fleet;
      const there = await this.#fleets();
      checkFleet(there, fleet, `${this.name} under the prefix "${this.#prefix}"`);
      if (there.has(node)) {
        throw new LocalError(
          "BAD_SHARE",
          `share: another process is called "${node}" already: give each a name of its own`,
        );
      }
    } catch (error) {
      door.close();
      throw error;
    }
  }

  async beat(node: string, address: string): Promise<Directory> {
    const keys = [this.#directory, this.#leases, this.#fleetKey, this.#steadyKey];
    const [lapsed, flat, steadyMs] = (await this.#here.door.script(BEAT, keys, [
      node,
      address,
      String(LEASE_MS),
      JSON.stringify({ v: 1, keys: this.#fleet.keys, policy: this.#fleet.policy, parts: this.#fleet.parts }),
      String(STEADY_MS),
    ])) as [number, string[], number];
    const nodes = new Map<string, string>();
    for (let at = 0; at < flat.length; at += 2) nodes.set(flat[at] as string, flat[at + 1] as string);
    return { nodes, lapsed: lapsed === 1, steadyMs };
  }

  async leave(node: string): Promise<void> {
    await this.#here.door.script(LEAVE, [this.#directory, this.#leases, this.#fleetKey], [node]);
  }

  async close(): Promise<void> {
    this.#door?.close();
    this.#door = undefined;
  }

  /** What the processes that are there have to have in common. */
  async #fleets(): Promise<ReadonlyMap<string, Fleet>> {
    const flat = (await this.#here.door.script(FLEETS, [this.#leases, this.#fleetKey], [])) as string[];
    const fleets = new Map<string, Fleet>();
    for (let at = 0; at < flat.length; at += 2)
      fleets.set(flat[at] as string, JSON.parse(flat[at + 1] as string) as Fleet);
    return fleets;
  }

  #set(kind: string, name: string, value: string, lifeMs: number): Promise<unknown> {
    const key = `${this.#prefix}:${kind}:${this.#vault.hidden(name)}`;
    return this.#here.door.run("SET", [key, value, "NX", "PX", String(lifeMs)]);
  }

  async #hold(name: string, lifeMs: number): ReturnType<LockStore["hold"]> {
    const mine = randomBytes(16).toString("base64url");
    if ((await this.#set("k", name, mine, lifeMs)) !== "OK") return undefined;
    const key = `${this.#prefix}:k:${this.#vault.hidden(name)}`;
    return { release: async () => void (await this.#here.door.script(RELEASE, [key], [mine])) };
  }

  get #here(): Place & { readonly door: Door } {
    if (this.#door === undefined) throw new LocalError("UNREACHABLE", `${this.name} is not open`);
    return { door: this.#door, vault: this.#vault, prefix: this.#prefix };
  }

  get #directory(): string {
    return `{${this.#prefix}:n}:at`;
  }

  get #leases(): string {
    return `{${this.#prefix}:n}:until`;
  }

  get #steadyKey(): string {
    return `{${this.#prefix}:n}:steady`;
  }

  get #fleetKey(): string {
    return `{${this.#prefix}:n}:fleet`;
  }
}

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
export function redisCluster(target: RedisTarget, given: RedisClusterOptions): Share {
  checkOptions("redisCluster(target, options)", given, { ...SHARE_MEMBERS, prefix: 0 });
  const { prefix, ...options } = given;
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
