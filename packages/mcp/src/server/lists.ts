// Lists are bytes: each page is projected and serialised once for a revision and a set of visible names.
import { type Call, type CallOf, ReadyResult } from "../endpoint/call.js";
import type { PaginatedRequestParams } from "../protocol/method.js";
import type { Codec } from "../era/codec.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import type { Implementation } from "../protocol/capabilities.js";
import type { Registry, Restricted } from "./registry.js";
import { quotedWords } from "../jsonrpc/message.js";
import { fingerprint, fromBase64, toBase64 } from "./content.js";

/** Pages kept per list; beyond it all are dropped and made again when asked for. */
const KEPT_PAGES = 64;

/** How long, and by whom, a list may be kept. */
export interface ListHints {
  /** Milliseconds. */
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

/** How one kind of list is made. */
interface ListOptions<Entry extends Restricted> {
  /** Member of the result that holds the items, and the name cursors are bound to. */
  readonly member: "tools" | "resources" | "resourceTemplates" | "prompts";
  readonly registry: Registry<Entry>;
  readonly identity: Implementation;
  readonly pageSize: number;
  /** What may be kept of a page (stateless era); another object when it is something else. */
  hints(): ListHints;
  /** The item as the newest revision shows it. */
  item(entry: Entry): object;
}

/** Serves one of the four lists. */
class List<Entry extends Restricted> {
  readonly #options: ListOptions<Entry>;
  readonly #pages = new Map<string, ReadyResult>();
  #version = -1;
  #hints: ListHints | undefined;

  constructor(options: ListOptions<Entry>) {
    this.#options = options;
  }

  page(call: CallOf<PaginatedRequestParams>): ReadyResult {
    const { registry } = this.#options;
    const hints = this.#options.hints();
    if (this.#version !== registry.version || this.#hints !== hints || this.#pages.size > KEPT_PAGES) {
      this.#pages.clear();
      this.#hints = hints;
      this.#version = registry.version;
    }
    const after = this.#position(call.params.cursor);
    const { restricted } = registry;
    const names = restricted ? this.#visibleNames(call) : registry.listed();
    const start = after === undefined ? 0 : this.#firstAfter(names, after);
    // As JSON, since what names hold is up to others, and one class must never see the page of another.
    const key = restricted ? JSON.stringify([start, names]) : String(start);
    const kept = this.#pages.get(key);
    if (kept !== undefined) return kept;
    const page = this.#makePage(names, start, hints);
    this.#pages.set(key, page);
    return page;
  }

  #visibleNames(call: Call): readonly string[] {
    const { registry } = this.#options;
    return registry.listed().filter((key) => registry.sees(key, registry.get(key) as Entry, call));
  }

  /** The place in the order that a page ended at: that of the item now, or what it was when the item has gone. */
  #position(cursor: string | undefined): number | undefined {
    if (cursor === undefined) return undefined;
    const [, serial, name] = /^(\d{1,15}):(.*)$/s.exec(readCursor(this.#options.member, cursor) ?? "") ?? [];
    if (name !== undefined) return this.#options.registry.serial(name) ?? Number(serial);
    const what = `Invalid cursor ${quotedWords(cursor)}: use the nextCursor of this list, or none to start again`;
    throw new RpcError(ErrorCode.InvalidParams, what, { path: "/cursor", constraint: "a cursor of this list" });
  }

  #firstAfter(names: readonly string[], serial: number): number {
    const { registry } = this.#options;
    let low = 0;
    let high = names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((registry.serial(names[middle] as string) as number) <= serial) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #makePage(names: readonly string[], start: number, { ttlMs, cacheScope }: ListHints): ReadyResult {
    const { registry, item, member, pageSize, identity } = this.#options;
    const shown = names.slice(start, start + pageSize);
    const result: Record<string, unknown> = { [member]: shown.map((name) => item(registry.get(name) as Entry)) };
    const last = shown.at(-1);
    if (last !== undefined && start + pageSize < names.length) {
      result["nextCursor"] = cursorAfter(member, `${registry.serial(last)}:${last}`);
    }
    result["ttlMs"] = ttlMs;
    result["cacheScope"] = registry.restricted ? "private" : cacheScope;
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

// List cursors: they carry the last item of the page before, so they survive restarts and changes of the set.

/** Marks the format, so that a later one can tell. */
const VERSION = "1";

/** A cursor that goes on after `name` in the list of `kind`. */
export function cursorAfter(kind: string, name: string): string {
  const body = `${VERSION}${kind}\n${name}`;
  return toBase64Url(`${fingerprint(body)}${body}`);
}

/** The name a cursor goes on after, or undefined when it is not one of ours for this list. */
export function readCursor(kind: string, cursor: string): string | undefined {
  const text = fromBase64Url(cursor);
  if (text === undefined) return undefined;
  const body = text.slice(8);
  const prefix = `${VERSION}${kind}\n`;
  if (text.slice(0, 8) !== fingerprint(body) || !body.startsWith(prefix)) return undefined;
  return body.slice(prefix.length);
}

function toBase64Url(text: string): string {
  return toBase64(new TextEncoder().encode(text)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64Url(encoded: string): string | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(fromBase64(encoded));
  } catch {
    return undefined;
  }
}

// Makes a list of a server.

/** What lists need of their server. */
interface Listed {
  readonly identity: Implementation;
  readonly listHints: ListHints;
  readonly limits: { readonly pageSize: number };
}

/** A list over one of a server's registries. */
export function listOf<Entry extends Restricted>(
  core: Listed,
  about: Pick<ListOptions<Entry>, "member" | "registry" | "item">,
): List<Entry> {
  const { identity, limits } = core;
  return new List<Entry>({ ...about, identity, hints: () => core.listHints, pageSize: limits.pageSize });
}
