// Takes the person to the pages a 2025-11-25 server wants seen before it serves a request, and waits until they were.
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { RpcError } from "../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import { pause } from "./pause.js";

/** Pages a person can be asked to open for one request. */
const MOST_PAGES = 5;

/** What asking takes. */
export interface PageAsker {
  /** Whether the person agreed to open the page. */
  agrees(params: JsonObject): Promise<boolean>;
  /** Milliseconds to wait for word that a page is done with; servers need not send any. */
  readonly patienceMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Remembers which pages somebody waits for. */
export class OpenPages {
  readonly #open = new Map<string, AbortController>();

  /** The pages an error demands; undefined for every other error. */
  demanded(error: RpcError): readonly JsonObject[] | undefined {
    if (error.code !== McpErrorCode.UrlElicitationRequired || !isJsonObject(error.data)) return undefined;
    const { elicitations } = error.data;
    const pages = Array.isArray(elicitations) ? elicitations.filter(isJsonObject) : [];
    return pages.length > 0 && pages.length <= MOST_PAGES ? pages : undefined;
  }

  /** Whether the person agreed to all pages and is done with them, or may be. */
  async visited(pages: readonly JsonObject[], { agrees, patienceMs, signal }: PageAsker): Promise<boolean> {
    for (const page of pages) {
      const id = page["elicitationId"];
      const done = new AbortController();
      if (typeof id === "string") this.#open.set(id, done);
      try {
        if (!(await agrees({ ...page, mode: "url" }))) return false;
        const either = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
        await pause(patienceMs, either);
      } finally {
        if (typeof id === "string") this.#open.delete(id);
      }
    }
    return true;
  }

  /** The server says that the person is done with a page. Ids nobody waits for mean nothing. */
  completed({ elicitationId }: JsonObject): void {
    this.#open.get(elicitationId as string)?.abort();
  }
}
