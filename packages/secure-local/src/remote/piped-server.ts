// A server on a link that several requests over HTTP share: gives each its own ids and tokens on the way in, and takes them back on the way out.
import type { Link } from "@secure-local/mcp/client";
import { TextLink } from "./text-link.js";

export type Message = Record<string, unknown>;

/** Where what belongs to one request goes. */
export interface Outlet {
  /** A message before the answer. False: nobody takes it here. */
  early(message: Message): boolean;
  /** The answer, or an error in its place; nothing comes after it. */
  answer(message: Message): void;
}

interface Pending {
  readonly outlet: Outlet;
  /** As the client wrote them. */
  readonly id: unknown;
  readonly token: unknown;
  readonly method: unknown;
}

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
/** Requests that wait for an answer of one server; far above what clients keep open. */
const MOST_PENDING = 1_024;

export class PipedServer {
  readonly #text: TextLink;
  readonly #pending: Map<number, Pending> = new Map();
  readonly #unasked: (message: Message) => void;
  readonly #ended: Promise<void>;
  #ids = 0;
  #over: string | undefined;

  /** `unasked` is given what belongs to no request under way. */
  constructor(link: Link, { unasked, noise }: { unasked: (message: Message) => void; noise: (line: string) => void }) {
    this.#unasked = unasked;
    let end = (): void => undefined;
    this.#ended = new Promise((resolve) => (end = resolve));
    this.#text = new TextLink(link, {
      receive: (text) => this.#receive(text),
      noise,
      ended: (error) => {
        this.#over = error?.message ?? "the server has ended";
        for (const id of [...this.#pending.keys()]) this.#settle(id, { error: { code: -32000, message: this.#over } });
        end();
      },
    });
  }

  /** Resolves when the server has gone, by itself or not. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  get busy(): boolean {
    return this.#pending.size > 0;
  }

  /** Rejects with the link's error. */
  open(): Promise<void> {
    return this.#text.open();
  }

  async close(): Promise<void> {
    await this.#text.close();
  }

  /** Sends a request; returns what cancels it, for who has gone. */
  ask(message: Message, outlet: Outlet): () => void {
    const { id, method } = message;
    if (this.#over !== undefined || this.#pending.size >= MOST_PENDING) {
      const text = this.#over ?? `${MOST_PENDING} requests wait for this server already: wait for some`;
      outlet.answer({ jsonrpc: "2.0", id, error: { code: -32000, message: text } });
      return () => undefined;
    }
    const own = (this.#ids += 1);
    const meta = metaOf(message);
    const token = meta?.["progressToken"];
    this.#pending.set(own, { outlet, id, token, method });
    const params =
      token === undefined ? {} : { params: { ...asObject(message["params"]), _meta: { ...meta, progressToken: own } } };
    void this.#text.send(JSON.stringify({ ...message, id: own, ...params }));
    return () => {
      if (!this.#pending.delete(own)) return;
      const cancelled = { requestId: own, reason: "the client has gone" };
      void this.#text.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: cancelled }));
    };
  }

  /** Sends a notification or an answer. `owns`: whether a request belongs to who sends this. */
  async tell(message: Message, owns: (outlet: Outlet) => boolean): Promise<void> {
    if (this.#over !== undefined) return;
    const cancelled = message["method"] === "notifications/cancelled";
    const params = asObject(message["params"]);
    const own = cancelled ? this.#ownId(params["requestId"], owns) : undefined;
    // What is cancelled is not under way, or somebody else's.
    if (cancelled && own === undefined) return;
    await this.#text.send(JSON.stringify(cancelled ? { ...message, params: { ...params, requestId: own } } : message));
  }

  #ownId(id: unknown, owns: (outlet: Outlet) => boolean): number | undefined {
    for (const [own, pending] of this.#pending) if (pending.id === id && owns(pending.outlet)) return own;
    return undefined;
  }

  #receive(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return;
    }
    for (const message of Array.isArray(value) ? value : [value]) this.#take(asObject(message));
  }

  #take(message: Message): void {
    const { id, method } = message;
    if (method === undefined) {
      if (typeof id === "number") this.#settle(id, message);
      return;
    }
    const params = asObject(message["params"]);
    const meta = metaOf(message);
    const subscription = meta?.[SUBSCRIPTION];
    const own = method === "notifications/progress" ? params["progressToken"] : subscription;
    const known = this.#pending.get(Number(own));
    if (own !== undefined && known === undefined) return;
    if (known !== undefined) {
      const back =
        method === "notifications/progress"
          ? { ...params, progressToken: known.token }
          : { ...params, _meta: { ...meta, [SUBSCRIPTION]: sameKind(known.id, subscription) } };
      known.outlet.early({ ...message, params: back });
      return;
    }
    // Questions and log lines belong to what is under way; the newest that takes them.
    const outlets = [...this.#pending.values()].reverse();
    if (!outlets.some(({ outlet }) => outlet.early(message))) this.#unasked(message);
  }

  #settle(own: number, message: Message): void {
    const pending = this.#pending.get(own);
    if (pending === undefined) return;
    this.#pending.delete(own);
    pending.outlet.answer({ jsonrpc: "2.0", ...message, id: pending.id });
  }
}

/** Some servers write a number as text; it goes back as the client wrote its own. */
function sameKind(id: unknown, like: unknown): unknown {
  return typeof like === "string" ? String(id) : id;
}

export function asObject(value: unknown): Message {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Message) : {};
}

export function metaOf(message: Message): Message | undefined {
  const meta = asObject(message["params"])["_meta"];
  return meta === undefined ? undefined : asObject(meta);
}
