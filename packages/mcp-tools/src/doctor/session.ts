// A conversation that is under way, in one era: asks as a client of that era does, and reads lists.
import type { KnownRevision } from "@secure-local/mcp/client";
import { KNOWN_REVISIONS } from "@secure-local/mcp/client/node";
import { headerValue } from "../remote/text-link.js";
import type { Message } from "../remote/text-link.js";
import type { AskOptions } from "./raw-conversation.js";
import { isMessage, type RawConversation } from "./raw-conversation.js";

export type ListName = "tools" | "resources" | "resourceTemplates" | "prompts";

/** A list as far as it could be read. */
export interface ReadList {
  readonly items: readonly Message[];
  /** Cursors in the order they were given. */
  readonly cursors: readonly string[];
  readonly pages: readonly Message[];
  /** The answer that was no page. */
  readonly failed: Message | undefined;
  /** No answer came. */
  readonly silent: boolean;
  /** There are more pages than are read. */
  readonly more: boolean;
}

const HANDSHAKES = KNOWN_REVISIONS.filter(({ era }) => era === "handshake");
/** The newest revision of each era, and the oldest one; newest first in the table. */
export const STATELESS: string = (KNOWN_REVISIONS.find(({ era }) => era === "stateless") as KnownRevision).date;
export const HANDSHAKE: string = (HANDSHAKES[0] as KnownRevision).date;
export const OLDEST: string = (HANDSHAKES.at(-1) as KnownRevision).date;
/** The last revision that has batches. */
export const BATCHES: string = (KNOWN_REVISIONS.find(({ batches }) => batches) as KnownRevision).date;

/** What is different in a revision; undefined for one that we do not know. */
export function knownRevision(date: unknown): KnownRevision | undefined {
  return KNOWN_REVISIONS.find((known) => known.date === date);
}

const MIO = "io.modelcontextprotocol/";
const METHODS: Readonly<Record<ListName, string>> = {
  tools: "tools/list",
  resources: "resources/list",
  resourceTemplates: "resources/templates/list",
  prompts: "prompts/list",
};
/** A list that has more pages than this is not read to its end. */
const MOST_PAGES = 20;
const NAMED = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

export class Session {
  readonly raw: RawConversation;
  readonly era: "handshake" | "stateless";
  readonly revision: string;
  /** The result of `initialize` or `server/discover`. */
  readonly opening: Message;
  readonly #lists: Map<ListName, Promise<ReadList>> = new Map();

  constructor(raw: RawConversation, era: "handshake" | "stateless", opening: Message) {
    this.raw = raw;
    this.era = era;
    this.opening = opening;
    const agreed = opening["protocolVersion"];
    this.revision = era === "stateless" ? STATELESS : typeof agreed === "string" ? agreed : HANDSHAKE;
  }

  get capabilities(): Message {
    const { capabilities } = this.opening;
    return isMessage(capabilities) ? capabilities : {};
  }

  get server(): Message {
    const meta = this.opening["_meta"];
    const info = this.opening["serverInfo"] ?? (isMessage(meta) ? meta[`${MIO}serverInfo`] : undefined);
    return isMessage(info) ? info : {};
  }

  /** The answer; undefined when none came. */
  ask(method: string, params: Message = {}, options: AskOptions = {}): Promise<Message | undefined> {
    const whole =
      this.era === "stateless" ? { ...params, _meta: { ...envelope(), ...(params["_meta"] as object) } } : params;
    const headers = { ...this.headers(method, params), ...options.headers };
    return this.raw.ask(method, whole, { ...options, headers });
  }

  headers(method: string, params: Message = {}): Record<string, string> {
    const version = { "mcp-protocol-version": this.revision };
    if (this.era === "handshake") return version;
    const name = params[NAMED.get(method) ?? ""];
    return { ...version, "mcp-method": method, ...(typeof name === "string" ? { "mcp-name": headerValue(name) } : {}) };
  }

  /** Any answer to a harmless question: whether the server is still there. */
  async alive(): Promise<boolean> {
    return (await (this.era === "stateless" ? this.ask("server/discover") : this.ask("ping"))) !== undefined;
  }

  list(name: ListName): Promise<ReadList> {
    const known = this.#lists.get(name) ?? this.#read(METHODS[name], name);
    this.#lists.set(name, known);
    return known;
  }

  async #read(method: string, name: ListName): Promise<ReadList> {
    const items: Message[] = [];
    const cursors: string[] = [];
    const pages: Message[] = [];
    let cursor: string | undefined;
    let more = true;
    while (pages.length < MOST_PAGES && more) {
      const answer = await this.ask(method, cursor === undefined ? {} : { cursor });
      const page = resultOf(answer);
      if (page === undefined)
        return { items, cursors, pages, failed: answer, silent: answer === undefined, more: false };
      pages.push(page);
      const entries: unknown = page[name];
      if (Array.isArray(entries)) items.push(...entries.filter(isMessage));
      const next = page["nextCursor"];
      more = typeof next === "string" && !cursors.includes(next);
      if (!more) break;
      cursors.push(next as string);
      cursor = next as string;
    }
    return { items, cursors, pages, failed: undefined, silent: false, more };
  }
}

/** The `_meta` of every request of the stateless era. */
export function envelope(): Record<string, unknown> {
  return {
    [`${MIO}protocolVersion`]: STATELESS,
    [`${MIO}clientInfo`]: { name: "mcp-secure-local doctor", version: "1" },
    [`${MIO}clientCapabilities`]: {},
  };
}

export function resultOf(answer: Message | undefined): Message | undefined {
  const result = answer?.["result"];
  return isMessage(result) ? result : undefined;
}

/** The code of an error answer; undefined for results and silence. */
export function codeOf(answer: Message | undefined): number | undefined {
  const error = answer?.["error"];
  return isMessage(error) && typeof error["code"] === "number" ? error["code"] : undefined;
}

/** What an answer was, in a few words. */
export function answerText(answer: Message | undefined): string {
  if (answer === undefined) return "nothing";
  const code = codeOf(answer);
  if (code === undefined) return "error" in answer ? "an error without a code" : "a result";
  return `error ${code}`;
}
