// Requests outside of sessions: those of the stateless era (2026-07-28) are served here, and cancelled with their connection.
// Older ones, where there are no sessions, are counted and bounded with them.
import { Call, type Caller, type Line, LISTEN_METHOD, NO_LOGS, STOPPED } from "../../endpoint/call.js";
import { missingEnvelope, readEnvelope } from "../../era/stateless/codec.js";
import {
  methodHeaderFault,
  type MirroredParam,
  mirroredParams,
  mismatch,
  paramHeaderFault,
  versionHeaderFault,
} from "../../era/stateless/headers.js";
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import {
  failureText,
  IncomingTable,
  type JsonObject,
  type NotificationMessage,
  type RequestId,
  type RequestMessage,
  withinGrace,
} from "../../jsonrpc/message.js";
import { classify, ParseFault } from "../../jsonrpc/parse.js";
import type { Carrier } from "../../jsonrpc/transport.js";
import { levelIndex } from "../../protocol/features/lifecycle.js";
import type { Tool } from "../../protocol/features/tools.js";
import { META } from "../../protocol/meta.js";
import { claimOf } from "../../protocol/method.js";
import type { ServerCore } from "../../server/core.js";
import { EventStream, type StreamKeeper } from "./event-stream.js";
import type { GoneListener, HttpExchange } from "./exchange.js";
import type { HttpLimits } from "./http-limits.js";
import type { Whose } from "./http-session.js";
import { Reply, type ReplyMode, type ReplyOwner, statelessStatus } from "./reply.js";

interface SessionlessOptions {
  readonly core: ServerCore;
  readonly limits: HttpLimits;
  readonly keeper: StreamKeeper;
  readonly answers: ReplyMode;
}

/** Seconds: what keeps a server busy is over soon. */
const RETRY_AFTER = ["retry-after", "1"];
const NOT_MIRRORED: readonly MirroredParam[] = [];

/** Nothing is asked over it: the stateless era asks by its answers, and of other callers nothing is known. */
const NO_LINE: Line = {
  newId: () => 0,
  ask: (_id, _params, { method }) => Promise.reject(new LocalError("CLOSED", `${method} has no way to the client`)),
};

/** One for an endpoint: between two requests it keeps nothing. */
export class SessionlessRequests {
  readonly #core: ServerCore;
  readonly #limits: HttpLimits;
  readonly #keeper: StreamKeeper;
  readonly #answers: ReplyMode;
  readonly #stateless: ReplyOwner;
  /** What is refused for its number is counted by `#busy`. */
  readonly #calls = new IncomingTable<Call>(Number.POSITIVE_INFINITY);
  readonly #mirrored = new WeakMap<Tool, readonly MirroredParam[]>();
  #listens = 0;
  readonly #done = (call: Call): void => {
    if (this.#calls.release(call) && call.method === LISTEN_METHOD) this.#listens--;
  };

  constructor({ core, limits, keeper, answers }: SessionlessOptions) {
    this.#core = core;
    this.#limits = limits;
    this.#keeper = keeper;
    this.#answers = answers;
    this.#stateless = this.owner(statelessStatus);
  }

  /** Owns replies that belong to no session; `status` chooses theirs. */
  owner(status: ReplyOwner["status"]): ReplyOwner {
    const openStream = (exchange: HttpExchange): EventStream => new EventStream(exchange, this.#keeper);
    return { kind: "http", answers: this.#answers, status, openStream };
  }

  /** Serves a parsed message or fault of the stateless era: envelope, headers, version, method and mirrored arguments first. */
  serve(value: unknown, exchange: HttpExchange): void {
    const reply = new Reply(exchange, this.#stateless);
    this.#judge(value, reply);
    reply.linger();
  }

  /** Cancels what some principals have running, and ends their listens with the answer. */
  endOf(whose: Whose): void {
    const theirs = [...this.#calls.all()].filter(({ carrier }) => whose(carrier.principal));
    for (const call of theirs) {
      if (this.#isOpen(call)) this.#core.subscribers?.endAll(call.connection);
      else this.#core.dispatcher.cancel(call, { reason: "The caller may not call any more", answered: true });
    }
  }

  /** Ends listens with their answer, waits for the rest, and cancels what has not finished after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    // A listen that waits for its code is a stream in a moment.
    const { loading } = this.#core.changes;
    if (loading !== undefined) await Promise.allSettled([loading]);
    for (const call of this.#calls.all()) {
      if (this.#isOpen(call)) this.#core.subscribers?.endAll(call.connection);
      else if (call.method === LISTEN_METHOD) this.#cancel(call);
    }
    await withinGrace(this.#calls.whenIdle(), graceMs);
    for (const call of this.#calls.all()) this.#core.dispatcher.cancel(call, STOPPED);
  }

  /** Whether a listen is a stream by now: before that, as while it is being asked about, there is nothing that could end with its answer. */
  #isOpen({ method, connection }: Call): boolean {
    return method === LISTEN_METHOD && (this.#core.subscribers?.listensOf(connection) ?? 0) > 0;
  }

  #judge(value: unknown, reply: Reply): void {
    if (value instanceof ParseFault) return refuse(reply, value.id, value);
    if (Array.isArray(value))
      return refuse(reply, undefined, invalid("Send one message at a time: there are no batches"));
    const kind = classify(value);
    if (kind === "request") return this.#statelessRequest(value as RequestMessage, reply);
    if (kind instanceof ParseFault) return refuse(reply, kind.id, kind);
    if (kind !== "notification") return refuse(reply, undefined, invalid("Responses must not be sent here"));
    this.#core.notified(value as NotificationMessage, reply);
    reply.abandon();
  }

  #statelessRequest(message: RequestMessage, reply: Reply): void {
    const claim = claimOf(message.params);
    if (claim === undefined) return refuse(reply, message.id, unclaimed(message));
    const fault = headerFault(claim, reply);
    if (fault !== undefined) return refuse(reply, message.id, fault);
    const envelope = readEnvelope(claim);
    if (envelope instanceof RpcError) return refuse(reply, message.id, envelope);
    const mismatched = methodHeaderFault(message, reply) ?? this.#paramFault(message, reply);
    if (mismatched !== undefined) return refuse(reply, message.id, mismatched);
    if (this.#busy) return reply.refuse(503, failureText(message.id, busy().toObject()), RETRY_AFTER);
    const { codec, capabilities, client, logLevel } = envelope;
    const level = logLevel === undefined ? NO_LOGS : levelIndex(logLevel);
    const caller = { codec, capabilities, client, logLevel: level };
    const call = this.begin(message, caller, reply);
    if (call !== undefined) reply.onGone = new Departure(call, this.#cancel);
  }

  #paramFault({ method, params }: RequestMessage, reply: Reply): RpcError | undefined {
    if (method !== "tools/call") return undefined;
    const name = params?.["name"];
    const entry = typeof name === "string" ? this.#core.tools.get(name) : undefined;
    if (entry === undefined) return undefined;
    const mirrored = this.#mirroredOf(entry.tool);
    return mirrored.length === 0 ? undefined : paramHeaderFault(mirrored, params?.["arguments"], reply);
  }

  #mirroredOf(tool: Tool): readonly MirroredParam[] {
    let mirrored = this.#mirrored.get(tool);
    if (mirrored === undefined) {
      const found = mirroredParams(tool.inputSchema);
      // Clients drop a tool whose wishes are invalid, so none of them is expected of the few that do not.
      mirrored = typeof found === "string" ? NOT_MIRRORED : found;
      this.#mirrored.set(tool, mirrored);
    }
    return mirrored;
  }

  /** Whether there are as many requests as there may be; listens are counted apart. */
  get #busy(): boolean {
    return this.#calls.size - this.#listens >= this.#limits.inFlight;
  }

  /** Serves a request of either era. Returns its call while it is still running. */
  begin(message: RequestMessage, caller: Caller, carrier: Carrier): Call | undefined {
    const listens = message.method === LISTEN_METHOD;
    if (listens ? this.#listens >= this.#limits.listens : this.#busy) {
      const error = busy();
      void carrier.write(failureText(message.id, error.toObject()), "response", error.code);
      return undefined;
    }
    // Subscriptions are counted by connection, and each listen request stands for itself here.
    const call = new Call(message, caller, carrier, listens ? { ...NO_LINE } : NO_LINE);
    this.#core.dispatcher.serve(call, this.#done);
    if (call.ended) return undefined;
    this.#calls.add(call);
    if (listens) this.#listens++;
    return call;
  }

  /** Gives a request up: nobody waits for its answer. */
  readonly #cancel = (call: Call): void => {
    this.#core.dispatcher.cancel(call, { reason: "The client closed the connection", answered: false, own: true });
  };
}

/** A call whose client goes away is given up. */
class Departure implements GoneListener {
  readonly #call: Call;
  readonly #cancel: (call: Call) => void;

  constructor(call: Call, cancel: (call: Call) => void) {
    this.#call = call;
    this.#cancel = cancel;
  }

  gone(): void {
    this.#cancel(this.#call);
  }
}

/** The error for what has to come again later. */
function busy(): RpcError {
  return new RpcError(ErrorCode.InternalError, "The server is busy: try again later");
}

/** A version that is no text is the envelope's fault; any other must first be the header's. */
function headerFault(claim: JsonObject, reply: Reply): RpcError | undefined {
  return typeof claim[META.protocolVersion] === "string" ? versionHeaderFault(claim, reply) : undefined;
}

/** The header names this era, the body does not. */
function unclaimed(message: RequestMessage): RpcError {
  return message.method === "initialize"
    ? mismatch("MCP-Protocol-Version names a revision without initialize")
    : missingEnvelope();
}

function invalid(what: string): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, what);
}

function refuse(reply: Reply, id: RequestId | undefined, error: RpcError | ParseFault): void {
  const data = error instanceof RpcError ? error.data : undefined;
  const { code, message } = error;
  reply.refuse(400, failureText(id, data === undefined ? { code, message } : { code, message, data }));
}
