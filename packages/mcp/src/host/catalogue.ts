// One catalogue of what all servers of a host offer, kept up as they come, go and change, and what a host tells while
// it works.
import type { Client } from "../client/client.js";
import type { Listing } from "../client/lists.js";
import type { Progress } from "../client/options.js";
import { pause } from "../jsonrpc/outgoing.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import type { Prompt } from "../protocol/features/prompts.js";
import type { Resource, ResourceTemplate } from "../protocol/features/resources.js";
import type { Tool } from "../protocol/features/tools.js";
import { digestOf, messageOf } from "./launch.js";
import type { ServerStatus } from "./managed-server.js";

/** A server that speaks of changes all the time has its lists read five times a second, not more. */
const RELIST_MS = 200;
const KINDS: readonly EntryList[] = ["tools", "prompts", "resources"];

/** Reads one list of a server that is up. */
type ReadList = (kind: EntryList) => Promise<HostEntry[]>;

interface Known {
  readonly sorted: readonly HostEntry[];
  /** By kind and name; null where several have it. */
  readonly named: ReadonlyMap<string, HostEntry | null>;
}

interface Shelf {
  readonly read: ReadList;
  readonly lists: Map<EntryList, readonly HostEntry[]>;
  /** Lists to be read again once the reading under way has ended. */
  readonly stale: Set<EntryList>;
  /** Aborted when the server is gone. */
  readonly gone: AbortController;
  reading: Promise<void> | undefined;
  readAt: number;
}

interface CatalogueEvents {
  /** Lists of a server are others than before. */
  changed(server: string, kinds: readonly EntryList[]): void;
  /** A list of a server could not be read: what was known of it stays. */
  failed(server: string, kind: EntryList, error: unknown): void;
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

  /** Whether a server's list was read since it came. */
  has(server: string, kind: EntryList): boolean {
    return this.#shelves.get(server)?.lists.has(kind) === true;
  }

  /** A list changed on the server: read again, once for however many changes come meanwhile. */
  outdated(server: string, kind: EntryList): Promise<void> {
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

  async #readOne({ server, shelf, kind }: { server: string; shelf: Shelf; kind: EntryList }): Promise<boolean> {
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

// What the servers of a host offer, each with the name of its server.

/** A tool of one server under the host's name for it, of at most 64 characters. */
export interface HostTool {
  readonly kind: "tool";
  /** `server__tool`: what a model is told, and `host.call` takes. */
  readonly name: string;
  readonly server: string;
  /** Its name at the server. */
  readonly original: string;
  /** To be handed to a model: it has the name above, and annotations only where the server is trusted. */
  readonly tool: Tool;
}

/** A prompt of one server under the host's name for it. */
export interface HostPrompt {
  readonly kind: "prompt";
  /** `server__prompt`. */
  readonly name: string;
  readonly server: string;
  readonly original: string;
  readonly prompt: Prompt;
}

/** Two servers may have different things under one URI: it says little without the server. */
export interface HostResource {
  readonly kind: "resource";
  readonly name: string;
  readonly server: string;
  readonly resource: Resource;
}

/** A resource template of one server. */
export interface HostTemplate {
  readonly kind: "template";
  readonly name: string;
  readonly server: string;
  readonly template: ResourceTemplate;
}

/** Something that a server of the host offers, under the name the host gives it. */
export type HostEntry = HostTool | HostPrompt | HostResource | HostTemplate;
/** What an entry of the catalogue is. */
export type EntryKind = HostEntry["kind"];

// Names what a server offers so that it is told apart from what all others offer: `server__tool`, within 64 characters.

/** What the interfaces of models allow. */
const MOST_CHARACTERS = 64;
const DIGEST_CHARACTERS = 10;

// A server that has no "__" and does not end in "_" makes the first "__" of the whole name the seam.
const PLAIN_SERVER = /^[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/;
const PLAIN_ITEM = /^[A-Za-z0-9_-]+$/;
// Names made with a digest are a family of their own: nothing plain may look like one of them.
const LIKE_DIGEST = /_[0-9a-f]{10}$/;

/**
 * The name under which `item` of `server` is offered: `server__item` where that is within 64 letters, digits, "-" and
 * "_" and can mean nothing else; otherwise as much of it as fits and a digest of both names. It depends on nothing but the two.
 */
export async function qualifiedName(server: string, item: string): Promise<string> {
  const whole = `${server}__${item}`;
  const fits = whole.length <= MOST_CHARACTERS && PLAIN_SERVER.test(server) && PLAIN_ITEM.test(item);
  if (fits && !LIKE_DIGEST.test(whole)) return whole;
  const digest = (await digestOf([server, item])).slice(0, DIGEST_CHARACTERS);
  const shown = whole.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, MOST_CHARACTERS - DIGEST_CHARACTERS - 1);
  return `${shown}_${digest}`;
}

/** Whether a name may be one of that server's, whose lists are not known. */
export function mayBeOf(server: string, name: string): boolean {
  return name.startsWith(
    `${server}__`.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, MOST_CHARACTERS - DIGEST_CHARACTERS - 1),
  );
}

// Finds entries of the catalogue by words, servers and kinds.

/** What is looked for in the catalogue. */
export interface Search {
  /** Words, all of which must occur in the name, title, description or URI. */
  readonly text?: string;
  readonly servers?: readonly string[];
  readonly kinds?: readonly EntryKind[];
  readonly filter?: (entry: HostEntry) => boolean;
  /** Default 100. */
  readonly limit?: number;
}

const MOST_FOUND = 100;

/** The best first: words in names count more than words in titles, those more than words in descriptions. */
export function search(entries: readonly HostEntry[], wanted: Search): HostEntry[] {
  const { text = "", servers, kinds, filter, limit = MOST_FOUND } = wanted;
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found: { entry: HostEntry; score: number }[] = [];
  for (const entry of entries) {
    if (servers?.includes(entry.server) === false || kinds?.includes(entry.kind) === false) continue;
    const score = scoreOf(entry, words);
    if (score > 0 && filter?.(entry) !== false) found.push({ entry, score });
  }
  found.sort((one, other) => other.score - one.score);
  return found.slice(0, limit).map(({ entry }) => entry);
}

function scoreOf(entry: HostEntry, words: readonly string[]): number {
  const { title = "", description = "" } = described(entry);
  const name = entry.name.toLowerCase();
  const fields = [title, locator(entry), description].map((field) => field.toLowerCase());
  let score = 1;
  for (const word of words) {
    const field = fields.findIndex((text) => text.includes(word));
    if (name.includes(word)) score += name === word || name.endsWith(`__${word}`) ? 16 : 8;
    else if (field >= 0) score += 4 >> field;
    else return 0;
  }
  return score;
}

function described(entry: HostEntry): { readonly title?: string; readonly description?: string } {
  switch (entry.kind) {
    case "tool":
      return entry.tool;
    case "prompt":
      return entry.prompt;
    case "resource":
      return entry.resource;
    case "template":
      return entry.template;
  }
}

function locator(entry: HostEntry): string {
  if (entry.kind === "resource") return entry.resource.uri;
  return entry.kind === "template" ? entry.template.uriTemplate : "";
}

// Reads what one server offers and gives it the names it has in the host.

/** Whoever lists more is not helped by the rest. */
const MOST_ENTRIES = 5_000;

interface ListedServer {
  readonly name: string;
  readonly trusted: boolean;
}

/** A list of a host, by what is in it. */
export type EntryList = "tools" | "prompts" | "resources";

/** Everything of one kind. Rejects as the client does. `warn` is told of what is left out. */
export async function readEntries(
  kind: EntryList,
  client: Client,
  { server, warn }: { server: ListedServer; warn: (text: string) => void },
): Promise<HostEntry[]> {
  const { capabilities } = client;
  if (capabilities[kind] === undefined) return [];
  const taken = new Set<string>();
  const once = (entry: HostEntry, key: string): HostEntry[] => {
    if (!taken.has(key)) return taken.add(key) && [entry];
    warn(`${server.name} lists two ${kind} under the name ${JSON.stringify(entry.name)}: the second is left out`);
    return [];
  };
  const found: HostEntry[] = [];
  const note = (entry: HostEntry, key: string): boolean => {
    found.push(...once(entry, key));
    if (found.length < MOST_ENTRIES) return true;
    warn(`${server.name} lists more than ${MOST_ENTRIES} ${kind}: the others are left out`);
    return false;
  };
  if (kind === "tools") await each(client.tools(), async (tool) => noteNamed(note, await hostTool(server, tool)));
  else if (kind === "prompts") {
    await each(client.prompts(), async (prompt) => {
      const name = await qualifiedName(server.name, prompt.name);
      const entry: HostPrompt = {
        kind: "prompt",
        name,
        server: server.name,
        original: prompt.name,
        prompt: { ...prompt, name },
      };
      return noteNamed(note, entry);
    });
  } else await readResources(client, { server, note, warn });
  return found;
}

type Note = (entry: HostEntry, key: string) => boolean;

interface Reading {
  readonly server: ListedServer;
  readonly note: Note;
  readonly warn: (text: string) => void;
}

function noteNamed(note: Note, entry: HostTool | HostPrompt): boolean {
  return note(entry, entry.name);
}

// Two lists of one capability: what is wrong with one of them is no reason to lose the other.
async function readResources(client: Client, { server, note, warn }: Reading): Promise<void> {
  const name = server.name;
  const resources = each(client.resources(), (resource) => {
    const entry: HostResource = { kind: "resource", name: resource.name, server: name, resource };
    return note(entry, `uri ${resource.uri}`);
  });
  const [listed] = await Promise.allSettled([resources]);
  const templates = each(client.resourceTemplates(), (template) => {
    const entry: HostTemplate = { kind: "template", name: template.name, server: name, template };
    return note(entry, `template ${template.uriTemplate}`);
  });
  const [templated] = await Promise.allSettled([templates]);
  if (listed.status === "rejected" && templated.status === "rejected") throw listed.reason;
  const both: [string, PromiseSettledResult<void>][] = [
    ["resources", listed],
    ["resource templates", templated],
  ];
  for (const [what, outcome] of both) {
    if (outcome.status === "rejected") warn(`The ${what} of ${name} could not be listed: ${messageOf(outcome.reason)}`);
  }
}

/** A capability promises no single method: a list that the server does not know is one it has nothing to put into. */
async function each<T>(listing: Listing<T>, take: (item: T) => boolean | Promise<boolean>): Promise<void> {
  try {
    for await (const item of listing) if (!(await take(item))) return;
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== ErrorCode.MethodNotFound) throw error;
  }
}

// What a stranger says of its tools decides nothing, so it is not even shown.
async function hostTool(server: ListedServer, tool: Tool): Promise<HostTool> {
  const name = await qualifiedName(server.name, tool.name);
  const { annotations, ...rest } = tool;
  const believed = server.trusted && annotations !== undefined ? { annotations } : {};
  return { kind: "tool", name, server: server.name, original: tool.name, tool: { ...rest, ...believed, name } };
}

// What a host tells while it works, for a screen or a log.

/** Something happened: to a server, the catalogue, or a call. */
export type HostEvent =
  | { readonly type: "server"; readonly status: ServerStatus }
  | { readonly type: "catalogue"; readonly server: string; readonly kinds: readonly EntryList[] }
  | {
      readonly type: "call-asked" | "call-started";
      readonly id: number;
      readonly tool: string;
      readonly server: string;
    }
  | { readonly type: "call-progress"; readonly id: number; readonly tool: string; readonly progress: Progress }
  | { readonly type: "call-ended"; readonly id: number; readonly tool: string; readonly outcome: string }
  | { readonly type: "sampling"; readonly server: string; readonly step: "asked" | "refused" | "delivered" }
  | { readonly type: "log"; readonly server: string; readonly level: string; readonly data: unknown }
  | { readonly type: "warning"; readonly server: string | undefined; readonly text: string };
