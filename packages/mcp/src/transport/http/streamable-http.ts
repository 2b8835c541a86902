// The Streamable HTTP endpoint: one path for every revision from 2025-03-26 on, each request judged by itself.
import { classify } from "../../jsonrpc/classify.js";
import { ErrorCode } from "../../jsonrpc/error-codes.js";
import { isJsonObject } from "../../jsonrpc/message.js";
import { ParseFault } from "../../jsonrpc/parse-fault.js";
import { parseJson } from "../../jsonrpc/parse.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import { AloneCarrier, type Answers } from "./alone-carrier.js";
import type { BodyFault, BodyReceiver, HttpExchange } from "./exchange.js";
import type { FrontDoor } from "./front-door.js";
import type { HttpService } from "./http-service.js";
import { HttpSession, type SessionSettings } from "./http-session.js";
import type { HttpRoute, Permits } from "./http-site.js";
import { OpeningCarrier } from "./opening-carrier.js";
import type { Pinger } from "./pinger.js";
import { readsStreams, refuse, refuseAs, refuseMessage, turnAway, turnAwayForNow } from "./replies.js";
import { readEventId, type ResumableStream } from "./resumable-stream.js";
import { SessionCarrier } from "./session-carrier.js";
import { newSessionId, SessionTable } from "./session-table.js";
import { StandingCarrier } from "./standing-carrier.js";
import type { StreamKeeper } from "./stream-keeper.js";
import { quotedWords } from "../../jsonrpc/visible-text.js";

export interface StreamableHttpOptions {
  readonly service: HttpService;
  readonly door: FrontDoor;
  readonly keeper: StreamKeeper;
  readonly answers: Answers;
  readonly permits: Permits | undefined;
  readonly pinger: Pinger | undefined;
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
