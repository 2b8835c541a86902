// The server's four lists and its resources, from the cache while the server allows it.
import type { JsonObject } from "../jsonrpc/message.js";
import type { Prompt } from "../protocol/features/prompts.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { Resource, ResourceTemplate } from "../protocol/resource.js";
import type { Tool } from "../protocol/tool.js";
import type { CallOptions } from "./call-options.js";
import type { Change } from "./change.js";
import { type Listing, listing } from "./listing.js";
import type { Requests } from "./requests.js";
import type { ResponseCache } from "./response-cache.js";
import type { ToolBook } from "./tool-book.js";
import type { Wire } from "./wire.js";

/** What the lists of one client have in common. */
export interface ListsOptions {
  readonly wire: Wire;
  readonly requests: Requests;
  readonly cache: ResponseCache | undefined;
  readonly book: ToolBook;
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
    const { book, wire } = this.#options;
    return this.#list<Tool>(
      {
        method: "tools/list",
        member: "tools",
        capability: "tools",
        items: (found, outdated) => {
          const promises = wire.established.revision.rules.structuredContent !== "none";
          return book.note(found, { mirrors: wire.mirrorsArguments, promises, outdated });
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
    if (change.kind === "tools") this.#options.book.clear();
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
