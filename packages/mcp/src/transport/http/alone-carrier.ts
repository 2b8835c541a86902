// The carrier of a POST outside any session: JSON unless something has to be streamed first, gone with its connection.
import type { IdentifiedCarrier, Identity, MessagePieces, OutgoingKind } from "../../jsonrpc/transport.js";
import { event, EVENT_STREAM_HEADERS, EventStream, type StreamKeeper } from "./event-stream.js";
import type { GoneListener, HeaderList, HttpExchange } from "./exchange.js";
import { accepted, cancelled, JSON_HEADERS, readsOnlyStreams, readsStreams } from "./replies.js";
import { ErrorCode } from "../../jsonrpc/errors.js";
import { McpErrorCode } from "../../protocol/error-codes.js";

/** How requests are answered: JSON unless something must be streamed, always JSON, or always a stream. */
export type Answers = "auto" | "json" | "sse";

export class AloneCarrier implements IdentifiedCarrier, GoneListener {
  readonly kind = "http";
  readonly exchange: HttpExchange;
  /** Set by whoever serves the request in the stateless era, where errors have statuses of their own. */
  stateless = false;
  answered = false;
  /** Told once when the client goes away before the answer. */
  onGone: GoneListener | undefined;
  readonly #answers: Answers;
  readonly #keeper: StreamKeeper;
  #stream: EventStream | undefined;

  constructor(exchange: HttpExchange, answers: Answers, keeper: StreamKeeper) {
    this.exchange = exchange;
    this.#answers = answers;
    this.#keeper = keeper;
  }

  get principal(): string | undefined {
    return this.exchange.principal;
  }

  get identity(): Identity | undefined {
    return this.exchange.identity;
  }

  get closed(): boolean {
    return this.exchange.over;
  }

  get answersOnly(): boolean {
    return this.#answers === "json" || !readsStreams(this.exchange);
  }

  header(name: string): string | undefined {
    return this.exchange.header(name);
  }

  write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void> {
    if (this.answered || this.exchange.over) return undefined;
    if (kind === "response") return this.#answer(text, errorCode);
    if (this.#stream === undefined) {
      if (this.answersOnly) return undefined;
      this.#stream = new EventStream(this.exchange, this.#keeper);
    } else if (this.#stream.full) {
      return undefined;
    }
    return this.#stream.write(event(text));
  }

  writePieces(pieces: MessagePieces): boolean {
    if (this.answered || this.exchange.over || this.#stream !== undefined || this.#alwaysStreams) return false;
    this.answered = true;
    this.exchange.reply(200, JSON_HEADERS, pieces);
    return true;
  }

  abandon(wasCancelled = false): void {
    if (this.answered || this.exchange.over) return;
    this.answered = true;
    if (this.#stream !== undefined) this.#stream.end();
    else if (wasCancelled) cancelled(this.exchange, []);
    else accepted(this.exchange);
  }

  /** Waits for an answer that did not come at once: from now on a client that goes away is noticed. */
  linger(): void {
    if (!this.answered) this.exchange.onGone = this;
  }

  /** For the exchange: nobody waits for the answer any more. */
  gone(): void {
    this.answered = true;
    this.onGone?.gone();
    this.#stream?.gone();
  }

  /** Refuses the message with a status of the ladder. */
  refuse(status: number, text: string, headers?: HeaderList): void {
    this.answered = true;
    this.exchange.reply(status, headers === undefined ? JSON_HEADERS : [...JSON_HEADERS, ...headers], text);
  }

  #answer(text: string, errorCode: number | undefined): void | Promise<void> {
    this.answered = true;
    if (this.#stream !== undefined) {
      const written = this.#stream.write(event(text));
      this.#stream.end();
      return written;
    }
    if (errorCode === undefined && this.#alwaysStreams) {
      return this.exchange.reply(200, EVENT_STREAM_HEADERS, event(text));
    }
    const status = this.stateless ? statelessStatus(errorCode) : handshakeStatus(errorCode);
    this.exchange.reply(status, JSON_HEADERS, text);
  }

  get #alwaysStreams(): boolean {
    if (this.#answers === "json") return false;
    return this.#answers === "sse" ? readsStreams(this.exchange) : readsOnlyStreams(this.exchange);
  }
}

// Chooses the HTTP status of an error: the one table from JSON-RPC's codes to statuses.

/** In sessions only what never became a valid message is the request's fault; all else was served. */
const HANDSHAKE: Readonly<Record<number, number>> = {
  [ErrorCode.ParseError]: 400,
  [ErrorCode.InvalidRequest]: 400,
};

/** In the stateless era, for requests that passed the header ladder: whose own refusals are always 400. */
const STATELESS: Readonly<Record<number, number>> = {
  [ErrorCode.MethodNotFound]: 404,
  [McpErrorCode.MissingRequiredClientCapability]: 400,
};

/** The status of a response; `code` is undefined for a success. */
export function handshakeStatus(code: number | undefined): number {
  return code === undefined ? 200 : (HANDSHAKE[code] ?? 200);
}

/** The status of a response; `code` is undefined for a success. */
function statelessStatus(code: number | undefined): number {
  return code === undefined ? 200 : (STATELESS[code] ?? 200);
}
