// Lists are bytes: each page is projected and serialised once for a revision and a set of visible names.
import type { Call } from "../endpoint/call.js";
import { ReadyResult } from "../endpoint/answer.js";
import type { Codec } from "../era/codec.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { Implementation } from "../protocol/implementation.js";
import { cursorAfter, readCursor } from "./cursor.js";
import type { Registry } from "./registry.js";
import { quotedWords } from "../jsonrpc/visible-text.js";

/** Pages kept per list; beyond it all are dropped and made again when asked for. */
const KEPT_PAGES = 64;

/** How one kind of list is made. */
export interface ListOptions<Entry> {
  /** Member of the result that holds the items, and the name cursors are bound to. */
  readonly member: "tools" | "resources" | "resourceTemplates" | "prompts";
  readonly registry: Registry<Entry>;
  readonly identity: Implementation;
  readonly pageSize: number;
  /** How long a client may keep a page, in milliseconds (stateless era). */
  readonly ttlMs: number;
  /** The item as the newest revision shows it. */
  item(entry: Entry): object;
  /** Whether the caller may see an item; absent: everybody sees everything. */
  visible?: ((entry: Entry, call: Call) => boolean) | undefined;
}

/** Serves one of the four lists. */
export class List<Entry> {
  readonly #options: ListOptions<Entry>;
  readonly #pages = new Map<string, ReadyResult>();
  #version = -1;

  constructor(options: ListOptions<Entry>) {
    this.#options = options;
  }

  page(call: Call): ReadyResult {
    const { registry, member, visible } = this.#options;
    if (this.#version !== registry.version || this.#pages.size > KEPT_PAGES) {
      this.#pages.clear();
      this.#version = registry.version;
    }
    const after = this.#position(call.params["cursor"]);
    const names = visible === undefined ? registry.keys() : this.#visibleNames(call);
    const start = after === undefined ? 0 : firstAfter(names, after);
    // As JSON, since what names hold is up to others, and one class must never see the page of another.
    const key = visible === undefined ? String(start) : JSON.stringify([start, names]);
    const kept = this.#pages.get(key);
    if (kept !== undefined) return kept;
    const page = this.#makePage(names, start, member);
    this.#pages.set(key, page);
    return page;
  }

  #visibleNames(call: Call): readonly string[] {
    const { registry, visible } = this.#options;
    return registry.keys().filter((key) => visible?.(registry.get(key) as Entry, call) === true);
  }

  #position(cursor: unknown): string | undefined {
    if (cursor === undefined) return undefined;
    const name = readCursor(this.#options.member, cursor as string);
    if (name !== undefined) return name;
    const what = `Invalid cursor ${quotedWords(cursor as string)}: use the nextCursor of this list, or none to start again`;
    throw new RpcError(ErrorCode.InvalidParams, what, { path: "/cursor", constraint: "a cursor of this list" });
  }

  #makePage(names: readonly string[], start: number, member: string): ReadyResult {
    const { registry, item, pageSize, ttlMs, identity, visible } = this.#options;
    const shown = names.slice(start, start + pageSize);
    const result: Record<string, unknown> = { [member]: shown.map((name) => item(registry.get(name) as Entry)) };
    const last = shown.at(-1);
    if (last !== undefined && start + pageSize < names.length) result["nextCursor"] = cursorAfter(member, last);
    result["ttlMs"] = ttlMs;
    result["cacheScope"] = visible === undefined ? "public" : "private";
    const texts = new Map<Codec, string>();
    return new ReadyResult((codec) => {
      let text = texts.get(codec);
      if (text === undefined) {
        const record = codec.revision.methods.get(LIST_METHODS[member] as string);
        text = codec.resultText(record as NonNullable<typeof record>, result, identity);
        texts.set(codec, text);
      }
      return text;
    });
  }
}

const LIST_METHODS: Readonly<Record<string, string>> = {
  tools: "tools/list",
  resources: "resources/list",
  resourceTemplates: "resources/templates/list",
  prompts: "prompts/list",
};

/** Index of the first name after `name`, which need not be in the list any more. */
function firstAfter(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((names[middle] as string) <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}
