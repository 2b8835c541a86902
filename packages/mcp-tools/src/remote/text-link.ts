// Speaks over a link in plain texts, as one does over stdio: finds out itself what the link has to be told.
import type { LocalError, Transport } from "@secure-local/mcp/client";

/** One JSON-RPC message as parsed, before anybody has judged it. */
export type Message = Readonly<Record<string, unknown>>;

interface TextEvents {
  /** One text of the server's, or an error in its place where no answer will come. */
  receive(text: string): void | Promise<void>;
  noise?(line: string): void;
  /** No answer will come to a request. Default: an error is received in its place. */
  lost?(id: unknown, error: LocalError): void;
  /** The server is gone. */
  ended(error: Error | undefined): void;
}

export class TextLink {
  readonly #link: Transport;
  readonly #events: TextEvents;
  #agreed: string | undefined;
  #stateless = false;
  /** Id of the `initialize` that is not answered yet. */
  #opening: unknown;

  constructor(link: Transport, events: TextEvents) {
    this.#link = link;
    this.#events = events;
  }

  /** Rejects with the link's error. */
  async open(): Promise<void> {
    await this.#link.start({
      receive: (text) => this.#receive(text),
      unreadable: ({ message }, info) => {
        if (info?.forRequest !== undefined) this.#fail(info.forRequest, message);
        else this.#events.noise?.(`a message of the server could not be read: ${message}`);
      },
      lost: (id, error) => {
        if (this.#events.lost === undefined) this.#fail(id, error.message);
        else this.#events.lost(id, error);
      },
      noise: (line) => this.#events.noise?.(line),
      closed: (error) => this.#events.ended(error),
    });
  }

  /** Resolves when more can be sent. */
  async send(text: string): Promise<void> {
    const batch = listIn(text);
    if (batch === undefined) return await this.#send(text);
    // A link carries single messages: each gets its answer by itself.
    for (const each of batch) await this.#send(JSON.stringify(each));
  }

  async #send(text: string): Promise<void> {
    const message = objectIn(text);
    const { id, method } = message;
    const asked = typeof method === "string";
    const stateless = statelessVersion(message);
    if (stateless !== undefined && !this.#stateless) {
      this.#stateless = true;
      this.#link.established?.({ era: "stateless", version: stateless });
    }
    if (method === "initialize") this.#opening = id;
    const kind = !asked ? "response" : id === undefined ? "notification" : "request";
    const headers = wireHeaders(message, this.#agreed);
    const named = asked ? { method } : {};
    await this.#link.send({ text, kind, ...named, headers, ...(kind === "request" ? { id: id as string } : {}) });
  }

  #fail(id: unknown, message: string): void {
    void this.#events.receive(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }));
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  #receive(text: string): void | Promise<void> {
    if (this.#opening !== undefined) this.#agree(objectIn(text));
    return this.#events.receive(text);
  }

  #agree({ id, result }: Message): void {
    const version = (result as Message | undefined)?.["protocolVersion"];
    if (id !== this.#opening || typeof version !== "string") return;
    this.#opening = undefined;
    this.#agreed = version;
    this.#link.established?.({ era: "handshake", version });
  }
}

/** The messages of a batch; undefined for everything else. */
function listIn(text: string): unknown[] | undefined {
  if (!text.trimStart().startsWith("[")) return undefined;
  try {
    return JSON.parse(text) as unknown[];
  } catch {
    return undefined;
  }
}

function objectIn(text: string): Message {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Message) : {};
  } catch {
    return {};
  }
}

// The headers that Streamable HTTP wants beside a message, read from the message.

const VERSION = "io.modelcontextprotocol/protocolVersion";
const NAMED: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

/** The revision a message itself says it is in; undefined within a session. */
export function statelessVersion({ params }: Message): string | undefined {
  const meta = (params as Message | undefined)?.["_meta"] as Message | undefined;
  const version = meta?.[VERSION];
  return typeof version === "string" ? version : undefined;
}

/** `agreed` is what the session speaks; undefined before it is known. */
function wireHeaders(message: Message, agreed: string | undefined): Record<string, string> {
  const own = statelessVersion(message);
  if (own === undefined) return agreed === undefined ? {} : { "mcp-protocol-version": agreed };
  const method = String(message["method"]);
  const name = (message["params"] as Message)[NAMED.get(method) ?? ""];
  const named = typeof name === "string" ? { "mcp-name": headerValue(name) } : {};
  return { "mcp-protocol-version": own, "mcp-method": method, ...named };
}

/** A header can hold printable ASCII; everything else travels in base64, marked. */
export function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?");
  return plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
