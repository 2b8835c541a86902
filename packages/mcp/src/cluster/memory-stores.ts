// The stores in memory: for processes that are played in one, such as in tests, and as the shortest way to read the contracts.
import { LocalError } from "../jsonrpc/errors.js";
import { MemoryTaskStore } from "../server/tasks/memory-task-store.js";
import { isFinal } from "../protocol/extensions/tasks.js";
import type { TaskRecord, TaskStore } from "../server/tasks/task-store.js";
import {
  type Bus,
  type BusListener,
  type Directory,
  type Fleet,
  type HeldLock,
  LEASE_MS,
  type LimitRule,
  type LimitStore,
  type LockStore,
  type MarkStore,
  type SessionStore,
  type SharedSession,
  type SharedStores,
} from "./stores.js";

/** Keys remembered of each kind: the oldest go first, as where memory is short elsewhere. */
const MOST = 100_000;

/** Counts by GCRA: of each key one time is kept, at which all that was counted so far has run out. */
export class MemoryLimits implements LimitStore {
  readonly #ends = new Map<string, number>();

  async take(rules: Readonly<Record<string, LimitRule>>): Promise<number> {
    const now = performance.now();
    const next = new Map<string, number>();
    let wait = 0;
    for (const [key, { perSecond, burst }] of Object.entries(rules)) {
      const each = 1_000 / perSecond;
      const end = Math.max(this.#ends.get(key) ?? now, now) + each;
      wait = Math.max(wait, end - now - burst * each);
      next.set(key, end);
    }
    if (wait > 0) return wait;
    for (const [key, end] of next) {
      this.#ends.delete(key);
      this.#ends.set(key, end);
    }
    while (this.#ends.size > MOST) this.#ends.delete(this.#ends.keys().next().value as string);
    return 0;
  }
}

/** What ends by itself. */
class Expiring<T> {
  readonly #kept = new Map<string, { readonly value: T; readonly ends: number }>();

  get(key: string): T | undefined {
    const found = this.#kept.get(key);
    if (found === undefined || found.ends > performance.now()) return found?.value;
    this.#kept.delete(key);
    return undefined;
  }

  set(key: string, value: T, lifeMs: number): void {
    this.#kept.delete(key);
    this.#kept.set(key, { value, ends: performance.now() + lifeMs });
    if (this.#kept.size > MOST) this.#kept.delete(this.#kept.keys().next().value as string);
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
      else if (kept !== undefined) lost.push(id);
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

class MemoryBus implements Bus {
  readonly #listeners = new Set<BusListener>();

  async publish(from: string, text: string): Promise<void> {
    for (const listener of this.#listeners) listener.hear(from, text);
  }

  async listen(listener: BusListener): Promise<() => void> {
    this.#listeners.add(listener);
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
  readonly bus: Bus = new MemoryBus();
  readonly #nodes = new Expiring<string>();
  #fleet: Fleet | undefined;

  async open(node: string, fleet: Fleet): Promise<void> {
    checkFleet(this.#fleet, fleet, this.name);
    if (this.#nodes.get(node) !== undefined) {
      throw new LocalError(
        "BAD_SHARE",
        `share: another process is called "${node}" already: give each a name of its own`,
      );
    }
    this.#fleet = fleet;
  }

  async beat(node: string, address: string): Promise<Directory> {
    const lapsed = this.#nodes.get(node) === undefined;
    this.#nodes.set(node, address, LEASE_MS);
    return { nodes: new Map(this.#nodes.keys().map((each) => [each, this.#nodes.get(each) as string])), lapsed };
  }

  async leave(node: string): Promise<void> {
    this.#nodes.delete(node);
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}

/** Throws BAD_SHARE when the processes that are there have no key in common with this one, or another policy. */
export function checkFleet(there: Fleet | undefined, own: Fleet, name: string): void {
  if (there === undefined) return;
  if (!there.keys.some((key) => own.keys.includes(key))) {
    const what = `the processes at ${name} have another key: give this one theirs, or another prefix`;
    throw new LocalError("BAD_SHARE", `share: ${what}`);
  }
  if (there.policy !== undefined && own.policy !== undefined && there.policy !== own.policy) {
    const what = `the processes at ${name} have another policy: give all of them the same, or this one another prefix`;
    throw new LocalError("BAD_SHARE", `share: ${what}`);
  }
}
