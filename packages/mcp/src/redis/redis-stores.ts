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
  BEAT_MS,
  type Bus,
  checkFleet,
  type Directory,
  type Fleet,
  LEASE_MS,
  type LimitStore,
  type LockStore,
  type MarkStore,
  type RecordStore,
  type SeenFleet,
  type SessionStore,
  type SharedSession,
  type SharedStores,
  STEADY_MS,
  type StreamStore,
} from "../cluster/stores.js";
import { digest, type Door, openDoor, placeOf, type RedisTarget, Vault } from "./door.js";
import { carryOver, MAIL, type Place, RedisBus, RedisRecords, RedisStreams } from "./redis-streams.js";
import {
  BEAT,
  checkRedis,
  CLAIM_SESSION,
  DELETE_SESSION,
  FLEETS,
  FORGET_KEYS,
  LEAVE,
  PUT_SESSION,
  PUT_TASK,
  RECORD_VERSION,
  type RedisReport,
  RELEASE,
  TAKE,
  TAKE_ALL,
  TOUCH_SESSION,
  USE_KEY,
} from "./redis-scripts.js";
import { shareOver } from "../cluster/member.js";
import { badShare, keysOf, SHARE_MEMBERS, type ShareOptions } from "../cluster/relay-link.js";
import type { Share } from "../http/server/exchange.js";

/** Tries to take a session whose owner writes it at the same moment. */
const TRIALS = 3;

interface KeptSession {
  readonly version: number;
  readonly sealed: string;
  readonly session: SharedSession | undefined;
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

  /** Seals it anew, with a later end. True when it is another's, or not kept. */
  async #touch(id: string, owner: string, ttlMs: number): Promise<boolean> {
    const key = this.#key(id);
    const { door, vault } = this.#place();
    const kept = await this.#read(id);
    if (kept === undefined) return true;
    // Whose a record is that nobody can read, nobody knows.
    if (kept.session === undefined) return false;
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
    const kept = await door.script(PUT_TASK, [key, ...this.#indexes(principal)], [...args, most]);
    if (kept === 0)
      throw new LocalError("FULL", "There is no room for more tasks: fetch those that have ended, or wait");
  }

  async get(taskId: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    const record = await this.#read(taskId);
    return record?.principal === principal ? record : undefined;
  }

  async list(principal: string | undefined, { after = "", limit }: TaskPage): Promise<readonly TaskRecord[]> {
    const { door } = this.#place();
    const indexes = this.#indexes(principal);
    const ids = (await (indexes.length === 1
      ? door.run("ZRANGE", [...indexes, "0", "-1"])
      : door.run("ZUNION", [String(indexes.length), ...indexes]))) as string[];
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

  #indexes(principal: string | undefined): readonly string[] {
    const { prefix, vault } = this.#place();
    return vault.hidden(principal ?? "").map((name) => `{${prefix}:t}:of:${name}`);
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
      const hidden = [...keys.keys()].map((key) => vault.hidden(key));
      // The names of all by the first key, then those by the next.
      const names = (hidden[0] ?? []).flatMap((_, at) => hidden.map((each) => `{${prefix}:l}:${each[at]}`));
      const take = names.length > keys.size ? TAKE_ALL : TAKE;
      const rules = [...keys.values()].flatMap(({ args }) => args);
      const waits = (await door.script(take, names, [String(keys.size), ...rules, ...events])) as number[];
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

/** How a process says what it has in common with others. */
const FLEET_VERSION = 1;
/** As `shareOver` takes names. */
const NODE = /^[a-z0-9]{1,32}$/;
/** An address as `ShareOptions` takes it; what is none is not shown. */
const ADDRESS = /^(?:tcp|unix):\/\/[\x21-\x7e]{1,256}$/;
/** Names of parts, which a refusal says: nothing that ends a line or moves a cursor. */
const PART = /^\P{C}{1,100}$/u;
/** How long a process that gives up a key waits for those that carry over what it has sealed, and how often it looks. */
const CARRY_LOOKS = 60;
const CARRY_LOOK_MS = 250;
/** Longer than most take to carry; two at once do no harm. */
const CARRY_LOCK_MS = 10_000;

/** What Redis holds of a process. Undefined for anything else. */
function fleetIn(text: string): Fleet | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof found !== "object" || found === null) return undefined;
  const { v, keys, policy, parts } = found as Readonly<Record<string, unknown>>;
  const isFleet =
    v === FLEET_VERSION &&
    areTexts(keys) &&
    (policy === undefined || isFingerprint(policy)) &&
    (parts === undefined || areParts(parts));
  return isFleet ? (found as Fleet) : undefined;
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function isFingerprint(value: unknown): boolean {
  return typeof value === "string" || areTexts(value);
}

function areParts(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([name, part]) => PART.test(name) && isFingerprint(part));
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
  #carrying = false;
  #leaving: ReturnType<typeof setInterval> | undefined;

  constructor(target: RedisTarget, { keys, prefix = "mcp" }: RedisStoresOptions) {
    if (typeof target !== "string" && (typeof target !== "object" || target === null))
      throw new LocalError(
        "BAD_SHARE",
        `share: Redis is given as "redis://host:6379" or as a client of ioredis or @redis/client, not as ${String(target)}`,
      );
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
    this.marks = { once: (name, lifeMs) => this.#once(name, lifeMs) };
    this.locks = { hold: (name, lifeMs) => this.#hold(name, lifeMs) };
  }

  async open(node: string, fleet: Fleet): Promise<void> {
    const door = await openDoor(this.#target);
    try {
      // Bounded there: a Redis that lies about the time moves no end by more.
      this.#vault.clockMs = (await checkRedis(door, this.#prefix)).clockMs;
      this.#door = door;
      this.#fleet = fleet;
      await this.#admit(node, fleet);
    } catch (error) {
      door.close();
      throw error;
    }
  }

  /** Waits where processes are about to carry over what the key has sealed that this one gives up. */
  async #admit(node: string, fleet: Fleet): Promise<void> {
    const where = `${this.name} under the prefix "${this.#prefix}"`;
    for (let looks = 0; ; looks++) {
      const there = await this.#fleets(where);
      checkFleet(there, node, fleet, where);
      const uses = (await this.#here.door.run("HKEYS", [this.#usesKey])) as readonly string[] | null;
      const needed = (uses ?? []).filter((key) => key !== "" && !fleet.keys.includes(key));
      if (needed.length === 0) return;
      const isCarried = [...there.values()].some(({ keys }) => needed.some((key) => keys.includes(key)));
      if (!isCarried || looks >= CARRY_LOOKS)
        throw badShare(
          there.size > 0
            ? `what is kept at ${where} needs a key that this process has not: write it into a second line here, until the processes with both have used the new one first for some seconds`
            : `what is kept at ${where} needs a key that this process has not, and nobody who has it is there: give it to this process too, or start this one a minute after the last of the others has ended`,
        );
      await new Promise((resolve) => setTimeout(resolve, CARRY_LOOK_MS));
    }
  }

  async beat(node: string, address: string): Promise<Directory> {
    const { keys, policy, parts } = this.#fleet;
    const names = [this.#directory, this.#leases, this.#fleetKey, this.#steadyKey, this.#usesKey];
    const said = JSON.stringify({ v: FLEET_VERSION, keys, policy, parts });
    const args = [node, address, String(LEASE_MS), said, String(STEADY_MS), keys[0] ?? ""];
    const answer = await this.#here.door.script(BEAT, names, args);
    const [lapsed, flat, steadyMs, unused] = answer as [number, string[], number, string[]?];
    const nodes = new Map<string, string>();
    for (let at = 0; at < flat.length; at += 2) nodes.set(flat[at] as string, flat[at + 1] as string);
    this.#carry(unused ?? []);
    return { nodes, lapsed: lapsed === 1, steadyMs };
  }

  /** What is on its way yet may be sealed and kept until this is closed. */
  async leave(node: string): Promise<void> {
    const use = (): Promise<unknown> =>
      this.#here.door.script(USE_KEY, [this.#usesKey], [this.#fleet.keys[0] ?? "", String(LEASE_MS)]);
    this.#leaving ??= setInterval(() => void use().catch(() => undefined), BEAT_MS).unref();
    await this.#here.door.script(LEAVE, [this.#directory, this.#leases, this.#fleetKey], [node]);
  }

  async close(): Promise<void> {
    clearInterval(this.#leaving);
    this.#door?.close();
    this.#door = undefined;
  }

  /** Once nobody seals with another of our keys any more, what it has sealed is sealed with the first, so that it can be given up. */
  #carry(unused: readonly string[]): void {
    const others = this.#fleet.keys.slice(1);
    const due = unused.flatMap((key, at) => (at % 2 === 0 && others.includes(key) ? unused.slice(at, at + 2) : []));
    if (due.length === 0 || this.#carrying) return;
    this.#carrying = true;
    const carry = async (): Promise<void> => {
      const lock = await this.locks.hold("carry", CARRY_LOCK_MS);
      if (lock === undefined) return;
      try {
        await carryOver(this.#here);
        await this.#here.door.script(FORGET_KEYS, [this.#usesKey], due);
      } finally {
        await lock.release();
      }
    };
    // What fails is tried again after the next sign of life.
    void carry()
      .catch(() => undefined)
      .finally(() => (this.#carrying = false));
  }

  /** What the processes that are there have to have in common. */
  async #fleets(where: string): Promise<ReadonlyMap<string, SeenFleet>> {
    const keys = [this.#leases, this.#fleetKey, this.#directory];
    const flat = (await this.#here.door.script(FLEETS, keys, [])) as string[];
    const fleets = new Map<string, SeenFleet>();
    for (let at = 0; at < flat.length; at += 3) {
      const [node, text, address] = flat.slice(at, at + 3) as [string, string, string];
      const fleet = fleetIn(text);
      if (fleet === undefined || !NODE.test(node))
        throw badShare(
          `what a process at ${where} says of itself cannot be read: give all processes the same version, or this one another prefix`,
        );
      fleets.set(node, ADDRESS.test(address) ? { ...fleet, address } : fleet);
    }
    return fleets;
  }

  async #once(name: string, lifeMs: number): Promise<boolean> {
    for (const key of this.#keysOf("m", name)) {
      const mark = this.#vault.seal(key, name, lifeMs);
      if (!(await this.#set(key, mark, lifeMs))) return false;
    }
    return true;
  }

  async #hold(name: string, lifeMs: number): ReturnType<LockStore["hold"]> {
    const mine = randomBytes(16).toString("base64url");
    const held: string[] = [];
    const release = async (): Promise<void> => {
      for (const key of held) await this.#here.door.script(RELEASE, [key], [mine]);
    };
    for (const key of this.#keysOf("k", name)) {
      if (await this.#set(key, mine, lifeMs)) {
        held.push(key);
        continue;
      }
      await release();
      return undefined;
    }
    return { release };
  }

  async #set(key: string, value: string, lifeMs: number): Promise<boolean> {
    return (await this.#here.door.run("SET", [key, value, "NX", "PX", String(lifeMs)])) === "OK";
  }

  /** Whoever has all of them has it. All processes begin with the same, whichever key is their first: so one of many gets it. */
  #keysOf(kind: string, name: string): readonly string[] {
    const names = this.#vault.hidden(name).map((each) => `${this.#prefix}:${kind}:${each}`);
    return names.length > 1 ? names.sort() : names;
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

  get #usesKey(): string {
    return `{${this.#prefix}:n}:uses`;
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
export function redisCluster(target: RedisTarget, given: RedisClusterOptions = {} as RedisClusterOptions): Share {
  checkOptions("redisCluster(target, options)", given, { ...SHARE_MEMBERS, prefix: "text" });
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
