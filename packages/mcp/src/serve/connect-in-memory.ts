// Connects a raw peer to a server in memory, for tests: every message is seen as it stands on the wire.
import { checkOptions } from "../protocol/capabilities.js";
import type { MembersOf } from "../schema/schema.js";
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import type { Identity, MessageSink, Transport } from "../jsonrpc/transport.js";
import { type ClientCapabilities, type Implementation, IMPLEMENTATION_MEMBERS } from "../protocol/capabilities.js";
import { META } from "../protocol/meta.js";
import { revision as revisionOf } from "../protocol/revisions/all.js";
import { NEWEST } from "../protocol/revisions/newest.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { LeanServer } from "../server/lean-server.js";
import type { Serving } from "../server/conversation.js";
import { checkSender } from "../auth/authenticator.js";
import { memoryTransports } from "../transport/memory.js";
import { serve } from "./serve.js";

/** How the raw peer behaves. */
export interface MemoryPeerOptions {
  /** Date of the revision to speak. Default: the newest. */
  readonly revision?: string;
  readonly capabilities?: ClientCapabilities;
  readonly client?: Implementation;
  /** Who is asking, as a transport that knows its users would say. Default: nobody knows. */
  readonly principal?: string;
  /** The same with its scopes and claims; instead of `principal`. */
  readonly identity?: Identity;
  /** Lowest log level to ask for (stateless era; sessions use `logging/setLevel`). */
  readonly logLevel?: string;
  /** False: sends nothing by itself, neither the handshake nor envelopes. Default true. */
  readonly open?: boolean;
  /** Answers the server's questions by method: the result, or an RpcError to throw. Without one they are refused. */
  readonly answer?: Readonly<Record<string, (params: JsonObject) => JsonObject | Promise<JsonObject>>>;
}

const PEER_MEMBERS: MembersOf<MemoryPeerOptions> = {
  revision: "text",
  capabilities: "object",
  client: IMPLEMENTATION_MEMBERS,
  principal: "text",
  identity: "object",
  logLevel: "text",
  open: "flag",
  answer: "object",
};

/** Any message, as it stood on the wire. */
export type WireMessage = JsonObject & { readonly id?: RequestId | null };

/** A connection seen from the client's end, without any client in it. */
export interface MemoryPeer {
  /** Everything the server has sent so far, in order. */
  readonly messages: readonly WireMessage[];
  /** Sends a request and resolves with its result, or rejects with the RpcError it was answered with. */
  request(method: string, params?: JsonObject): Promise<JsonObject>;
  notify(method: string, params?: JsonObject): void;
  /** Sends text as it is: a batch, half a message, noise. */
  send(text: string): void;
  /** The next message, already there or still to come, for which `accepts` holds. Each message is given once. */
  next(accepts?: (message: WireMessage) => boolean): Promise<WireMessage>;
  close(): Promise<void>;
}

const CLIENT: Implementation = { name: "memory-peer", version: "1.0.0" };

/**
 * Serves `server` to a peer in memory, in any revision. In the handshake era the session is open when the promise
 * resolves; in the stateless era every request gets its envelope. Throws UNKNOWN_REVISION, and BAD_OPTIONS for a member that does not exist.
 */
export async function connectInMemory(server: LeanServer, options: MemoryPeerOptions = {}): Promise<MemoryPeer> {
  checkOptions("connectInMemory(server, options)", options, PEER_MEMBERS);
  const spoken = options.revision === undefined ? NEWEST : revisionOf(options.revision);
  if (spoken === undefined) throw new LocalError("UNKNOWN_REVISION", `There is no revision "${options.revision}"`);
  const sender = options.identity ?? options.principal;
  checkSender(sender);
  const [ours, theirs] = memoryTransports(sender);
  const serving = serve(server, theirs);
  const peer = new RawPeer(ours, serving, spoken, options);
  if (options.open !== false && spoken.era === "handshake") await peer.open();
  return peer;
}

class RawPeer implements MemoryPeer {
  readonly messages: WireMessage[] = [];
  readonly #transport: Transport;
  readonly #serving: Serving;
  readonly #revision: Revision;
  readonly #options: MemoryPeerOptions;
  readonly #pending = new Map<RequestId, { resolve(result: JsonObject): void; reject(error: unknown): void }>();
  readonly #waiting = new Set<{ accepts(message: WireMessage): boolean; resolve(message: WireMessage): void }>();
  readonly #unread: WireMessage[] = [];
  #ids = 0;

  constructor(transport: Transport, serving: Serving, revision: Revision, options: MemoryPeerOptions) {
    this.#transport = transport;
    this.#serving = serving;
    this.#revision = revision;
    this.#options = options;
    const sink: MessageSink = {
      receive: (text) => this.#received(JSON.parse(text) as WireMessage | WireMessage[]),
      unreadable: () => undefined,
      lost: () => undefined,
      noise: () => undefined,
      closed: () => this.#closed(),
    };
    void transport.start(sink);
  }

  async open(): Promise<void> {
    const { capabilities = {}, client = CLIENT } = this.#options;
    await this.request("initialize", { protocolVersion: this.#revision.date, capabilities, clientInfo: client });
    this.notify("notifications/initialized");
  }

  request(method: string, params?: JsonObject): Promise<JsonObject> {
    const id = ++this.#ids;
    const sent = this.#enveloped(params);
    const answer = new Promise<JsonObject>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.send(JSON.stringify({ jsonrpc: "2.0", id, method, ...(sent === undefined ? {} : { params: sent }) }));
    return answer;
  }

  notify(method: string, params?: JsonObject): void {
    this.send(JSON.stringify({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) }));
  }

  send(text: string): void {
    void this.#transport.send({ text, kind: "notification" });
  }

  next(accepts: (message: WireMessage) => boolean = () => true): Promise<WireMessage> {
    const index = this.#unread.findIndex(accepts);
    if (index >= 0) return Promise.resolve(this.#unread.splice(index, 1)[0] as WireMessage);
    return new Promise((resolve) => this.#waiting.add({ accepts, resolve }));
  }

  async close(): Promise<void> {
    await this.#transport.close();
    await this.#serving.closed;
  }

  #enveloped(params: JsonObject | undefined): JsonObject | undefined {
    const { open, capabilities = {}, client = CLIENT, logLevel } = this.#options;
    if (open === false || this.#revision.era === "handshake") return params;
    const envelope = {
      [META.protocolVersion]: this.#revision.date,
      [META.clientInfo]: client,
      [META.clientCapabilities]: capabilities,
      ...(logLevel === undefined ? {} : { [META.logLevel]: logLevel }),
    };
    return { ...params, _meta: { ...envelope, ...(params?.["_meta"] as JsonObject | undefined) } };
  }

  #received(message: WireMessage | WireMessage[]): void {
    for (const each of Array.isArray(message) ? message : [message]) this.#take(each);
  }

  #take(message: WireMessage): void {
    this.messages.push(message);
    if ("method" in message) {
      if (message.id !== undefined) void this.#answer(message);
    } else {
      this.#settle(message);
    }
    for (const waiting of this.#waiting) {
      if (!waiting.accepts(message)) continue;
      this.#waiting.delete(waiting);
      waiting.resolve(message);
      return;
    }
    this.#unread.push(message);
  }

  #settle(message: WireMessage): void {
    const pending = this.#pending.get(message.id as RequestId);
    if (pending === undefined) return;
    this.#pending.delete(message.id as RequestId);
    const error = message["error"] as { code: number; message: string; data?: unknown } | undefined;
    if (error === undefined) pending.resolve(message["result"] as JsonObject);
    else pending.reject(new RpcError(error.code, error.message, error.data));
  }

  async #answer(question: WireMessage): Promise<void> {
    const { id } = question;
    const answer = this.#options.answer?.[question["method"] as string];
    try {
      if (answer === undefined) throw new RpcError(-32601, `Method not found: ${String(question["method"])}`);
      const result = await answer((question["params"] ?? {}) as JsonObject);
      this.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    } catch (error) {
      const object = error instanceof RpcError ? error.toObject() : { code: -32603, message: String(error) };
      this.send(JSON.stringify({ jsonrpc: "2.0", id, error: object }));
    }
  }

  #closed(): void {
    for (const { reject } of this.#pending.values())
      reject(new LocalError("CLOSED", "The server closed the connection"));
    this.#pending.clear();
  }
}
