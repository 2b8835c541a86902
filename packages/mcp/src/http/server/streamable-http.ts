// Streamable HTTP (basic/transports): which era a message belongs to, and which process has what it names.
import type { Later } from "../../endpoint/call.js";
import { isStateless } from "../../era/stateless/codec.js";
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import { isJsonObject } from "../../jsonrpc/message.js";
import { parseJson } from "../../jsonrpc/parse.js";
import type { ServerCore } from "../../server/core.js";
import type { BodyFault, BodyReceiver, HttpCluster, HttpExchange, Named } from "./exchange.js";
import type { HandshakeRequests } from "./handshake-requests.js";
import {
  answeredNode,
  begunTooLate,
  type FrontDoor,
  type HttpRoute,
  isPermitted,
  type Permits,
  serveLater,
  turnedAway,
} from "./http-site.js";
import { failRequest, refuseMessage, turnAway, turnAwayForNow } from "./reply.js";
import type { SessionlessRequests } from "./sessionless-requests.js";

interface StreamableHttpOptions {
  readonly core: ServerCore;
  readonly door: FrontDoor;
  readonly permits: Permits | undefined;
  /** Serves the stateless era. */
  readonly sessionless: SessionlessRequests;
  /** Serves the handshake era. */
  readonly handshake: Later<HandshakeRequests>;
  /** Whether there are sessions. */
  readonly sessions: boolean;
  /** The other processes of the server. */
  readonly cluster?: HttpCluster | undefined;
}

/** A message that was read. */
interface Read {
  readonly exchange: HttpExchange;
  readonly value: unknown;
  readonly text: string;
  readonly sessions: HandshakeRequests;
  /** Serves it in this process. */
  readonly here: () => void;
}

const ALL_METHODS = ["allow", "GET, POST, DELETE"];
const POST_ONLY = ["allow", "POST"];
/** Whoever seems to have ended may be cut off from the others, and still wait for the answer. */
const NOBODY_ASKS =
  "The process that asked this has ended, or cannot be reached now: answer again if the call that needs it is still open";

export class StreamableHttp implements HttpRoute, BodyReceiver {
  readonly #options: StreamableHttpOptions;
  readonly #permission: Parameters<typeof isPermitted>[0];

  constructor(options: StreamableHttpOptions) {
    this.#options = options;
    this.#permission = { permits: options.permits, again: this.#take };
  }

  serve(exchange: HttpExchange): void {
    switch (exchange.method) {
      case "POST":
        return this.#post(exchange);
      case "GET":
      case "DELETE":
        return serveLater(this.#options.handshake, exchange, (handshake) => handshake.serve(exchange));
      default:
        return turnAway(exchange, 405, "Use POST", this.#options.sessions ? ALL_METHODS : POST_ONLY);
    }
  }

  body(exchange: HttpExchange, text: string): void {
    try {
      this.#read(exchange, text);
    } catch (error) {
      failRequest(exchange, error, this.#options.core.report);
    }
  }

  #read(exchange: HttpExchange, text: string): void {
    if (turnedAway(exchange)) return;
    const { core, cluster, handshake } = this.#options;
    const value = parseJson(text, core.limits);
    if (cluster === undefined) return this.#take(exchange, value);
    serveLater(handshake, exchange, (sessions) => {
      const read = { exchange, value, text, sessions, here: () => this.#take(exchange, value) };
      if (exchange.relayed === true) sessions.handedOn(read);
      else this.#find(read, cluster);
    });
  }

  bodyFault(exchange: HttpExchange, fault: BodyFault): void {
    if (fault === "too-long") return turnAway(exchange, 413, "The body is too long");
    if (fault === "no-room") return turnAwayForNow(exchange);
    refuseMessage(exchange, 400, new RpcError(ErrorCode.ParseError, "Parse error: the body is not UTF-8"));
  }

  /** Has a message served by the process that has its session, or what else it names. */
  #find(read: Read, cluster: HttpCluster): void {
    const { exchange, value, text, sessions, here } = read;
    const session = exchange.header("mcp-session-id");
    if (session !== undefined) {
      sessions.guests?.said(exchange, session, value);
      const node = answeredNode(value);
      if (node === cluster.node) return here();
      if (node !== undefined) {
        const lost = (): void => refuseMessage(exchange, 503, new RpcError(ErrorCode.InternalError, NOBODY_ASKS));
        return cluster.bring(exchange, { kind: "call", id: `${node}.`, body: text }, lost);
      }
    }
    if (sessions.holdsBack(exchange, value, () => this.#find(read, cluster))) return;
    const id = sessions.elsewhere(exchange);
    const named = (): void => this.#findNamed(read, cluster);
    if (id === undefined) return named();
    const there = (): void => cluster.bring(exchange, { kind: "session", id, body: text }, named);
    sessions.serveGuest(read, id, there);
  }

  #findNamed({ exchange, value, text, sessions, here }: Read, cluster: HttpCluster): void {
    const named = isStateless(value, exchange.header("mcp-protocol-version")) ? namedIn(value) : undefined;
    if (sessions.handsOn(exchange, value)) cluster.handOn(exchange, { named, body: text }, here);
    else if (named === undefined) here();
    else cluster.bring(exchange, { ...named, body: text }, here);
  }

  readonly #take = (exchange: HttpExchange, value: unknown): void => {
    if (turnedAway(exchange) || begunTooLate(exchange, value)) return;
    const { sessionless, handshake } = this.#options;
    if (!isPermitted(this.#permission, exchange, value)) return;
    if (isStateless(value, exchange.header("mcp-protocol-version"))) return sessionless.serve(value, exchange);
    // No function for each request where there need be none: V8 keeps what it holds until the next full collection.
    if (handshake.there === undefined) serveLater(handshake, exchange, (sessions) => sessions.take(exchange, value));
    else handshake.there.take(exchange, value);
  };

  #post(exchange: HttpExchange): void {
    const limit = this.#options.core.limits.messageBytes;
    const refusal = this.#options.door.bodyRefusal(exchange, limit);
    if (refusal !== undefined) turnAway(exchange, refusal.status, refusal.text);
    else exchange.readBody(limit, this);
  }
}

/** What a message of the stateless era names that lives in one process: a call that waits for its retry, or a task. */
function namedIn(value: unknown): Named | undefined {
  const params = isJsonObject(value) ? value["params"] : undefined;
  if (!isJsonObject(params)) return undefined;
  const { requestState, taskId } = params;
  if (typeof requestState === "string") return { kind: "call", id: requestState };
  return typeof taskId === "string" ? { kind: "task", id: taskId } : undefined;
}
