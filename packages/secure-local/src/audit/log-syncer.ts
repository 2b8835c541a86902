// Makes what was appended to a log durable: through its journal when that is quickest, through the log itself otherwise.
import type { Journal } from "./log-journal.js";

/**
 * A disk is quick while a sync takes less than this many milliseconds. Waiting for it without doing anything else then
 * costs less than handing the wait to another thread and coming back; on a slower one every other caller would notice.
 */
const QUICK_MS = 1;
/** More records than this came together, so there is more to do meanwhile; they also share the price of a whole sync. */
const FEW_RECORDS = 4;
/** The share of the newest sync in the moving figure: some ten syncs tell whether a disk has become quick or slow. */
const NEWEST_SHARE = 0.2;

/** What is synced. */
export interface Syncable {
  sync(): Promise<void>;
  journal(): Promise<Journal>;
}

/** Callers wait for one sync before they ask for the next. */
export class LogSyncer {
  readonly #log: Syncable;
  readonly #now: () => number;
  #journal: Journal | undefined;
  /** The journal in the making. One that failed is not tried again: the log can do without. */
  #making: Promise<void> | undefined;
  #recentMs: number | undefined;
  /** The journal holds what the log may not. */
  #journalled = false;

  /** `now` gives monotonic milliseconds; `performance.now` when absent. */
  constructor(log: Syncable, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** Makes `bytes`, appended to the log before, durable. Undefined when they are already; rejects with the system's error. */
  sync(bytes: Buffer, records: number): Promise<void> | undefined {
    const journal = this.#journal;
    if (journal === undefined || records > FEW_RECORDS || !this.#quick || !journal.fits(bytes.length)) {
      return this.settle();
    }
    const from = this.#now();
    try {
      journal.write(bytes);
    } catch {
      return this.#giveUpJournal();
    }
    this.#journalled = true;
    this.#took(this.#now() - from);
    return undefined;
  }

  /** Syncs the log itself. */
  async settle(): Promise<void> {
    const from = this.#now();
    await this.#log.sync();
    this.#took(this.#now() - from);
    this.#journal?.rewind();
    this.#journalled = false;
    if (this.#quick) this.#making ??= this.#makeJournal();
  }

  /** As `settle`, where the log depends on the journal. */
  settleJournal(): Promise<void> | undefined {
    return this.#journalled ? this.settle() : undefined;
  }

  /** Lets go of the journal, which is removed when the log no longer needs it. */
  async close(): Promise<void> {
    try {
      await this.settleJournal();
    } catch {
      // Then the journal stays, and the next start puts back what the log may have lost.
    }
    await this.#making;
    this.#journal?.close();
  }

  get #quick(): boolean {
    return this.#recentMs !== undefined && this.#recentMs < QUICK_MS;
  }

  #took(ms: number): void {
    this.#recentMs = this.#recentMs === undefined ? ms : this.#recentMs + (ms - this.#recentMs) * NEWEST_SHARE;
  }

  /** What was written into it before stays there until the log is synced. */
  async #giveUpJournal(): Promise<void> {
    await this.settle();
    this.#journal?.close();
    this.#journal = undefined;
  }

  async #makeJournal(): Promise<void> {
    try {
      this.#journal = await this.#log.journal();
    } catch {
      // A full disk, a file system without syncs of folders: the log itself is synced each time.
    }
  }
}
