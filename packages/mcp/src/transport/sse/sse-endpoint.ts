// HTTP+SSE of 2024-11-05: one GET is the session, its answers are events, messages are posted to a second path.
import type { IdentifiedCarrier, Identity, OutgoingKind } from "../../jsonrpc/transport.js";
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import { isJsonObject } from "../../jsonrpc/message.js";
import { ParseFault, parseJson } from "../../jsonrpc/parse.js";
import { EventStream, type KeepAlive, type StreamKeeper } from "../http/event-stream.js";
import type { BodyFault, BodyReceiver, HttpExchange } from "../http/exchange.js";
import type { FrontDoor, HttpRoute, Permits } from "../http/http-site.js";
import type { SessionLimits } from "../http/http-limits.js";
import type { HttpConversation, HttpService } from "../http/http-session.js";
import { refuse, refuseAs, refuseMessage, turnAway, turnAwayForNow } from "../http/replies.js";
import { newSessionId } from "../http/session-table.js";
import { IntakeGate } from "../../jsonrpc/connection.js";

export interface SseOptions {
  readonly service: HttpService;
  readonly door: FrontDoor;
  readonly keeper: StreamKeeper;
  readonly permits: Permits | undefined;
  readonly pinger: KeepAlive | undefined;
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
  readonly #intake: SseIntake | undefined;

  /** `intake` is told of the response, and when the reader has caught up with it. */
  constructor({ principal, identity }: HttpExchange, stream: EventStream, intake?: SseIntake) {
    this.principal = principal;
    this.identity = identity;
    this.stream = stream;
    this.#intake = intake;
  }

  get closed(): boolean {
    return this.stream.closed;
  }

  header(): undefined {
    return undefined;
  }

  write(text: string, kind: OutgoingKind): void | Promise<void> {
    if (kind === "notification" && this.stream.full) return undefined;
    const written = this.stream.write(`event: message\ndata: ${text}\n\n`);
    if (kind === "response") this.#intake?.settled(text.length, written);
    return written;
  }

  abandon(): void {
    this.#intake?.settled(0, undefined);
  }
}

/** How long answers may hold up what was posted after: it may be what they wait for. */
const OVERDUE_MS = 50;

/** A posted request that waits, its POST not answered yet. */
interface Posted {
  readonly exchange: HttpExchange;
  readonly value: unknown;
}

/**
 * What is posted to one session is taken in no faster than its answers are read: all of them go to one stream, which a client may
 * leave unread while it posts on and on.
 */
class SseIntake {
  readonly #gate: IntakeGate;
  readonly #stream: EventStream;
  readonly #take: (posted: Posted) => void;
  #waiting: Posted[] = [];
  #overdue: ReturnType<typeof setTimeout> | undefined;

  /** `most` requests are in service at once at most. */
  constructor(most: number, stream: EventStream, take: (posted: Posted) => void) {
    this.#gate = new IntakeGate(most);
    this.#stream = stream;
    this.#take = take;
  }

  enter(posted: Posted): void {
    this.#waiting.push(posted);
    this.#admit();
  }

  settled(length: number, read: void | Promise<void>): void {
    this.#gate.settled(length);
    if (read === undefined) this.#admit();
    else void read.then(() => this.#admit());
  }

  /** The session is over: what still waits, for whoever answers it. */
  end(): readonly Posted[] {
    clearTimeout(this.#overdue);
    const left = this.#waiting;
    this.#waiting = [];
    return left;
  }

  #admit(): void {
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
    while (this.#gate.room > 0 && !this.#stream.full) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.exchange.over) continue;
      this.#gate.delivered();
      this.#take(next);
    }
    // A reader that is behind ends the wait by reading, or is cut.
    if (this.#waiting.length > 0 && !this.#stream.full) this.#overdue = setTimeout(this.#letMoreIn, OVERDUE_MS);
  }

  readonly #letMoreIn = (): void => {
    this.#gate.overdue();
    this.#admit();
  };
}

interface SseSession {
  readonly carrier: SseCarrier;
  readonly conversation: HttpConversation;
  readonly intake: SseIntake;
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
    // Answers to questions and notifications never wait: what is in service may wait for them.
    if (asks(value)) session.intake.enter({ exchange, value });
    else this.#deliver(session, { exchange, value }, undefined);
  }

  #deliver({ carrier, conversation }: SseSession, { exchange, value }: Posted, intake: SseIntake | undefined): void {
    exchange.reply(202, ["content-type", "text/plain; charset=utf-8"], "Accepted");
    // The stream is the session's, the token that of each message.
    conversation.deliver(value, new SseCarrier(exchange, carrier.stream, intake));
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
    const intake: SseIntake = new SseIntake(service.limits.inFlight, stream, (posted) =>
      this.#deliver(session, posted, intake),
    );
    const session: SseSession = { carrier, conversation, intake, timer };
    this.#sessions.set(id, session);
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
    void stream.write(`event: endpoint\ndata: ${relativeTo(this.path, this.messages)}?sessionId=${id}\n\n`);
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
    for (const { exchange } of session.intake.end()) unknownSession(exchange);
    await session.conversation.close(graceMs);
    session.carrier.stream.end();
  }
}

/** The path `to` as seen from `from`: a proxy that takes a prefix off does not know that it stands in this text too. */
function relativeTo(from: string, to: string): string {
  const folder = from.split("/").slice(0, -1);
  const target = to.split("/");
  let shared = 0;
  while (shared < folder.length && shared < target.length - 1 && folder[shared] === target[shared]) shared++;
  const up = "../".repeat(folder.length - shared);
  // Without the dot a name with a colon would be read as a scheme.
  return `${up === "" ? "./" : up}${target.slice(shared).join("/")}`;
}

/** Whether a message or batch wants an answer. */
function asks(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(asks);
  return isJsonObject(value) && "method" in value && "id" in value;
}

function unknownSession(exchange: HttpExchange): void {
  turnAway(exchange, 404, "There is no such session (any more): open the stream again");
}
