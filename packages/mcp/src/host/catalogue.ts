// One catalogue of what all servers of a host offer, kept up as they come, go and change.
import { pause } from "../client/pause.js";
import type { EntryKind, HostEntry } from "./catalogue-entry.js";
import type { ListKind } from "./server-lists.js";

/** A server that speaks of changes all the time has its lists read five times a second, not more. */
const RELIST_MS = 200;
const KINDS: readonly ListKind[] = ["tools", "prompts", "resources"];

/** Reads one list of a server that is up. */
export type ReadList = (kind: ListKind) => Promise<HostEntry[]>;

interface Known {
  readonly sorted: readonly HostEntry[];
  /** By kind and name; null where several have it. */
  readonly named: ReadonlyMap<string, HostEntry | null>;
}

interface Shelf {
  readonly read: ReadList;
  readonly lists: Map<ListKind, readonly HostEntry[]>;
  /** Lists to be read again once the reading under way has ended. */
  readonly stale: Set<ListKind>;
  /** Aborted when the server is gone. */
  readonly gone: AbortController;
  reading: Promise<void> | undefined;
  readAt: number;
}

export interface CatalogueEvents {
  /** Lists of a server are others than before. */
  changed(server: string, kinds: readonly ListKind[]): void;
  /** A list of a server could not be read: what was known of it stays. */
  failed(server: string, kind: ListKind, error: unknown): void;
}

export class Catalogue {
  readonly #events: CatalogueEvents;
  readonly #shelves = new Map<string, Shelf>();
  #index: Known | undefined;

  constructor(events: CatalogueEvents) {
    this.#events = events;
  }

  /** Resolves when all lists of the server are in. Never rejects. */
  add(server: string, read: ReadList): Promise<void> {
    const shelf: Shelf = {
      read,
      lists: new Map(),
      stale: new Set(KINDS),
      gone: new AbortController(),
      reading: undefined,
      readAt: -RELIST_MS,
    };
    this.#shelves.set(server, shelf);
    return this.#refresh(server, shelf);
  }

  /** What the server offered is gone. */
  remove(server: string): void {
    const shelf = this.#shelves.get(server);
    this.#shelves.delete(server);
    this.#index = undefined;
    shelf?.gone.abort();
    const kinds = KINDS.filter((kind) => (shelf?.lists.get(kind)?.length ?? 0) > 0);
    if (kinds.length > 0) this.#events.changed(server, kinds);
  }

  /** A list changed on the server: read again, once for however many changes come meanwhile. */
  outdated(server: string, kind: ListKind): Promise<void> {
    const shelf = this.#shelves.get(server);
    if (shelf === undefined) return Promise.resolve();
    shelf.stale.add(kind);
    return this.#refresh(server, shelf);
  }

  /** Entries of one kind in the order of their names; all kinds without one. */
  entries<K extends EntryKind>(kind?: K): Extract<HostEntry, { kind: K }>[] {
    const { sorted } = this.#known();
    const wanted = kind === undefined ? [...sorted] : sorted.filter((entry) => entry.kind === kind);
    return wanted as Extract<HostEntry, { kind: K }>[];
  }

  /** The tool or prompt of that name. Undefined too when two servers have one: then neither can be meant. */
  named<K extends "tool" | "prompt">(kind: K, name: string): Extract<HostEntry, { kind: K }> | undefined {
    return (this.#known().named.get(`${kind} ${name}`) ?? undefined) as Extract<HostEntry, { kind: K }> | undefined;
  }

  #known(): Known {
    this.#index ??= indexed(this.#shelves.values());
    return this.#index;
  }

  #refresh(server: string, shelf: Shelf): Promise<void> {
    shelf.reading ??= this.#read(server, shelf).finally(() => {
      shelf.reading = undefined;
    });
    return shelf.reading;
  }

  async #read(server: string, shelf: Shelf): Promise<void> {
    while (shelf.stale.size > 0) {
      const early = shelf.readAt + RELIST_MS - performance.now();
      if (early > 0) await pause(early, shelf.gone.signal);
      if (shelf.gone.signal.aborted) return;
      shelf.readAt = performance.now();
      const kinds = [...shelf.stale];
      shelf.stale.clear();
      const changed = await Promise.all(kinds.map((kind) => this.#readOne({ server, shelf, kind })));
      if (this.#shelves.get(server) !== shelf) return;
      if (changed.includes(true))
        this.#events.changed(
          server,
          kinds.filter((_, index) => changed[index]),
        );
    }
  }

  async #readOne({ server, shelf, kind }: { server: string; shelf: Shelf; kind: ListKind }): Promise<boolean> {
    try {
      const list = await shelf.read(kind);
      const before = shelf.lists.get(kind) ?? [];
      shelf.lists.set(kind, list);
      this.#index = undefined;
      return JSON.stringify(before) !== JSON.stringify(list);
    } catch (error) {
      if (this.#shelves.get(server) === shelf) this.#events.failed(server, kind, error);
      return false;
    }
  }
}

function indexed(shelves: Iterable<Shelf>): Known {
  const sorted: HostEntry[] = [];
  for (const { lists } of shelves) for (const list of lists.values()) sorted.push(...list);
  sorted.sort(byName);
  const named = new Map<string, HostEntry | null>();
  for (const entry of sorted) {
    const key = `${entry.kind} ${entry.name}`;
    named.set(key, named.has(key) ? null : entry);
  }
  return { sorted, named };
}

function byName(one: HostEntry, other: HostEntry): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : one.server < other.server ? -1 : 1;
}
