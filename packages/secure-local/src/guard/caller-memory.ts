// What the processes of one server remember together of those who call; absent where one process serves alone.

/** What is remembered: consents of people, and what was read. */
export type MemoryKind = "consent" | "taint";

export interface CallerMemory {
  /**
   * Takes a place in the running minute of each name, at most so many, or in none. Resolves with 0, or with the milliseconds until
   * there is one. Never rejects: where nobody can be asked, each process keeps to its share.
   */
  take(caller: string | undefined, names: Readonly<Record<string, number>>): Promise<number>;
  /** Remembers a text for all processes. Rejects when it cannot. */
  keep(kind: MemoryKind, name: string, text: string, lifeMs: number): Promise<void>;
  /** What any process remembers. Rejects when nobody can be asked. */
  find(kind: MemoryKind, name: string): Promise<string | undefined>;
  /** All of a kind that any process remembers, by name. Rejects when nobody can be asked. */
  list(kind: MemoryKind): Promise<ReadonlyMap<string, string>>;
  /** Forgets a text for all processes. Rejects when it cannot. */
  drop(kind: MemoryKind, name: string): Promise<void>;
}
