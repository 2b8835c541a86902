// What task stores share: which tasks there are, whose, until when, and whether there is room for more.
import { LocalError } from "../../jsonrpc/local-error.js";
import { byCodeUnit } from "../registry.js";
import type { TaskPage, TaskRecord } from "./task-store.js";

/** Bounds of a store. */
export interface TaskStoreLimits {
  /** Tasks kept at once. */
  readonly tasks: number;
  /** Tasks kept at once for one principal, so that nobody takes all the room. */
  readonly tasksPerPrincipal: number;
  /** Characters of JSON kept at once. */
  readonly taskBytes: number;
}

/** One task in the index. */
export interface TaskEntry {
  readonly taskId: string;
  readonly principal: string | undefined;
  /** Time in milliseconds since 1970; infinite for a task that is kept for ever. */
  readonly expiresAt: number;
  readonly bytes: number;
}

/** Room taken for every task, so that one which began can always end with an error in place of a result that is too large. */
const LEAST_BYTES = 4_096;

/** Bounded, expiring, and blind to tasks of others. */
export class TaskIndex<E extends TaskEntry> {
  readonly #limits: TaskStoreLimits;
  readonly #expired: (entry: E) => void;
  readonly #entries = new Map<string, E>();
  readonly #counts = new Map<string | undefined, number>();
  #bytes = 0;

  /** `expired` is told of every entry whose time is over. */
  constructor(limits: TaskStoreLimits, expired: (entry: E) => void = () => undefined) {
    this.#limits = limits;
    this.#expired = expired;
  }

  get(taskId: string, principal: string | undefined): E | undefined {
    const entry = this.#entries.get(taskId);
    if (entry === undefined || entry.principal !== principal) return undefined;
    if (entry.expiresAt > Date.now()) return entry;
    this.#expire(entry);
    return undefined;
  }

  /** Adds or replaces an entry. Throws FULL, and keeps the one that was there, when there is no room. */
  set(entry: E): void {
    const before = this.#entries.get(entry.taskId);
    if (!this.#fits(entry, before)) {
      this.#sweep();
      if (!this.#fits(entry, this.#entries.get(entry.taskId))) {
        throw new LocalError("FULL", "There is no room for more tasks: fetch those that have ended, or wait");
      }
    }
    this.delete(entry.taskId);
    this.#entries.set(entry.taskId, entry);
    this.#bytes += entry.bytes;
    this.#counts.set(entry.principal, this.#countOf(entry.principal) + 1);
  }

  delete(taskId: string): boolean {
    const entry = this.#entries.get(taskId);
    if (entry === undefined) return false;
    this.#entries.delete(taskId);
    this.#bytes -= entry.bytes;
    const left = this.#countOf(entry.principal) - 1;
    if (left > 0) this.#counts.set(entry.principal, left);
    else this.#counts.delete(entry.principal);
    return true;
  }

  page(principal: string | undefined, { after = "", limit }: TaskPage): readonly E[] {
    this.#sweep();
    const own = [...this.#entries.values()].filter((entry) => entry.principal === principal && entry.taskId > after);
    return own.sort((a, b) => byCodeUnit(a.taskId, b.taskId)).slice(0, limit);
  }

  #countOf(principal: string | undefined): number {
    return this.#counts.get(principal) ?? 0;
  }

  #fits(entry: E, before: E | undefined): boolean {
    const { tasks, tasksPerPrincipal, taskBytes } = this.#limits;
    if (this.#bytes - (before?.bytes ?? 0) + entry.bytes > taskBytes) return false;
    return before !== undefined || (this.#entries.size < tasks && this.#countOf(entry.principal) < tasksPerPrincipal);
  }

  #sweep(): void {
    const now = Date.now();
    for (const entry of this.#entries.values()) if (entry.expiresAt <= now) this.#expire(entry);
  }

  #expire(entry: E): void {
    this.delete(entry.taskId);
    this.#expired(entry);
  }
}

/** The index's view of a record whose JSON has `characters` characters. */
export function entryOf({ task, principal }: TaskRecord, characters: number): TaskEntry {
  return {
    taskId: task.taskId,
    principal,
    expiresAt: task.ttlMs === null ? Number.POSITIVE_INFINITY : Date.parse(task.createdAt) + task.ttlMs,
    bytes: Math.max(LEAST_BYTES, characters),
  };
}
