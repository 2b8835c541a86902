// HTTP+SSE of 2024-11-05: one GET is the session, its answers are events, messages are posted to a second path.
import type { OutgoingKind } from "../../jsonrpc/carrier.js";
import { ErrorCode } from "../../jsonrpc/error-codes.js";
import type { IdentifiedCarrier, Identity } from "../../jsonrpc/identity.js";
import { ParseFault } from "../../jsonrpc/parse-fault.js";
import { parseJson } from "../../jsonrpc/parse.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import { EventStream } from "../http/event-stream.js";
import type { BodyFault, BodyReceiver, HttpExchange } from "../http/exchange.js";
import type { FrontDoor } from "../http/front-door.js";
import type { SessionLimits } from "../http/http-limits.js";
import type { HttpConversation, HttpService } from "../http/http-service.js";
import type { HttpRoute, Permits } from "../http/http-site.js";
import type { Pinger } from "../http/pinger.js";
import { refuse, refuseAs, refuseMessage, turnAway, turnAwayForNow } from "../http/replies.js";
import { newSessionId } from "../http/session-table.js";
import type { StreamKeeper } from "../http/stream-keeper.js";

export interface SseOptions {
  readonly service: HttpService;
  readonly door: FrontDoor;
  readonly keeper: StreamKeeper;
  readonly permits: Permits | undefined;
  readonly pinger: Pinger | undefined;
  readonly limits: SessionLimits;
  readonly path: string;
  readonly messages: string;
}

/** The one stream of a session: everything the server says goes there. */
class SseCarrier implements IdentifiedCarrier {
  readonly kind = "sse";
  readonly principal: string | undefined;
  readonly identity: Identity | undefined;
  readonly stream: EventStream;

  constructor({ principal, identity }: HttpExchange, stream: EventStream) {
    this.principal = principal;
    this.identity = identity;
    this.stream = stream;
  }

  get closed(): boolean {
    return this.stream.closed;
  }

  header(): undefined {
    return undefined;
  }

  write(text: string, kind: OutgoingKind): void | Promise<void> {
    if (kind === "notification" && this.stream.full) return undefined;
    return this.stream.write(`event: message\ndata: ${text}\n\n`);
  }
}

interface SseSession {
  readonly carrier: SseCarrier;
  readonly conversation: HttpConversation;
  readonly timer: ReturnType<typeof setTimeout>;
}

export class SseEndpoint implements BodyReceiver {
  readonly path: string;
  readonly messages: string;
  readonly stream: HttpRoute = { serve: (exchange) => this.#open(exchange) };
  readonly post: HttpRoute = { serve: (exchange) => this.#post(exchange) };
  readonly #options: SseOptions;
  readonly #sessions = new Map<string, SseSession>();

  constructor(options: SseOptions) {
    this.#options = options;
    this.path = options.path;
    this.messages = options.messages;
  }

  /** Sessions open now. */
  get sessions(): number {
    return this.#sessions.size;
  }

  body(exchange: HttpExchange, text: string): void {
    const session = this.#find(exchange);
    if (session === undefined) return unknownSession(exchange);
    const value = parseJson(text, this.#options.service.limits);
    if (value instanceof ParseFault) {
      return refuseMessage(exchange, 400, new RpcError(value.code, value.message), { id: value.id ?? null });
    }
    const refusal = this.#options.permits?.(exchange, value);
    if (refusal !== undefined) return refuseAs(exchange, refusal);
    exchange.reply(202, ["content-type", "text/plain; charset=utf-8"], "Accepted");
    const { carrier, conversation } = session;
    // The stream is the session's, the token that of each message.
    const identified = exchange.identity === undefined ? carrier : new SseCarrier(exchange, carrier.stream);
    conversation.deliver(value, identified);
  }

  bodyFault(exchange: HttpExchange, fault: BodyFault): void {
    if (fault === "too-long") return turnAway(exchange, 413, "The body is too long");
    if (fault === "no-room") return turnAwayForNow(exchange);
    refuseMessage(exchange, 400, new RpcError(ErrorCode.ParseError, "Parse error: the body is not UTF-8"), {
      id: null,
    });
  }

  /** Ends all sessions: what runs in them may finish within `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id, graceMs)));
  }

  #open(exchange: HttpExchange): void {
    const { limits, service, keeper } = this.#options;
    if (exchange.method !== "GET") return turnAway(exchange, 405, "Use GET", ["allow", "GET"]);
    if (this.#sessions.size >= limits.max) {
      return refuse(exchange, 503, "There are too many sessions: try again later", ["retry-after", "60"]);
    }
    const id = newSessionId();
    const stream = new EventStream(exchange, keeper);
    const carrier = new SseCarrier(exchange, stream);
    const conversation = service.converse(carrier);
    const timer = setTimeout(() => void this.#end(id, 0), limits.absoluteMs);
    (timer as { unref?(): void }).unref?.();
    this.#sessions.set(id, { carrier, conversation, timer });
    this.#options.pinger?.add(conversation, {
      reachable: () => !carrier.closed,
      ping: (timeoutMs) => conversation.ping(timeoutMs),
      end: () => void this.#end(id, 0),
    });
    const gone = (): void => {
      stream.gone();
      void this.#end(id, 0);
    };
    exchange.onGone = { gone };
    void stream.write(`event: endpoint\ndata: ${this.messages}?sessionId=${id}\n\n`);
  }

  #post(exchange: HttpExchange): void {
    if (exchange.method !== "POST") return turnAway(exchange, 405, "Use POST", ["allow", "POST"]);
    if (this.#find(exchange) === undefined) return unknownSession(exchange);
    const limit = this.#options.service.limits.messageBytes;
    const refusal = this.#options.door.bodyRefusal(exchange, limit);
    if (refusal !== undefined) turnAway(exchange, refusal.status, refusal.text);
    else exchange.readBody(limit, this);
  }

  /** The session the query names, if it is this principal's. */
  #find({ query, principal }: HttpExchange): SseSession | undefined {
    const id = /(?:^|&)sessionId=([\w-]+)(?:&|$)/.exec(query)?.[1];
    const session = id === undefined ? undefined : this.#sessions.get(id);
    return session?.carrier.principal === principal ? session : undefined;
  }

  async #end(id: string, graceMs: number): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    clearTimeout(session.timer);
    this.#options.pinger?.remove(session.conversation);
    await session.conversation.close(graceMs);
    session.carrier.stream.end();
  }
}

function unknownSession(exchange: HttpExchange): void {
  turnAway(exchange, 404, "There is no such session (any more): open the stream again");
}
