// The Streamable HTTP endpoint: one path for every revision from 2025-03-26 on, each request judged by itself.
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import { isJsonObject } from "../../jsonrpc/message.js";
import { classify, ParseFault, parseJson } from "../../jsonrpc/parse.js";
import {
  AloneCarrier,
  JSON_HEADERS,
  type ReplyMode,
  accepted,
  cancelled,
  handshakeStatus,
  readsOnlyStreams,
  readsStreams,
  refuse,
  refuseAs,
  refuseMessage,
  turnAway,
  turnAwayForNow,
} from "./replies.js";
import type { BodyFault, BodyReceiver, HeaderList, HttpExchange } from "./exchange.js";
import type { FrontDoor, HttpRoute, Permits } from "./http-site.js";
import { type HttpService, HttpSession, type SessionSettings } from "./http-session.js";
import { event, EVENT_STREAM_HEADERS, type KeepAlive, type StreamKeeper } from "./event-stream.js";
import { readEventId, type ResumableStream } from "./resumable-stream.js";
import { newSessionId, SessionTable } from "./session-table.js";
import { StandingCarrier } from "./standing-carrier.js";
import { quotedWords } from "../../jsonrpc/visible-text.js";
import type { IdentifiedCarrier, Identity, MessagePieces, OutgoingKind } from "../../jsonrpc/transport.js";

interface StreamableHttpOptions {
  readonly service: HttpService;
  readonly door: FrontDoor;
  readonly keeper: StreamKeeper;
  readonly answers: ReplyMode;
  readonly permits: Permits | undefined;
  readonly pinger: KeepAlive | undefined;
  /** Undefined: no sessions, every message is served alone. */
  readonly sessions: SessionSettings | undefined;
}

const ALL_METHODS = ["allow", "GET, POST, DELETE"];
const POST_ONLY = ["allow", "POST"];
const RETRY_AFTER = ["retry-after", "60"];

export class StreamableHttp implements HttpRoute, BodyReceiver {
  readonly #options: StreamableHttpOptions;
  readonly #service: HttpService;
  readonly #table: SessionTable | undefined;

  constructor(options: StreamableHttpOptions) {
    this.#options = options;
    this.#service = options.service;
    this.#table = options.sessions && new SessionTable(options.sessions.limits, options.pinger);
  }

  /** Sessions open now. */
  get sessions(): number {
    return this.#table?.size ?? 0;
  }

  serve(exchange: HttpExchange): void {
    switch (exchange.method) {
      case "POST":
        return this.#post(exchange);
      case "GET":
        return this.#get(exchange);
      case "DELETE":
        return this.#delete(exchange);
      default:
        return turnAway(exchange, 405, "Use POST", this.#table === undefined ? POST_ONLY : ALL_METHODS);
    }
  }

  body(exchange: HttpExchange, text: string): void {
    const value = parseJson(text, this.#service.limits);
    const refusal = this.#options.permits?.(exchange, value);
    if (refusal !== undefined) return refuseAs(exchange, refusal);
    if (this.#service.isStateless(value, exchange.header("mcp-protocol-version"))) {
      const carrier = new AloneCarrier(exchange, this.#options.answers, this.#options.keeper);
      carrier.stateless = true;
      this.#service.serveStateless(value, carrier);
      carrier.linger();
    } else if (this.#table === undefined) {
      this.#serveAlone(exchange, value);
    } else {
      this.#serveSession(exchange, value, this.#table);
    }
  }

  bodyFault(exchange: HttpExchange, fault: BodyFault): void {
    if (fault === "too-long") return turnAway(exchange, 413, "The body is too long");
    if (fault === "no-room") return turnAwayForNow(exchange);
    refuseMessage(exchange, 400, new RpcError(ErrorCode.ParseError, "Parse error: the body is not UTF-8"));
  }

  /** Ends all sessions: what runs in them may finish within `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await this.#table?.endAll(graceMs);
  }

  #post(exchange: HttpExchange): void {
    const limit = this.#service.limits.messageBytes;
    const refusal = this.#options.door.bodyRefusal(exchange, limit);
    if (refusal !== undefined) turnAway(exchange, refusal.status, refusal.text);
    else exchange.readBody(limit, this);
  }

  #serveAlone(exchange: HttpExchange, value: unknown): void {
    if (!isInitialize(value) && !this.#knowsVersion(exchange)) return undefined;
    const carrier = new AloneCarrier(exchange, this.#options.answers, this.#options.keeper);
    this.#service.serveAlone(value, carrier);
    carrier.linger();
  }

  #serveSession(exchange: HttpExchange, value: unknown, table: SessionTable): void {
    const id = exchange.header("mcp-session-id");
    if (id === undefined) {
      if (isInitialize(value)) this.#open(exchange, value, table);
      else this.#withoutSession(exchange, value);
      return;
    }
    const standing = table.find(id, exchange.principal);
    if (standing === undefined) return unknownSession(exchange, value);
    if (!this.#knowsVersion(exchange)) return undefined;
    standing.session.used = performance.now();
    const carrier = new SessionCarrier(exchange, standing);
    standing.session.conversation.deliver(value, carrier);
    carrier.linger();
  }

  #open(exchange: HttpExchange, value: unknown, table: SessionTable): void {
    const { sessions } = this.#options;
    if (sessions === undefined || !table.reserve()) {
      return refuse(exchange, 503, "There are too many sessions: try again later", RETRY_AFTER);
    }
    const session = new HttpSession(newSessionId(), exchange.principal, sessions);
    const standing = new StandingCarrier(session);
    session.conversation = this.#service.converse(standing);
    session.conversation.deliver(value, new OpeningCarrier(exchange, standing, table));
  }

  /** A ping and what is no message at all are answered; everything else needs the session it forgot to name. */
  #withoutSession(exchange: HttpExchange, value: unknown): void {
    const isPing = isJsonObject(value) && value["method"] === "ping";
    if (value instanceof ParseFault || isPing || classify(value) instanceof ParseFault) {
      if (!Array.isArray(value)) return this.#serveAlone(exchange, value);
    }
    const what = 'Server not initialized: send "initialize" first, then its Mcp-Session-Id with every request';
    refuseMessage(exchange, 400, new RpcError(ErrorCode.InvalidRequest, what), { id: idOf(value) });
  }

  #get(exchange: HttpExchange): void {
    const standing = this.#standing(exchange);
    if (standing === undefined) return;
    if (!readsStreams(exchange)) return refuse(exchange, 406, "Send Accept: text/event-stream");
    standing.session.used = performance.now();
    const last = exchange.header("last-event-id");
    if (last !== undefined && last !== "") return this.#resume(exchange, standing, last);
    if (!standing.open(exchange)) refuse(exchange, 409, "This session has as many streams open as it may have");
  }

  #resume(exchange: HttpExchange, standing: StandingCarrier, last: string): void {
    const position = readEventId(last);
    const stream = position && standing.session.stream(position.stream);
    if (position === undefined || stream === undefined) return lost(exchange);
    const restart = (): void => this.#restart(exchange, standing, stream);
    stream.resume(exchange, [], position.sequence).then((resumed) => {
      if (!resumed) restart();
    }, restart);
  }

  /** What cannot be resumed without a loss is refused, but for unsolicited messages: the next ones are worth having. */
  #restart(exchange: HttpExchange, standing: StandingCarrier, stream: ResumableStream): void {
    if (exchange.over) return;
    if (!standing.owns(stream) || !standing.open(exchange)) lost(exchange);
  }

  #delete(exchange: HttpExchange): void {
    const standing = this.#standing(exchange);
    if (standing === undefined) return;
    void this.#table?.end(standing.session).then(() => exchange.reply(204, []));
  }

  /** The session a GET or DELETE names; undefined when it was refused. */
  #standing(exchange: HttpExchange): StandingCarrier | undefined {
    const version = exchange.header("mcp-protocol-version");
    if (this.#table === undefined || this.#service.isStateless(undefined, version)) {
      refuse(exchange, 405, "Use POST", POST_ONLY);
      return undefined;
    }
    const id = exchange.header("mcp-session-id");
    if (id === undefined) {
      refuse(exchange, 400, "Send the Mcp-Session-Id that initialize was answered with");
      return undefined;
    }
    const standing = this.#table.find(id, exchange.principal);
    if (standing === undefined) unknownSession(exchange, undefined);
    else if (this.#knowsVersion(exchange)) return standing;
    return undefined;
  }

  /** Whether MCP-Protocol-Version is absent or names a revision with sessions; refuses the request otherwise. */
  #knowsVersion(exchange: HttpExchange): boolean {
    const version = exchange.header("mcp-protocol-version");
    if (version === undefined || this.#service.hasSessions(version)) return true;
    const what = `Unsupported MCP-Protocol-Version: ${quotedWords(version)}`;
    refuseMessage(exchange, 400, new RpcError(ErrorCode.InvalidRequest, what));
    return false;
  }
}

function unknownSession(exchange: HttpExchange, value: unknown): void {
  const what = "There is no such session (any more): send a new initialize without Mcp-Session-Id";
  refuseMessage(exchange, 404, new RpcError(ErrorCode.InvalidRequest, what), { id: idOf(value) });
}

function lost(exchange: HttpExchange): void {
  refuse(exchange, 400, "What came after this Last-Event-ID is not kept any more: send the request again");
}

function isInitialize(value: unknown): boolean {
  return isJsonObject(value) && value["method"] === "initialize";
}

function idOf(value: unknown): string | number | undefined {
  const id = isJsonObject(value) && "method" in value ? value["id"] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

// The carrier of a POST in a session: JSON unless something has to be streamed first; a stream outlives its connection.

const NO_HEADERS: HeaderList = [];

class SessionCarrier implements IdentifiedCarrier {
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

// The carrier of `initialize`: a successful answer makes the session real and tells the client its id in a header, so that
// the reply cannot begin before the answer is there.

class OpeningCarrier extends SessionCarrier {
  readonly #table: SessionTable;
  #settled = false;
  #succeeded = false;

  constructor(exchange: HttpExchange, standing: StandingCarrier, table: SessionTable) {
    super(exchange, standing);
    this.#table = table;
  }

  override write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void> {
    if (kind === "response") this.#settle(errorCode === undefined);
    return super.write(text, kind, errorCode);
  }

  /** The handshake is written as text: its answer is what settles the session. */
  override writePieces(): boolean {
    return false;
  }

  override abandon(cancelled?: boolean): void {
    this.#settle(false);
    super.abandon(cancelled);
  }

  protected override get headers(): HeaderList {
    return this.#succeeded ? this.session.headers : super.headers;
  }

  #settle(succeeded: boolean): void {
    if (this.#settled) return;
    this.#settled = true;
    if (succeeded && !this.exchange.over) {
      this.#succeeded = true;
      this.#table.add(this.standing);
    } else {
      this.#table.release();
      queueMicrotask(() => void this.session.close(0));
    }
  }
}
