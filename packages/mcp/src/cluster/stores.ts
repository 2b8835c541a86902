// What the processes of a server keep where all of them find it: small stores, each with its contract. `memoryStores` and
// `redisStores` keep to them; `storesContract` is the list of cases that shows it of any others.
import type { TaskStore } from "../server/tasks/task-store.js";

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
}

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
  /** Gives records of this owner their whole `ttlMs` again. Resolves with those of `ids` that are another's by now. */
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

/** Which processes may share: those with the same keys and, where they say so, the same policy. */
export interface Fleet {
  /** One fingerprint for each key. */
  readonly keys: readonly string[];
  /** A fingerprint of what has to be the same in all of them, such as a policy. */
  readonly policy?: string | undefined;
  /** Fingerprints of what that is made of, by the names people know them by: a refusal names those that differ. */
  readonly parts?: Readonly<Record<string, string>> | undefined;
}

/** All of them. Every method rejects with a LocalError UNREACHABLE when the store cannot be reached, and never waits for ever. */
export interface SharedStores {
  /** Which stores, for people: a URL without its password. */
  readonly name: string;
  /**
   * Rejects with BAD_SHARE where the store is not fit for this, or another fleet uses it: a process that is there has no key in
   * common with this one, or all that are there have another policy. Called once, first. `fleet` is read at each sign of life.
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
  readonly bus: Bus;
  /** Ends the connections. */
  close(): Promise<void>;
}
