// Remembers how a server spoke the last time, so that the next connection need not find out again.

/** What was found out about one target. */
export interface Verdict {
  readonly era: "handshake" | "stateless";
  /** Date of the revision agreed on. */
  readonly version: string;
  /** Whether only the fallback link (HTTP+SSE) reached it. */
  readonly fallback: boolean;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Where verdicts are kept, by target: a command line, a URL. May be a file shared by several programs. */
export interface VerdictStore {
  get(key: string): Verdict | undefined | Promise<Verdict | undefined>;
  set(key: string, verdict: Verdict): void | Promise<void>;
  delete(key: string): void | Promise<void>;
}

/** A gateway's worth of servers; each entry is a hundred bytes. */
const MOST_VERDICTS = 1_000;

/** Keeps verdicts in memory, the newest thousand. */
export class MemoryVerdicts implements VerdictStore {
  readonly #verdicts = new Map<string, Verdict>();

  get(key: string): Verdict | undefined {
    const verdict = this.#verdicts.get(key);
    if (verdict === undefined || verdict.expiresAt > Date.now()) return verdict;
    this.#verdicts.delete(key);
    return undefined;
  }

  set(key: string, verdict: Verdict): void {
    this.#verdicts.delete(key);
    this.#verdicts.set(key, verdict);
    if (this.#verdicts.size <= MOST_VERDICTS) return;
    const [oldest] = this.#verdicts.keys();
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }

  delete(key: string): void {
    this.#verdicts.delete(key);
  }
}
