// A server on a link that several requests over HTTP share: gives each its own ids and tokens on the way in, and takes them back on the way out.
import type { Transport } from "@secure-local/mcp/client";
import { TextLink } from "./text-link.js";

export type EditableMessage = Record<string, unknown>;

/** Where what belongs to one request goes. */
export interface Outlet {
  /** Whose request it is, told apart by identity. */
  readonly client: object;
  /** A message before the answer. False: nobody takes it here. */
  early(message: EditableMessage): boolean;
  /** The answer, or an error in its place; nothing comes after it. */
  answer(message: EditableMessage): void;
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

/** No request has this id. */
const FORGOTTEN = 0;

interface PipedServerOptions {
  /** Is given what belongs to no request under way, or to nobody can say which. */
  readonly unasked: (message: EditableMessage) => void;
  readonly noise: (line: string) => void;
  /** Whether nobody but this client uses the server now. */
  readonly alone: (client: object) => boolean;
}

export class PipedServer {
  readonly #text: TextLink;
  readonly #pending: Map<number, Pending> = new Map();
  /** Whose each request is that the server has not answered, also when it was cancelled: it may still be at work on it. */
  readonly #owners: Map<number, object> = new Map();
  readonly #unasked: (message: EditableMessage) => void;
  readonly #alone: (client: object) => boolean;
  readonly #ended: Promise<void>;
  #ids = 0;
  #over: string | undefined;

  constructor(link: Transport, { unasked, noise, alone }: PipedServerOptions) {
    this.#unasked = unasked;
    this.#alone = alone;
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
  ask(message: EditableMessage, outlet: Outlet): () => void {
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
    this.#remember(own, outlet.client);
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
  async tell(message: EditableMessage, owns: (outlet: Outlet) => boolean): Promise<void> {
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

  #take(message: EditableMessage): void {
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
    // Questions and log lines do not say which request they belong to.
    const outlets = this.#areOfOneClient() ? [...this.#pending.values()].reverse() : [];
    if (!outlets.some(({ outlet }) => outlet.early(message))) this.#unasked(message);
  }

  /** Whether all that is under way, and all who are there, is one client: what the server says now can be meant for no other. */
  #areOfOneClient(): boolean {
    const [client, ...more] = new Set(this.#owners.values());
    return client !== undefined && more.length === 0 && this.#alone(client);
  }

  #remember(own: number, client: object): void {
    this.#owners.set(own, client);
    if (this.#owners.size <= 2 * MOST_PENDING) return;
    // Servers need not answer what was cancelled: the oldest stand for all that were forgotten, and are nobody's.
    const [oldest = own] = this.#owners.keys();
    this.#owners.delete(oldest);
    this.#owners.set(FORGOTTEN, this);
  }

  #settle(own: number, message: EditableMessage): void {
    this.#owners.delete(own);
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

export function asObject(value: unknown): EditableMessage {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as EditableMessage) : {};
}

export function metaOf(message: EditableMessage): EditableMessage | undefined {
  const meta = asObject(message["params"])["_meta"];
  return meta === undefined ? undefined : asObject(meta);
}
