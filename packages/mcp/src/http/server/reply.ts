// Replies to HTTP requests: refusals, and the one that answers a POST, in JSON or as a stream (basic/transports, Streamable HTTP).
import { type RequestId, failureText } from "../../jsonrpc/message.js";
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import { tooLong } from "../../jsonrpc/parse.js";
import { unexpected } from "../../endpoint/call.js";
import type { ServerCore } from "../../server/core.js";
import type { Reporter } from "../../server/reporter.js";
import { McpErrorCode } from "../../protocol/meta.js";
import { EVENT_STREAM_HEADERS, type ReplyStream, event } from "./event-stream.js";
import type { BodyFault, GoneListener, HeaderList, HttpExchange } from "./exchange.js";
import type { Asked, Opening } from "./resumable-stream.js";
import type { IdentifiedCarrier, Identity, MessagePieces, OutgoingKind } from "../../jsonrpc/transport.js";

const JSON_HEADERS: HeaderList = ["content-type", "application/json"];
const NO_HEADERS: HeaderList = [];
/** Seconds: what is being served now makes room within moments. */
const SOON: HeaderList = ["retry-after", "1"];
const CLOSING: HeaderList = ["content-type", "text/plain; charset=utf-8", "connection", "close"];

/** Says no to a request: the status (200 to 599), its headers, and a text for a person. What cannot be sent ends as 500, and in the log. */
export interface HttpRefusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
}

/** Names and values of a record as replies want them. */
export function headerList(headers: Readonly<Record<string, string>> = {}): HeaderList {
  return Object.entries(headers).flat();
}

/** Replies that have no text. */
export const TEXTLESS: ReadonlySet<number> = new Set([204, 205, 304]);
/** Says that a message was taken and gets no answer. */
function accepted(exchange: HttpExchange): void {
  exchange.reply(202, NO_HEADERS);
}

/**
 * Ends the reply to a request that was cancelled. It has to be of one of the two types of answers (basic/transports, "Sending
 * Messages to the Server"): a stream without a message, or an error for who reads no streams.
 */
function cancelled(exchange: HttpExchange): void {
  if (readsStreams(exchange)) return exchange.reply(200, EVENT_STREAM_HEADERS, ": cancelled\n\n");
  const error = { code: McpErrorCode.RequestCancelled, message: "Request cancelled" };
  exchange.reply(200, JSON_HEADERS, failureText(undefined, error));
}

/** Whether a client can read a stream: one that says nothing of it can, as the specification asks. */
export function readsStreams(exchange: HttpExchange): boolean {
  const accept = exchange.header("accept");
  return accept === undefined || accept.includes("text/event-stream") || accept.includes("*/*");
}

/** Whether a client takes its answers in streams alone. */
function readsOnlyStreams(exchange: HttpExchange): boolean {
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

/** Refuses a request that something of the program's own threw at: its sender learns an id, and the log has the rest under it. */
export function failRequest(exchange: HttpExchange, error: unknown, report: Reporter): void {
  const { id, message } = unexpected();
  report("error", `A request over HTTP failed (error id ${id})`, { errorId: id, error });
  refuse(exchange, 500, message, ["connection", "close"]);
}

/** Refuses a request whose body was read, in the words of a hook. */
export function refuseAs(exchange: HttpExchange, { status, headers, text = "" }: HttpRefusal): void {
  refuse(exchange, status, text, headerList(headers));
}

/** Refuses a request without reading its body: the connection ends with the reply. */
export function turnAway(exchange: HttpExchange, status: number, text: string, headers: HeaderList = NO_HEADERS): void {
  exchange.reply(status, headers.length === 0 ? CLOSING : [...CLOSING, ...headers], text);
}

const READ_BEFORE = "The body was read already: hand over a clone() made before that";

/** Refuses a request whose body is none that can be served; `id`: what stands for the id of a message that nobody could read. */
export function refuseBody(
  exchange: HttpExchange,
  fault: BodyFault,
  { report, limits }: Pick<ServerCore, "report" | "limits">,
  id?: null,
): void {
  if (fault === "too-long") return turnAway(exchange, 413, tooLong(limits));
  if (fault === "no-room") {
    return turnAway(exchange, 503, "No room for so large a request now: try later", SOON);
  }
  if (fault === "not-utf8") {
    const error = new RpcError(ErrorCode.ParseError, "Parse error: the body is not UTF-8");
    return refuseMessage(exchange, 400, error, { id });
  }
  report("error", READ_BEFORE);
  refuse(exchange, 500, READ_BEFORE);
}

// What answers a POST: JSON unless something has to be streamed first. Whose request it is says what its streams are.

/** How requests are answered: JSON unless something must be streamed, always JSON, or always a stream. */
export type ReplyMode = "auto" | "json" | "sse";

/** Whose a reply is: of requests outside of sessions, of a session, or of a session of HTTP+SSE. */
export interface ReplyOwner {
  readonly kind: "http" | "sse";
  readonly answers: ReplyMode;
  /** The HTTP status of an answer; `code` is that of its error, undefined for a success. */
  status(code: number | undefined): number;
  /** Makes the reply of `exchange` a stream. */
  openStream(exchange: HttpExchange, opening?: Opening): ReplyStream;
  /** The session the request belongs to. */
  readonly session?: ReplySession;
  /** The stream that takes whatever is sent, where replies have none of their own. */
  readonly shared?: ReplyStream;
}

/** What a reply needs of its session. */
export interface ReplySession {
  /** Undefined where it ends with its process. */
  readonly id?: string;
  readonly closed: boolean;
  /** The revision lets streams be closed before the answer. */
  readonly polling: boolean;
  /** Whether a stream for messages that belong to no request is open, or was and may be taken up again. */
  readonly opened: boolean;
  /** Takes what a reply in JSON cannot carry. */
  write(text: string, kind: OutgoingKind): void | Promise<void>;
}

export class Reply implements IdentifiedCarrier, GoneListener {
  readonly exchange: HttpExchange;
  answered = false;
  /** Told once when the client of a request outside of sessions goes away before the answer. */
  onGone: GoneListener | undefined;
  /** What it answers, where another process may have to say that nobody can. */
  asked: Asked;
  readonly #owner: ReplyOwner;
  #opening: ((succeeded: boolean) => HeaderList) | undefined;
  #stream: ReplyStream | undefined;

  /** `opening` is told once whether `initialize` was accepted, before its answer leaves; it gives that answer's headers. */
  constructor(exchange: HttpExchange, owner: ReplyOwner, opening?: (succeeded: boolean) => HeaderList) {
    this.exchange = exchange;
    this.#owner = owner;
    this.#opening = opening;
    this.#stream = owner.shared;
  }

  get kind(): "http" | "sse" {
    return this.#owner.kind;
  }

  get principal(): string | undefined {
    return this.exchange.principal;
  }

  get sessionId(): string | undefined {
    return this.#owner.session?.id;
  }

  /** Of this very request: the session's next one may come with another token. */
  get identity(): Identity | undefined {
    return this.exchange.identity;
  }

  lacking(method: string, params: object): Error | undefined {
    return this.exchange.lacking?.(this.exchange, method, params);
  }

  /** A session's stream can be resumed; an answer in JSON has only its one connection. */
  get closed(): boolean {
    if (this.#owner.session?.closed === true) return true;
    return this.#stream === undefined ? this.exchange.over : this.#stream.closed;
  }

  get answersOnly(): boolean {
    return this.#owner.session === undefined && this.#stream === undefined && !this.#streams;
  }

  /** Neither a stream of this request nor one of the session could carry a question, or ever had. */
  get unheard(): boolean {
    return this.#stream === undefined && !this.#streams && this.#owner.session?.opened === false;
  }

  header(name: string): string | undefined {
    return this.exchange.header(name);
  }

  write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void> {
    const { shared, session } = this.#owner;
    if (kind === "response") return this.#answer(text, errorCode);
    if (shared !== undefined) return shared.send(text, kind === "notification");
    if (this.answered || this.closed) return undefined;
    if (this.#stream === undefined && !this.#streams) return session?.write(text, kind);
    return this.#opened().send(text, kind === "notification");
  }

  writePieces(pieces: MessagePieces): boolean {
    if (this.answered || this.closed || this.#stream !== undefined || this.#alwaysStreams) return false;
    // The handshake is written as text: its answer is what settles the session.
    if (this.#opening !== undefined) return false;
    this.answered = true;
    this.exchange.reply(200, JSON_HEADERS, pieces);
    return true;
  }

  abandon(wasCancelled = false): void {
    this.#settle(false);
    if (this.answered || this.closed) return;
    this.answered = true;
    if (this.#stream !== undefined) void this.#stream.finish();
    else if (wasCancelled) cancelled(this.exchange);
    else accepted(this.exchange);
  }

  kept(): void {
    this.exchange.kept?.();
  }

  outlive(work: Promise<unknown>): void {
    this.exchange.outlive?.(work);
  }

  hangUp(retryMs: number): boolean {
    if (this.answered || this.closed || this.#owner.session?.polling !== true || !this.#streams) return false;
    this.#opened(retryMs).hangUp?.();
    return true;
  }

  /**
   * Waits for an answer that did not come at once. Outside of sessions a client that goes away is noticed from now on; in one
   * it gets its stream now, where it will be one.
   */
  linger(): void {
    if (this.answered) return;
    if (this.#owner.session === undefined) this.exchange.onGone = this;
    else if (this.#alwaysStreams) this.#opened();
  }

  /** For the exchange: nobody waits for the answer any more. */
  gone(): void {
    this.answered = true;
    this.onGone?.gone();
    this.#stream?.gone?.();
  }

  /** Refuses the message with a status of its own. */
  refuse(status: number, text: string, headers?: HeaderList): void {
    this.answered = true;
    this.exchange.reply(status, headers === undefined ? JSON_HEADERS : [...JSON_HEADERS, ...headers], text);
  }

  #answer(text: string, errorCode: number | undefined): void | Promise<void> {
    const headers = this.#settle(errorCode === undefined);
    if (this.answered || this.closed) return undefined;
    this.answered = true;
    if (this.#stream !== undefined) return this.#stream.finish(text);
    // An answer that is the first and last event cannot be resumed, so it needs neither a number nor a place in the store.
    if (errorCode === undefined && this.#alwaysStreams) {
      const all = headers.length === 0 ? EVENT_STREAM_HEADERS : [...EVENT_STREAM_HEADERS, ...headers];
      return this.exchange.reply(200, all, event(text));
    }
    const json = headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers];
    this.exchange.reply(this.#owner.status(errorCode), json, text);
  }

  #opened(retryMs?: number): ReplyStream {
    return (this.#stream ??= this.#owner.openStream(this.exchange, { retryMs, asked: this.asked }));
  }

  #settle(succeeded: boolean): HeaderList {
    const opening = this.#opening;
    this.#opening = undefined;
    return opening === undefined ? NO_HEADERS : opening(succeeded);
  }

  get #streams(): boolean {
    return this.#owner.answers !== "json" && readsStreams(this.exchange);
  }

  get #alwaysStreams(): boolean {
    const { answers } = this.#owner;
    return answers === "sse" ? this.#streams : answers === "auto" && readsOnlyStreams(this.exchange);
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
export function statelessStatus(code: number | undefined): number {
  return code === undefined ? 200 : (STATELESS[code] ?? 200);
}
