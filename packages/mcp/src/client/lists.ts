// The server's four lists and its resources, from the cache while the server allows it.
import type { JsonObject } from "../jsonrpc/message.js";
import { startTimer } from "../jsonrpc/outgoing.js";
import type { CompleteRequestParams, CompletionReference, Prompt } from "../protocol/features/prompts.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { Resource, ResourceTemplate } from "../protocol/features/resources.js";
import type { Tool } from "../protocol/features/tools.js";
import type { CallOptions, Change } from "./options.js";
import type { Requests, Wire } from "./wire.js";
import type { ResponseCache, ToolCache } from "./caches.js";
import { ErrorCode, LocalError, RpcError, invalidResponse } from "../jsonrpc/errors.js";

/** What the lists of one client have in common. */
interface ListsOptions {
  readonly wire: Wire;
  readonly requests: Requests;
  readonly cache: ResponseCache | undefined;
  readonly toolCache: ToolCache;
}

interface ListKind<T> {
  readonly method: string;
  readonly member: string;
  readonly capability: keyof ServerCapabilities;
  items(found: readonly T[], outdated: boolean): readonly T[];
}

export class Lists {
  readonly #options: ListsOptions;
  /** How often what a method answers has changed: what was asked for under an older count is not kept. */
  readonly #changes = new Map<string, number>();
  readonly #outdated = new WeakSet<JsonObject>();

  constructor(options: ListsOptions) {
    this.#options = options;
  }

  tools(options?: CallOptions): Listing<Tool> {
    const { toolCache, wire } = this.#options;
    return this.#list<Tool>(
      {
        method: "tools/list",
        member: "tools",
        capability: "tools",
        items: (found, outdated) => {
          const promises = wire.established.revision.rules.structuredContent !== "none";
          return toolCache.note(found, { mirrors: wire.mirrorsArguments, promises, outdated });
        },
      },
      options,
    );
  }

  resources(options?: CallOptions): Listing<Resource> {
    const kind = { method: "resources/list", member: "resources", capability: "resources" } as const;
    return this.#list<Resource>({ ...kind, items: unchanged }, options);
  }

  resourceTemplates(options?: CallOptions): Listing<ResourceTemplate> {
    const kind = { method: "resources/templates/list", member: "resourceTemplates", capability: "resources" } as const;
    return this.#list<ResourceTemplate>({ ...kind, items: unchanged }, options);
  }

  prompts(options?: CallOptions): Listing<Prompt> {
    const kind = { method: "prompts/list", member: "prompts", capability: "prompts" } as const;
    return this.#list<Prompt>({ ...kind, items: unchanged }, options);
  }

  /** The result of a method that may be kept, by the one param that matters. */
  async kept(
    method: string,
    param: { name: string; value: string | undefined },
    options?: CallOptions,
  ): Promise<JsonObject> {
    const { cache, requests } = this.#options;
    const { name, value } = param;
    const cached = cache?.get(method, value);
    if (cached !== undefined) return cached;
    const asksNothing = options?.meta === undefined;
    const changes = this.#changes.get(method);
    const result = await requests.run(method, value === undefined ? undefined : { [name]: value }, options);
    if (changes !== this.#changes.get(method)) this.#outdated.add(result);
    else if (asksNothing && requests.mayBeKept(result)) cache?.set(method, value, result);
    return result;
  }

  /** What is kept of the list of tools may not be the server's any more; what is known of each tool still is. */
  doubtTools(): void {
    this.#drop("tools/list");
  }

  /** Forgets what a change makes stale. */
  forget(change: Change): void {
    if (change.kind === "resource") return this.#drop("resources/read", change.uri);
    this.#drop(`${change.kind}/list`);
    if (change.kind === "resources") this.#drop("resources/templates/list");
    if (change.kind === "tools") this.#options.toolCache.clear();
  }

  /** Forgets everything. */
  forgetAll(): void {
    this.#drop("resources/read");
    for (const kind of ["tools", "prompts", "resources"] as const) this.forget({ kind });
  }

  #drop(method: string, param?: string): void {
    this.#changes.set(method, (this.#changes.get(method) ?? 0) + 1);
    this.#options.cache?.drop(method, param);
  }

  #list<T>({ method, member, capability, items }: ListKind<T>, options: CallOptions | undefined): Listing<T> {
    return listing<T>({
      method,
      page: (cursor) => {
        this.#options.requests.gate(capability, method);
        return this.kept(method, { name: "cursor", value: cursor }, options);
      },
      // Where one cursor is no longer known, the pages before it are of an older list.
      outdated: () => this.#drop(method),
      items: (result) => items(result[member] as readonly T[], this.#outdated.has(result)),
    });
  }
}

function unchanged<T>(items: readonly T[]): readonly T[] {
  return items;
}

// Completes arguments while they are typed: waits for a pause, keeps answers for a while, copes with partial ones.

/** Options of `complete`: what was chosen already, and how long to wait for further typing. */
export interface CompleteOptions extends CallOptions {
  /** Arguments chosen so far; left out where the revision has no place for them. */
  readonly context?: Readonly<Record<string, string>>;
  /** Milliseconds without a further call for the same argument until this one is sent. Default 0. */
  readonly debounceMs?: number;
}

/** Values for an argument that is being typed (server/utilities/completion). */
export interface Completion {
  /** At most 100. */
  readonly values: readonly string[];
  readonly total?: number;
  /** Whether there are more values than these; do not narrow these down instead of asking again. */
  readonly hasMore: boolean;
}

/** What the specification allows in one answer. */
const MOST_VALUES = 100;
/** What was typed a moment ago is typed again after a correction. */
const KEPT_MS = 10_000;
const MOST_KEPT = 100;

export class Completions {
  readonly #requests: Requests;
  readonly #wire: Wire;
  readonly #kept = new Map<string, { completion: Completion; until: number }>();
  readonly #typing = new Map<string, Typing>();

  constructor(requests: Requests, wire: Wire) {
    this.#requests = requests;
    this.#wire = wire;
  }

  async complete(
    ref: CompletionReference,
    argument: CompleteRequestParams["argument"],
    options: CompleteOptions = {},
  ): Promise<Completion> {
    const { revision } = this.#wire.established;
    // The first revision has the method and no capability for it.
    if (revision.serverCapabilities.has("completions")) this.#requests.gate("completions", "completion/complete");
    const { context, debounceMs = 0 } = options;
    const chosen = context !== undefined && revision.rules.completionContext ? { context: { arguments: context } } : {};
    const params: JsonObject = { ref, argument, ...chosen };
    const key = JSON.stringify(params);
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > performance.now()) return kept.completion;
    const ask = async (): Promise<Completion> => {
      const completion = read(await this.#requests.run("completion/complete", params, options));
      this.#keep(key, completion);
      return completion;
    };
    return debounceMs > 0 ? this.#debounced(JSON.stringify([ref, argument.name]), debounceMs, ask) : ask();
  }

  /** Rejects what waits for a pause in typing. */
  stop(): void {
    for (const typing of this.#typing.values()) typing.stop();
    this.#typing.clear();
  }

  /** Forgets all answers. */
  clear(): void {
    this.#kept.clear();
  }

  // Whoever asked for the same argument a moment ago gets the newest answer too: theirs would be out of date.
  #debounced(argument: string, debounceMs: number, ask: () => Promise<Completion>): Promise<Completion> {
    const typing = this.#typing.get(argument) ?? new Typing();
    this.#typing.set(argument, typing);
    typing.restart(debounceMs, () => {
      this.#typing.delete(argument);
      return ask();
    });
    return typing.answer;
  }

  #keep(key: string, completion: Completion): void {
    this.#kept.delete(key);
    this.#kept.set(key, { completion, until: performance.now() + KEPT_MS });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function read(result: JsonObject): Completion {
  const { values, total, hasMore } = result["completion"] as { values: string[]; total?: unknown; hasMore?: unknown };
  const more = hasMore === true || values.length > MOST_VALUES || (typeof total === "number" && total > values.length);
  const counted = typeof total === "number" ? { total } : {};
  return { values: values.slice(0, MOST_VALUES), ...counted, hasMore: more };
}

/** An argument somebody is typing. */
class Typing {
  readonly answer: Promise<Completion>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #settle!: { resolve(completion: Completion | Promise<Completion>): void; reject(error: Error): void };

  constructor() {
    this.answer = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  restart(delayMs: number, ask: () => Promise<Completion>): void {
    clearTimeout(this.#timer);
    this.#timer = startTimer(() => this.#settle.resolve(ask()), delayMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#settle.reject(new LocalError("CLOSED", "completion/complete was not sent: the client was closed"));
  }
}

// Reads a list page by page, as far as somebody wants to read.

/** A list on the server. Each iteration reads it anew, or from the cache while the server allows. */
export interface Listing<T> extends AsyncIterable<T> {
  /** The whole list. */
  all(): Promise<T[]>;
}

/** Where pages come from. */
interface PageSource<T> {
  readonly method: string;
  /** The page behind a cursor; the first without one. */
  page(cursor: string | undefined): Promise<JsonObject>;
  /** What a page holds. */
  items(result: JsonObject): readonly T[];
  /** The server no longer knows a cursor it gave. */
  outdated(): void;
}

/** A list that long is one that never ends; so is one that shows a cursor again. */
const MOST_PAGES = 1_000;

function listing<T>(source: PageSource<T>): Listing<T> {
  return {
    async *[Symbol.asyncIterator]() {
      for await (const page of pages(source)) yield* page;
    },
    async all() {
      try {
        return await whole(source);
      } catch (error) {
        if (!isOutdated(error)) throw error;
        return whole(source);
      }
    },
  };
}

async function whole<T>(source: PageSource<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages(source)) items.push(...page);
  return items;
}

/** A refused cursor: the whole list is read once more, from the beginning. */
class OutdatedCursor extends RpcError {}

function isOutdated(error: unknown): boolean {
  return error instanceof OutdatedCursor;
}

async function pageAt<T>({ page, outdated }: PageSource<T>, cursor: string | undefined): Promise<JsonObject> {
  try {
    return await page(cursor);
  } catch (error) {
    if (cursor === undefined || !(error instanceof RpcError) || error.code !== ErrorCode.InvalidParams) throw error;
    outdated();
    throw new OutdatedCursor(error.code, error.message, error.data);
  }
}

async function* pages<T>(source: PageSource<T>): AsyncGenerator<readonly T[], void, void> {
  const { method, items } = source;
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let count = 0; count < MOST_PAGES; count++) {
    const result = await pageAt(source, cursor);
    yield items(result);
    // An empty string is a cursor like any other.
    const next = result["nextCursor"];
    if (typeof next !== "string") return;
    if (seen.has(next)) throw invalidResponse(method, "its pages go round in a circle: a cursor came twice");
    seen.add(next);
    cursor = next;
  }
  throw new LocalError("LIMIT", `${method} was stopped after ${MOST_PAGES} pages: the list does not end`);
}
