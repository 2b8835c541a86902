// Conversations of the doctor with a server: over a bare link, which says what a client never would, and as a client of
// one era.
import type { KnownRevision, MessageSink, Outgoing, Transport } from "@secure-local/mcp/client";
import { KNOWN_REVISIONS, LocalError } from "@secure-local/mcp/client/node";
import { headerValue, type Message } from "../remote/text-link.js";

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

// A conversation with a server over a bare link: says what a client never would, and hears what a client overlooks.

/** One text the server sent. */
export interface ReceivedText {
  readonly text: string;
  /** Undefined for what is no JSON object; a batch is heard message by message. */
  readonly message: Message | undefined;
}

interface AskOptions {
  readonly id?: string | number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** How links say that a message was longer than the limit. */
const OVER_LIMIT = /longer than \d+ bytes/;
/** Texts kept: a server that sends more is judged by what it sent first. */
const MOST_HEARD = 5_000;
const MOST_NOISE = 50;

export class RawConversation {
  readonly link: Transport;
  readonly heard: ReceivedText[] = [];
  readonly noise: string[] = [];
  readonly unreadable: string[] = [];
  /** Messages that were longer than we take, in words; none of them is a fault of the server's. */
  readonly overLimit: string[] = [];
  /** Ids of our requests, in order. */
  readonly asked: (string | number)[] = [];
  readonly losses: Map<string | number, LocalError> = new Map();
  /** Why the server is gone; undefined while it is there. */
  ended: Error | undefined;
  readonly #timeoutMs: number;
  readonly #waiting: Map<string | number, (message: Message | undefined) => void> = new Map();
  #ids = 0;
  #closing: Promise<void> | undefined;

  constructor(link: Transport, timeoutMs: number) {
    this.link = link;
    this.#timeoutMs = timeoutMs;
  }

  /** Rejects with the link's error. */
  async open(): Promise<this> {
    await this.link.start(this.#sink());
    return this;
  }

  /** The answer, whole; undefined when none came in time. Rejects with LIMIT when one came that was longer than we take. */
  async ask(method: string, params?: object, options: AskOptions = {}): Promise<Message | undefined> {
    const id = options.id ?? ++this.#ids;
    const message = { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
    const before = this.overLimit.length;
    const answer = await this.send(JSON.stringify(message), { ...options, id, method });
    const limit = this.overLimit[before];
    // Whose limit it was: what was to be found out stays unknown, and is no fault of the server's.
    if (answer === undefined && limit !== undefined) throw new LocalError("LIMIT", limit);
    return answer;
  }

  /** Sends any text; waits for the answer to `id` when there is one. */
  send(
    text: string,
    { id, method, headers, timeoutMs }: AskOptions & { readonly method?: string } = {},
  ): Promise<Message | undefined> {
    const outgoing: Outgoing = { text, kind: id === undefined ? "notification" : "request", id, method, headers };
    if (id === undefined) {
      void this.link.send(outgoing);
      return Promise.resolve(undefined);
    }
    this.asked.push(id);
    const answer = this.answerTo(id, timeoutMs);
    void this.link.send(outgoing);
    return answer;
  }

  notify(method: string, params?: object, headers?: Readonly<Record<string, string>>): void {
    const text = JSON.stringify({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) });
    void this.link.send({ text, kind: "notification", method, headers });
  }

  /** Ends it and what it led to. Resolves with what there is to say of that. */
  async close(): Promise<string> {
    this.#closing ??= this.link.close();
    await this.#closing;
    return this.link.troubles?.() ?? "";
  }

  /** The answer to a request that was sent in some other way. */
  answerTo(id: string | number, ms: number = this.#timeoutMs): Promise<Message | undefined> {
    if (this.ended !== undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(undefined), ms);
      const settle = (message: Message | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(message);
      };
      this.#waiting.set(id, settle);
    });
  }

  #sink(): MessageSink {
    return {
      receive: (text) => this.#receive(text),
      unreadable: (error) => {
        if (!OVER_LIMIT.test(error.message)) return this.#keep(this.unreadable, error.message);
        this.#keep(this.overLimit, error.message);
        // It was the answer, where one alone is waited for.
        const [only, ...others] = this.#waiting.values();
        if (others.length === 0) only?.(undefined);
      },
      lost: (id, error) => {
        this.losses.set(id, error);
        if (error.code === "LIMIT") this.#keep(this.overLimit, error.message);
        this.#waiting.get(id)?.(undefined);
      },
      noise: (line) => this.#keep(this.noise, line),
      closed: (error) => {
        this.ended ??= error ?? new Error("The connection is closed");
        for (const settle of [...this.#waiting.values()]) settle(undefined);
      },
    };
  }

  #receive(text: string): void {
    const parsed = parse(text);
    for (const message of Array.isArray(parsed) ? (parsed as unknown[]) : [parsed]) {
      const object = isMessage(message) ? message : undefined;
      if (this.#isNoise(object)) {
        this.#keep(this.noise, object === undefined ? text : JSON.stringify(object));
        continue;
      }
      if (this.heard.length < MOST_HEARD) this.heard.push({ text, message: object });
      if (object !== undefined) this.#take(object);
    }
  }

  /** Standard output takes whatever is printed; JSON that is no message was printed by a logger. */
  #isNoise(message: Message | undefined): boolean {
    if (this.link.kind !== "stdio" && this.link.kind !== "memory") return false;
    if (message === undefined) return true;
    if ("jsonrpc" in message) return false;
    const answers = isMessage(message["result"]) || isMessage(message["error"]);
    return !(answers && this.asked.includes(message["id"] as string));
  }

  #take(message: Message): void {
    const id = message["id"] as string | number;
    if (typeof message["method"] !== "string") this.#waiting.get(id)?.(message);
    // What it asks of us is refused politely, so that nothing hangs.
    else if (id !== undefined) {
      const answer = message["method"] === "ping" ? { result: {} } : { error: { code: -32601, message: "Not here" } };
      void this.link.send({ text: JSON.stringify({ jsonrpc: "2.0", id, ...answer }), kind: "response" });
    }
  }

  #keep(list: string[], text: string): void {
    if (list.length < MOST_NOISE) list.push(text.slice(0, 200));
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
