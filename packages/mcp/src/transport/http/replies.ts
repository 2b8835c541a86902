// Replies to POSTs: whole ones (JSON, refusals, the empty ones), and those of requests outside any session, JSON or a stream.
import { type RequestId, failureText } from "../../jsonrpc/message.js";
import { ErrorCode, type RpcError } from "../../jsonrpc/errors.js";
import { McpErrorCode } from "../../protocol/error-codes.js";
import { EVENT_STREAM_HEADERS, EventStream, type StreamKeeper, event } from "./event-stream.js";
import type { GoneListener, HeaderList, HttpExchange } from "./exchange.js";
import type { IdentifiedCarrier, Identity, MessagePieces, OutgoingKind } from "../../jsonrpc/transport.js";

export const JSON_HEADERS: HeaderList = ["content-type", "application/json"];
const NO_HEADERS: HeaderList = [];
/** Seconds: what is being served now makes room within moments. */
const SOON: HeaderList = ["retry-after", "1"];
const CLOSING: HeaderList = ["content-type", "text/plain; charset=utf-8", "connection", "close"];

/** Says no to a request: the status, its headers, and a text for a person. */
export interface HttpRefusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
}

/** Names and values of a record as replies want them. */
export function headerList(headers: Readonly<Record<string, string>> = {}): HeaderList {
  return Object.entries(headers).flat();
}

/** Says that a message was taken and gets no answer. */
export function accepted(exchange: HttpExchange): void {
  exchange.reply(202, NO_HEADERS);
}

/**
 * Ends the reply to a request that was cancelled. It has to be of one of the two types of answers (basic/transports, "Sending
 * Messages to the Server"): a stream without a message, or an error for who reads no streams.
 */
export function cancelled(exchange: HttpExchange, headers: HeaderList): void {
  if (readsStreams(exchange)) return exchange.reply(200, [...EVENT_STREAM_HEADERS, ...headers], ": cancelled\n\n");
  const error = { code: McpErrorCode.RequestCancelled, message: "Request cancelled" };
  exchange.reply(200, [...JSON_HEADERS, ...headers], failureText(undefined, error));
}

/** Whether a client can read a stream: one that says nothing of it can, as the specification asks. */
export function readsStreams(exchange: HttpExchange): boolean {
  const accept = exchange.header("accept");
  return accept === undefined || accept.includes("text/event-stream") || accept.includes("*/*");
}

/** Whether a client takes its answers in streams alone. */
export function readsOnlyStreams(exchange: HttpExchange): boolean {
  const accept = exchange.header("accept");
  if (accept === undefined || accept.includes("application/json")) return false;
  return accept.includes("text/event-stream") && !accept.includes("*/*") && !accept.includes("application/*");
}

/** Refuses a message that was read, as a JSON-RPC error. */
export function refuseMessage(
  exchange: HttpExchange,
  status: number,
  error: RpcError,
  about: { readonly id?: RequestId | null | undefined; readonly headers?: HeaderList } = {},
): void {
  const headers = about.headers === undefined ? JSON_HEADERS : [...JSON_HEADERS, ...about.headers];
  exchange.reply(status, headers, failureText(about.id, error.toObject()));
}

/** Refuses a request whose body was read or has none. */
export function refuse(exchange: HttpExchange, status: number, text: string, headers: HeaderList = NO_HEADERS): void {
  exchange.reply(status, ["content-type", "text/plain; charset=utf-8", ...headers], text);
}

/** Refuses a request whose body was read, in the words of a hook. */
export function refuseAs(exchange: HttpExchange, { status, headers, text = "" }: HttpRefusal): void {
  refuse(exchange, status, text, headerList(headers));
}

/** Refuses a request without reading its body: the connection ends with the reply. */
export function turnAway(exchange: HttpExchange, status: number, text: string, headers: HeaderList = NO_HEADERS): void {
  exchange.reply(status, headers.length === 0 ? CLOSING : [...CLOSING, ...headers], text);
}

/** Refuses a request for whose body there is no room while others are served. */
export function turnAwayForNow(exchange: HttpExchange): void {
  turnAway(exchange, 503, "There is no room for so large a request now: try again later", SOON);
}

// The carrier of a POST outside any session: JSON unless something has to be streamed first, gone with its connection.

/** How requests are answered: JSON unless something must be streamed, always JSON, or always a stream. */
export type ReplyMode = "auto" | "json" | "sse";

export class AloneCarrier implements IdentifiedCarrier, GoneListener {
  readonly kind = "http";
  readonly exchange: HttpExchange;
  /** Set by whoever serves the request in the stateless era, where errors have statuses of their own. */
  stateless = false;
  answered = false;
  /** Told once when the client goes away before the answer. */
  onGone: GoneListener | undefined;
  readonly #answers: ReplyMode;
  readonly #keeper: StreamKeeper;
  #stream: EventStream | undefined;

  constructor(exchange: HttpExchange, answers: ReplyMode, keeper: StreamKeeper) {
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
