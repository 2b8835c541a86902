// What processes of one server share, as stores: their interfaces, and those that live in one process's memory.
import type { KeptStream, StoredEvent, StreamBounds, StreamPiece } from "../http/server/exchange.js";
import { LocalError } from "../jsonrpc/errors.js";
import { startTimer } from "../jsonrpc/outgoing.js";
import { isFinal } from "../protocol/extensions/tasks.js";
import { MemoryTaskStore } from "../server/tasks/task-manager.js";
import type { TaskRecord, TaskStore } from "../server/tasks/task-store.js";

/** Milliseconds a process counts as there after it last said so. */
export const LEASE_MS = 3_000;
/** Milliseconds between two signs of life: two may be lost. */
export const BEAT_MS = 1_000;

/** What the directory says of the processes. */
export interface Directory {
  /** Addresses of the processes that are there, by name; the one that asks among them. */
  readonly nodes: ReadonlyMap<string, string>;
  /** The lease of the one that asks had ended: others may have taken it for gone. */
  readonly lapsed: boolean;
  /** Milliseconds for which some process has said that it is there every `STEADY_MS`: nobody was kept from it by the store. */
  readonly steadyMs: number;
}

/** The longest time between two signs of life, of whichever processes, by which the store was not away. */
export const STEADY_MS: number = LEASE_MS - BEAT_MS;

/** A session as it is kept for whichever process goes on with it. */
export interface SharedSession {
  /** The process that has it. */
  readonly owner: string;
  /** Raised each time another process takes it. */
  readonly fence: number;
  /** Text that only the processes read. At most `SESSION_TEXT` characters. */
  readonly text: string;
}

/** Characters of a session's facts; one with more is not kept, and ends with its process. */
export const SESSION_TEXT = 16_384;

/** Sessions by id. Every record ends by itself after its `ttlMs`. */
export interface SessionStore {
  /** Keeps a record. False, and nothing happens, where another owner or a higher fence is kept under the id. */
  put(id: string, session: SharedSession, ttlMs: number): Promise<boolean>;
  get(id: string): Promise<SharedSession | undefined>;
  /** Takes a session whose record still has the fence it was read with: of many who try, one gets it, with the next fence. */
  claim(id: string, owner: string, fence: number, ttlMs: number): Promise<SharedSession | undefined>;
  /** Gives records of this owner their whole `ttlMs` again. Resolves with those of `ids` that are another's by now, or nobody's. */
  touch(ids: readonly string[], owner: string, ttlMs: number): Promise<readonly string[]>;
  /** Forgets a record of this owner. */
  delete(id: string, owner: string): Promise<void>;
}

/** How many events a second, and how many at once after some silence. */
export interface LimitRule {
  readonly perSecond: number;
  readonly burst: number;
}

/** How many events in any stretch of time of this length. */
export interface WindowRule {
  /** A positive integer. */
  readonly most: number;
  /** A whole number of seconds, at most an hour. An event may count a sixtieth of it longer. */
  readonly windowMs: number;
}

/** Counts for all processes together what a rate allows. */
export interface LimitStore {
  /**
   * Counts one event under every key, or under none. Resolves with 0 when all of them admit it, else with the milliseconds
   * after which the strictest would.
   */
  take(rules: Readonly<Record<string, LimitRule | WindowRule>>): Promise<number>;
}

/** Characters of a record's text. */
export const RECORD_TEXT = 65_536;
/** Records of a group: the one that ends first makes room. */
export const RECORDS = 10_000;

/** Small texts that every process may write and read: under a group and a name, each ending by itself. */
export interface RecordStore {
  /** Keeps a text of at most `RECORD_TEXT` characters in place of the one before it. Rejects with TOO_LONG for a longer one. */
  put(group: string, name: string, text: string, lifeMs: number): Promise<void>;
  get(group: string, name: string): Promise<string | undefined>;
  /** All of a group that have not ended, by name. */
  list(group: string): Promise<ReadonlyMap<string, string>>;
  delete(group: string, name: string): Promise<void>;
}

/** What was sent on streams that a client may come back to, for when their process has ended. Every stream ends by itself. */
export interface StreamStore {
  /**
   * Adds a piece to a stream, which its first piece begins. False, and nothing is kept, where the stream has ended or has events
   * of these positions already. The oldest pieces go where there are more than `bounds` says, never the newest.
   */
  append(stream: string, piece: StreamPiece, bounds: StreamBounds): Promise<boolean>;
  /** All that was added after a position; undefined where there is no such stream, or any of it is not kept. */
  read(stream: string, after: number): Promise<KeptStream | undefined>;
  /** Forgets streams. */
  delete(streams: readonly string[]): Promise<void>;
}

/** Marks that are set once, by whichever process comes first. */
export interface MarkStore {
  /** True for exactly one caller within `lifeMs`, whatever process it is in. */
  once(name: string, lifeMs: number): Promise<boolean>;
}

/** A lock that somebody holds. */
export interface HeldLock {
  /** Gives it up, if it has not ended by itself. */
  release(): Promise<void>;
}

/** Locks that one process of the fleet holds at a time. */
export interface LockStore {
  /** The lock, which ends by itself after `lifeMs`; undefined while another holds it. */
  hold(name: string, lifeMs: number): Promise<HeldLock | undefined>;
}

/** What a process hears. */
export interface BusListener {
  /** A text another process, or this one, published: in the order of publishing, once. */
  hear(from: string, text: string): void;
  /** Some texts were dropped before this process could read them. */
  missed(): void;
}

/** Carries texts between the processes of a fleet. */
export interface Bus {
  /** Resolves when every process that listens to this topic now will hear it. Default: the topic of the library itself. */
  publish(from: string, text: string, topic?: string): Promise<void>;
  /** Hears everything of a topic from now on. Resolves when nothing published later can be missed, with what ends it. */
  listen(listener: BusListener, topic?: string): Promise<() => void>;
}

/** Several, such as one for each key: two are equal where any of them is in both. */
export type Fingerprint = string | readonly string[];

/** Which processes may share: those that know the key each of them uses and, where they say so, the same policy. */
export interface Fleet {
  /** One fingerprint for each key, that of the key which is used first. */
  readonly keys: readonly string[];
  /** A fingerprint of what has to be the same in all of them, such as a policy. */
  readonly policy?: Fingerprint | undefined;
  /** Fingerprints of what that is made of, by the names people know them by: a refusal names those that differ. */
  readonly parts?: Readonly<Record<string, Fingerprint>> | undefined;
}

/** What a process that is there says of itself, and where the others reach it. */
export type SeenFleet = Fleet & { readonly address?: string | undefined };

/** Letters to one process that wait to be read. */
export const LETTERS = 1_000;

/** All of them. Every method rejects with a LocalError UNREACHABLE when the store cannot be reached, and never waits for ever. */
export interface SharedStores {
  /** Which stores, for people: a URL without its password. */
  readonly name: string;
  /**
   * Rejects with BAD_SHARE where the store is not fit for this, or another fleet uses it: a process that is there and this one do
   * not know each other's first key, or all that are there have another policy. Called once, first. `fleet` is read at each sign of
   * life.
   */
  open(node: string, fleet: Fleet): Promise<void>;
  /** Says that a process is there and at which address, for `LEASE_MS` from now. */
  beat(node: string, address: string): Promise<Directory>;
  /** Takes a process off the directory. */
  leave(node: string): Promise<void>;
  readonly sessions: SessionStore;
  readonly tasks: TaskStore;
  readonly limits: LimitStore;
  readonly marks: MarkStore;
  readonly locks: LockStore;
  readonly records: RecordStore;
  readonly streams: StreamStore;
  readonly bus: Bus;
  /**
   * Letters to one process, its name being the topic: as on the bus, but each is gone once it was read, or after a minute, and there
   * are at most `LETTERS` at a time: the oldest go first, and nobody is told. For processes that reach this and not each other.
   */
  readonly mail: Bus;
  /** Ends the connections. */
  close(): Promise<void>;
}

// The stores in memory: for processes that are played in one, such as in tests, and as the shortest way to read the contracts.

/** Keys remembered of each kind: the oldest go first, as where memory is short elsewhere. */
const MOST = 100_000;

/** Counts by GCRA: of each key one time is kept, at which all that was counted so far has run out. */
export class MemoryLimits implements LimitStore {
  readonly #ends = new Map<string, number>();
  /** Of each window the slots that still count, the oldest first. */
  readonly #windows = new Map<string, readonly Slot[]>();

  async take(rules: Readonly<Record<string, LimitRule | WindowRule>>): Promise<number> {
    const now = performance.now();
    const ends = new Map<string, number>();
    const windows = new Map<string, readonly Slot[]>();
    let wait = 0;
    for (const [key, rule] of Object.entries(rules)) {
      if ("most" in rule) {
        const { slots, waitMs } = counted(this.#windows.get(key) ?? [], rule, now);
        wait = Math.max(wait, waitMs);
        windows.set(key, slots);
        continue;
      }
      const each = 1_000 / rule.perSecond;
      const end = Math.max(this.#ends.get(key) ?? now, now) + each;
      wait = Math.max(wait, end - now - rule.burst * each);
      ends.set(key, end);
    }
    if (wait > 0) return wait;
    for (const [key, end] of ends) keep(this.#ends, key, end);
    for (const [key, slots] of windows) keep(this.#windows, key, slots);
    return 0;
  }
}

/** Events of a sixtieth of a window. */
interface Slot {
  readonly number: number;
  readonly count: number;
}

/** Slots in a window. */
const SLOTS = 60;

/** A window with one event more, or how long that one has to wait. */
function counted(
  before: readonly Slot[],
  { most, windowMs }: WindowRule,
  now: number,
): { readonly slots: readonly Slot[]; readonly waitMs: number } {
  const slotMs = windowMs / SLOTS;
  const number = Math.floor(now / slotMs);
  const kept = before.filter((slot) => slot.number >= number - SLOTS);
  let surplus = kept.reduce((sum, { count }) => sum + count, 0) - most;
  if (surplus >= 0) {
    // Places are free once as many as there are too many have left the window, oldest first.
    const last = kept.find(({ count }) => (surplus -= count) < 0);
    return { slots: kept, waitMs: Math.max(1, ((last?.number ?? number) + SLOTS + 1) * slotMs - now) };
  }
  const newest = kept.at(-1);
  const count = newest?.number === number ? newest.count + 1 : 1;
  const rest = newest?.number === number ? kept.slice(0, -1) : kept;
  return { slots: [...rest, { number, count }], waitMs: 0 };
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MOST) map.delete(map.keys().next().value as string);
}

/** Counts for all processes where that is possible; where it is not, each process keeps to its share. Never rejects. */
export class FairLimits implements LimitStore {
  readonly #shared: LimitStore;
  readonly #alone = new MemoryLimits();
  readonly #processes: () => number;

  /** `processes`: how many there were when somebody last knew. */
  constructor(shared: LimitStore, processes: () => number) {
    this.#shared = shared;
    this.#processes = processes;
  }

  async take(rules: Readonly<Record<string, LimitRule | WindowRule>>): Promise<number> {
    try {
      return await this.#shared.take(rules);
    } catch {
      const parts = Math.max(1, this.#processes());
      return this.#alone.take(
        Object.fromEntries(Object.entries(rules).map(([key, rule]) => [key, partOf(rule, parts)])),
      );
    }
  }
}

function partOf(rule: LimitRule | WindowRule, parts: number): LimitRule | WindowRule {
  if ("most" in rule) return { ...rule, most: Math.max(1, Math.floor(rule.most / parts)) };
  return { perSecond: rule.perSecond / parts, burst: Math.max(1, Math.floor(rule.burst / parts)) };
}

/** Slices of a time that is waited. */
const SLICES = 8;

/**
 * Calls `late` after so many milliseconds, unless what is returned was called before. They are counted in slices, each of which the
 * event loop has to begin: a process that was held up has answers lying there unread, and is not to take others for away.
 */
export function lateAfter(ms: number, late: () => void): () => void {
  let left = SLICES;
  let timer: ReturnType<typeof setTimeout>;
  const next = (): void => {
    if (left-- > 0) timer = startTimer(next, ms / SLICES);
    else late();
  };
  next();
  return () => clearTimeout(timer);
}

/** What ends by itself. */
class Expiring<T> {
  readonly #kept = new Map<string, { readonly value: T; readonly ends: number }>();
  readonly #most: number;

  constructor(most: number = MOST) {
    this.#most = most;
  }

  get(key: string): T | undefined {
    const found = this.#kept.get(key);
    if (found === undefined || found.ends > performance.now()) return found?.value;
    this.#kept.delete(key);
    return undefined;
  }

  set(key: string, value: T, lifeMs: number): void {
    this.#kept.delete(key);
    this.#kept.set(key, { value, ends: performance.now() + lifeMs });
    if (this.#kept.size > this.#most) this.#kept.delete(this.#kept.keys().next().value as string);
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }

  keys(): readonly string[] {
    return [...this.#kept.keys()].filter((key) => this.get(key) !== undefined);
  }
}

class MemorySessions implements SessionStore {
  readonly #kept = new Expiring<SharedSession>();

  async put(id: string, session: SharedSession, ttlMs: number): Promise<boolean> {
    const kept = this.#kept.get(id);
    if (kept !== undefined && (kept.owner !== session.owner || kept.fence > session.fence)) return false;
    this.#kept.set(id, session, ttlMs);
    return true;
  }

  async get(id: string): Promise<SharedSession | undefined> {
    return this.#kept.get(id);
  }

  async claim(id: string, owner: string, fence: number, ttlMs: number): Promise<SharedSession | undefined> {
    const kept = this.#kept.get(id);
    if (kept?.fence !== fence) return undefined;
    const claimed = { owner, fence: fence + 1, text: kept.text };
    this.#kept.set(id, claimed, ttlMs);
    return claimed;
  }

  async touch(ids: readonly string[], owner: string, ttlMs: number): Promise<readonly string[]> {
    const lost: string[] = [];
    for (const id of ids) {
      const kept = this.#kept.get(id);
      if (kept?.owner === owner) this.#kept.set(id, kept, ttlMs);
      else lost.push(id);
    }
    return lost;
  }

  async delete(id: string, owner: string): Promise<void> {
    if (this.#kept.get(id)?.owner === owner) this.#kept.delete(id);
  }
}

class MemoryLocks implements LockStore, MarkStore {
  readonly #kept = new Expiring<object>();

  async hold(name: string, lifeMs: number): Promise<HeldLock | undefined> {
    if (this.#kept.get(name) !== undefined) return undefined;
    const mine = {};
    this.#kept.set(name, mine, lifeMs);
    return {
      release: async () => {
        if (this.#kept.get(name) === mine) this.#kept.delete(name);
      },
    };
  }

  async once(name: string, lifeMs: number): Promise<boolean> {
    return (await this.hold(name, lifeMs)) !== undefined;
  }
}

/** Of many processes that say how a task ended, the first is believed. */
class SharedTasks extends MemoryTaskStore {
  override put(record: TaskRecord): void {
    const { task, principal } = record;
    const kept = this.get(task.taskId, principal);
    if (kept === undefined || !isFinal(kept.task.status)) super.put(record);
  }
}

class MemoryRecords implements RecordStore {
  readonly #groups = new Map<string, Expiring<string>>();

  async put(group: string, name: string, text: string, lifeMs: number): Promise<void> {
    checkRecord(text);
    const records = this.#groups.get(group) ?? new Expiring<string>(RECORDS);
    this.#groups.set(group, records);
    records.set(name, text, lifeMs);
  }

  async get(group: string, name: string): Promise<string | undefined> {
    return this.#groups.get(group)?.get(name);
  }

  async list(group: string): Promise<ReadonlyMap<string, string>> {
    const records = this.#groups.get(group);
    return new Map(records?.keys().map((name) => [name, records.get(name) as string]));
  }

  async delete(group: string, name: string): Promise<void> {
    this.#groups.get(group)?.delete(name);
  }
}

/** Throws TOO_LONG for a text that no record may have. */
export function checkRecord(text: string): void {
  if (text.length <= RECORD_TEXT) return;
  throw new LocalError("TOO_LONG", `A record that processes share has at most ${RECORD_TEXT} characters: keep less`);
}

class MemoryStreams implements StreamStore {
  readonly #kept = new Expiring<readonly StreamPiece[]>();

  async append(stream: string, piece: StreamPiece, { pieces: most, bytes, lifeMs }: StreamBounds): Promise<boolean> {
    const kept = this.#kept.get(stream) ?? [];
    const newest = kept.at(-1);
    if (newest !== undefined && (newest.ended || lastOf(newest) > piece.after)) return false;
    const pieces = [...kept, piece];
    while (pieces.length > 1 && (pieces.length > most || lengthOf(pieces) > bytes)) pieces.shift();
    this.#kept.set(stream, pieces, lifeMs);
    return true;
  }

  async read(stream: string, after: number): Promise<KeptStream | undefined> {
    return joined(this.#kept.get(stream) ?? [], after);
  }

  async delete(streams: readonly string[]): Promise<void> {
    for (const stream of streams) this.#kept.delete(stream);
  }
}

/** The position of the last event of a piece. */
export function lastOf({ after, events }: StreamPiece): number {
  return events.at(-1)?.sequence ?? after;
}

function lengthOf(pieces: readonly StreamPiece[]): number {
  return pieces.flatMap(({ events }) => events).reduce((sum, { text }) => sum + text.length, 0);
}

/** What the pieces of a stream hold after a position; undefined for none, or where anything between them is not kept. */
export function joined(pieces: readonly StreamPiece[], after: number): KeptStream | undefined {
  const newest = pieces.at(-1);
  if (newest === undefined) return undefined;
  const events: StoredEvent[] = [];
  let last = after;
  for (const piece of pieces) {
    // The end of a stream has no event of its own: that it follows is seen by its position alone.
    if (piece.after > last) return undefined;
    for (const event of piece.events) if (event.sequence > last) events.push(event);
    last = Math.max(last, lastOf(piece));
  }
  return { about: newest.about, events, ended: newest.ended };
}

class MemoryBus implements Bus {
  readonly #listeners = new Map<BusListener, string>();

  async publish(from: string, text: string, topic = ""): Promise<void> {
    for (const [listener, heard] of this.#listeners) if (heard === topic) listener.hear(from, text);
  }

  async listen(listener: BusListener, topic = ""): Promise<() => void> {
    this.#listeners.set(listener, topic);
    return () => this.#listeners.delete(listener);
  }
}

/** Makes stores that several members in this process share. Give the same to each of them. */
export function memoryStores(): SharedStores {
  return new MemoryStores();
}

class MemoryStores implements SharedStores {
  readonly name = "memory";
  readonly sessions: SessionStore = new MemorySessions();
  readonly tasks: TaskStore = new SharedTasks();
  readonly limits: LimitStore = new MemoryLimits();
  readonly marks: MarkStore = new MemoryLocks();
  readonly locks: LockStore = new MemoryLocks();
  readonly records: RecordStore = new MemoryRecords();
  readonly streams: StreamStore = new MemoryStreams();
  readonly bus: Bus = new MemoryBus();
  readonly mail: Bus = new MemoryBus();
  readonly #nodes = new Expiring<string>();
  readonly #fleets = new Map<string, Fleet>();
  #lastBeat = Number.NEGATIVE_INFINITY;
  #steadySince = 0;

  async open(node: string, fleet: Fleet): Promise<void> {
    const there = [...this.#fleets].map(([each, said]) => [each, { ...said, address: this.#nodes.get(each) }] as const);
    checkFleet(new Map(there.filter(([, { address }]) => address !== undefined)), node, fleet, this.name);
    this.#fleets.set(node, fleet);
  }

  async beat(node: string, address: string): Promise<Directory> {
    const lapsed = this.#nodes.get(node) === undefined;
    this.#nodes.set(node, address, LEASE_MS);
    const now = performance.now();
    if (now - this.#lastBeat > STEADY_MS) this.#steadySince = now;
    this.#lastBeat = now;
    const nodes = new Map(this.#nodes.keys().map((each) => [each, this.#nodes.get(each) as string]));
    return { nodes, lapsed, steadyMs: now - this.#steadySince };
  }

  async leave(node: string): Promise<void> {
    this.#nodes.delete(node);
    this.#fleets.delete(node);
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}

// Tasks that say failed when the process that ran them has ended: their worker's lease is the one of its process.

/** Throws BAD_SHARE when a process that is there cannot read what this one writes, or the reverse, or has its name, or all have another policy. */
export function checkFleet(there: ReadonlyMap<string, SeenFleet>, self: string, own: Fleet, name: string): void {
  for (const [node, { keys, address }] of there) {
    if (node === self)
      throw refusal(`another process is called "${node}" already${at(address)}: give each a name of its own`);
    const reads = own.keys.includes(keys[0] ?? "");
    if (reads && keys.includes(own.keys[0] ?? "")) continue;
    const common = keys.some((key) => own.keys.includes(key));
    const what = !common
      ? "has another key: give this one the same, or another prefix"
      : reads
        ? "has not the first key of this one: write it into a second line there first"
        : "uses a key that this one has not: write it into a second line here, until no process uses it";
    throw refusal(`the process ${node}${at(address)} at ${name} ${what}`);
  }
  const policies = [...there].filter(([, { policy }]) => policy !== undefined);
  // While a policy is changed, the first process that has the new one opens the door for the others.
  if (own.policy === undefined || policies.length === 0 || policies.some(([, { policy }]) => alike(policy, own.policy)))
    return;
  const nearest = policies
    .map(([node, { parts, address }]) => ({ who: node + at(address), differs: differing(parts, own.parts) }))
    .reduce((one, other) => (other.differs.length < one.differs.length ? other : one));
  const what = nearest.differs.map((part) => `another ${part}`).join(" and ");
  throw refusal(
    `the process ${nearest.who} at ${name} has ${what}: give all of them the same, or this one another prefix`,
  );
}

function refusal(what: string): LocalError {
  return new LocalError("BAD_SHARE", `share: ${what}`);
}

function at(address: string | undefined): string {
  return address ? ` (${address})` : "";
}

function alike(one: Fingerprint | undefined, other: Fingerprint | undefined): boolean {
  return [one ?? []].flat().some((each) => [other ?? []].flat().includes(each));
}

/** The names of what differs; where nobody said what there is, it is the policy. */
function differing(there: Fleet["parts"], own: Fleet["parts"]): readonly string[] {
  const names = Object.keys({ ...there, ...own }).filter((part) => !alike(there?.[part], own?.[part]));
  return there === undefined || own === undefined || names.length === 0 ? ["policy"] : names;
}
