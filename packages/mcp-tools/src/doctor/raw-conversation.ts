// A conversation with a server over a bare link: says what a client never would, and hears what a client overlooks.
import type { Transport, MessageSink, Outgoing } from "@secure-local/mcp/client";
import { LocalError } from "@secure-local/mcp/client/node";
import type { Message } from "../remote/text-link.js";

/** One text the server sent. */
export interface ReceivedText {
  readonly text: string;
  /** Undefined for what is no JSON object; a batch is heard message by message. */
  readonly message: Message | undefined;
}

export interface AskOptions {
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
