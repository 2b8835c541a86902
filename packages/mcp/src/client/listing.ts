// Reads a list page by page, as far as somebody wants to read.
import { invalidResponse } from "../era/invalid-response.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";

/** A list on the server. Each iteration reads it anew, or from the cache while the server allows. */
export interface Listing<T> extends AsyncIterable<T> {
  /** The whole list. */
  all(): Promise<T[]>;
}

/** Where pages come from. */
export interface PageSource<T> {
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

export function listing<T>(source: PageSource<T>): Listing<T> {
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
