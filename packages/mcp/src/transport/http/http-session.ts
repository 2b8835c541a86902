// One session: whose it is, its streams, and where its unsolicited messages go.
import { type EventStore, ResumableStream, type StreamHome } from "./resumable-stream.js";
import type { HeaderList, HttpExchange } from "./exchange.js";
import type { AloneCarrier, ReplyMode } from "./replies.js";
import type { SessionLimits } from "./http-limits.js";
import type { StreamKeeper } from "./event-stream.js";
import type { Carrier } from "../../jsonrpc/transport.js";
import type { JsonRpcLimits } from "../../jsonrpc/limits.js";

/** Finished streams a client may still come back to; the oldest is forgotten for a new one. */
const FINISHED_STREAMS = 100;

export interface SessionSettings {
  readonly limits: SessionLimits;
  readonly store: EventStore;
  readonly keeper: StreamKeeper;
  readonly answers: ReplyMode;
}

export class HttpSession implements StreamHome {
  readonly id: string;
  readonly principal: string | undefined;
  readonly settings: SessionSettings;
  readonly born: number = performance.now();
  /** When the last request came or the last stream was open. */
  used: number = this.born;
  closed = false;
  #conversation: HttpConversation | undefined;
  #streams: Map<number, ResumableStream> | undefined;
  #lastStream = 0;
  #closing = false;

  constructor(id: string, principal: string | undefined, settings: SessionSettings) {
    this.id = id;
    this.principal = principal;
    this.settings = settings;
  }

  get conversation(): HttpConversation {
    if (this.#conversation === undefined) throw new TypeError("The session has no conversation yet");
    return this.#conversation;
  }

  set conversation(conversation: HttpConversation) {
    this.#conversation = conversation;
  }

  /** The reply header that tells the client its session. */
  get headers(): HeaderList {
    return ["mcp-session-id", this.id];
  }

  get store(): EventStore {
    return this.settings.store;
  }

  get keeper(): StreamKeeper {
    return this.settings.keeper;
  }

  get polling(): boolean {
    return this.conversation.polling;
  }

  /** Whether anything keeps the session in use. */
  get busy(): boolean {
    if (this.conversation.active > 0) return true;
    for (const stream of this.#streams?.values() ?? []) if (stream.connected) return true;
    return false;
  }

  stream(number: number): ResumableStream | undefined {
    return this.#streams?.get(number);
  }

  /** Begins a stream as the reply of `exchange`. */
  openStream(exchange: HttpExchange, headers: HeaderList, retryMs?: number): ResumableStream {
    const stream = new ResumableStream(this, ++this.#lastStream);
    this.#streams ??= new Map();
    this.#streams.set(stream.number, stream);
    if (this.#streams.size > FINISHED_STREAMS) this.#forgetFinished(this.#streams);
    stream.open(exchange, headers, retryMs);
    return stream;
  }

  forgetStream(stream: ResumableStream): void {
    this.#streams?.delete(stream.number);
  }

  /** Ends everything; what runs gets `graceMs`. */
  async close(graceMs: number): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    await this.conversation.close(graceMs);
    this.closed = true;
    for (const stream of this.#streams?.values() ?? []) stream.hangUp();
    this.#streams = undefined;
    this.store.forget(this.id);
  }

  #forgetFinished(streams: Map<number, ResumableStream>): void {
    for (const [number, stream] of streams) {
      if (!stream.finished || stream.connected) continue;
      streams.delete(number);
      return;
    }
  }
}

// What an HTTP endpoint needs of the program behind it: conversations, and answers outside of them.

/** One session's messages, served. */
export interface HttpConversation {
  /** The revision lets streams be closed before the answer. */
  readonly polling: boolean;
  /** Requests being served now. */
  readonly active: number;
  /** Serves a parsed message or batch, or the fault it turned out to be. */
  deliver(value: unknown, carrier: Carrier): void;
  /** Asks the client whether it is there; false when no answer came in time. Never rejects. */
  ping(timeoutMs: number): Promise<boolean>;
  close(graceMs: number): Promise<void>;
}

export interface HttpService {
  readonly limits: JsonRpcLimits;
  /** Begins a conversation; what belongs to no request of it goes to `standing`. */
  converse(standing: Carrier): HttpConversation;
  /** Whether a parsed message, batch or fault belongs to the stateless era: the body decides, then the header. */
  isStateless(value: unknown, version: string | undefined): boolean;
  serveStateless(value: unknown, carrier: AloneCarrier): void;
  /** Serves a message of the handshake era without a session. */
  serveAlone(value: unknown, carrier: AloneCarrier): void;
  /** Whether a value of MCP-Protocol-Version names a revision with sessions. */
  hasSessions(version: string): boolean;
  /** Ends what runs outside of conversations: listens at once, the rest after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>;
}
