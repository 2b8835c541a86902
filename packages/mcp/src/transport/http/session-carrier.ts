// The carrier of a POST in a session: JSON unless something has to be streamed first; a stream outlives its connection.
import type { MessagePieces, OutgoingKind } from "../../jsonrpc/carrier.js";
import type { IdentifiedCarrier, Identity } from "../../jsonrpc/identity.js";
import { event, EVENT_STREAM_HEADERS } from "./event-stream.js";
import type { HeaderList, HttpExchange } from "./exchange.js";
import type { HttpSession } from "./http-session.js";
import { accepted, cancelled, JSON_HEADERS, readsOnlyStreams, readsStreams } from "./replies.js";
import type { ResumableStream } from "./resumable-stream.js";
import type { StandingCarrier } from "./standing-carrier.js";
import { handshakeStatus } from "./status.js";

const NO_HEADERS: HeaderList = [];

export class SessionCarrier implements IdentifiedCarrier {
  readonly kind = "http";
  readonly exchange: HttpExchange;
  answered = false;
  protected readonly standing: StandingCarrier;
  #stream: ResumableStream | undefined;

  constructor(exchange: HttpExchange, standing: StandingCarrier) {
    this.exchange = exchange;
    this.standing = standing;
  }

  get session(): HttpSession {
    return this.standing.session;
  }

  get principal(): string | undefined {
    return this.session.principal;
  }

  /** Of this very request: the session's next one may come with another token. */
  get identity(): Identity | undefined {
    return this.exchange.identity;
  }

  /** A stream can be resumed; an answer in JSON has only its one connection. */
  get closed(): boolean {
    return this.session.closed || (this.#stream === undefined && this.exchange.over);
  }

  /** Neither a stream of this request nor one of the session could carry a question, or ever had. */
  get unheard(): boolean {
    return this.#stream === undefined && !this.#streams && !this.standing.opened;
  }

  header(name: string): string | undefined {
    return this.exchange.header(name);
  }

  write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void> {
    if (this.answered || this.closed) return undefined;
    if (kind === "response") return this.#answer(text, errorCode);
    if (this.#stream === undefined && !this.#streams) return this.standing.write(text, kind);
    return this.#opened().send(text, kind === "notification");
  }

  writePieces(pieces: MessagePieces): boolean {
    if (this.answered || this.closed || this.#stream !== undefined || this.#alwaysStreams) return false;
    this.answered = true;
    this.exchange.reply(200, this.#jsonHeaders, pieces);
    return true;
  }

  abandon(wasCancelled = false): void {
    if (this.answered || this.closed) return;
    this.answered = true;
    if (this.#stream !== undefined) void this.#stream.finish();
    else if (wasCancelled) cancelled(this.exchange, this.headers);
    else accepted(this.exchange);
  }

  hangUp(retryMs: number): boolean {
    if (this.answered || this.closed || !this.session.polling || !this.#streams) return false;
    this.#opened(retryMs).hangUp();
    return true;
  }

  /** Waits for an answer that did not come at once: where it will be a stream, the client gets it now. */
  linger(): void {
    if (!this.answered && this.#alwaysStreams) this.#opened();
  }

  /** Headers of the reply besides its own. */
  protected get headers(): HeaderList {
    return NO_HEADERS;
  }

  get #streams(): boolean {
    return this.session.settings.answers !== "json" && readsStreams(this.exchange);
  }

  get #alwaysStreams(): boolean {
    const { answers } = this.session.settings;
    return answers === "sse" ? this.#streams : answers === "auto" && readsOnlyStreams(this.exchange);
  }

  get #jsonHeaders(): HeaderList {
    const { headers } = this;
    return headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers];
  }

  #opened(retryMs?: number): ResumableStream {
    return (this.#stream ??= this.session.openStream(this.exchange, this.headers, retryMs));
  }

  #answer(text: string, errorCode: number | undefined): void | Promise<void> {
    this.answered = true;
    if (this.#stream !== undefined) return this.#stream.finish(text);
    // An answer that is the first and last event cannot be resumed, so it needs neither a number nor a place in the store.
    if (errorCode === undefined && this.#alwaysStreams) {
      this.exchange.reply(200, [...EVENT_STREAM_HEADERS, ...this.headers], event(text));
    } else {
      this.exchange.reply(handshakeStatus(errorCode), this.#jsonHeaders, text);
    }
  }
}
