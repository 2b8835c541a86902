// One conversation of the server role: a connection's messages, judged one by one and served.
import { Call, type Caller, NO_LOGS } from "../endpoint/call.js";
import type { Dispatcher } from "../endpoint/dispatcher.js";
import { InFlight, withinGrace } from "../endpoint/in-flight.js";
import type { Codec } from "../era/codec.js";
import { claimsStateless, openSession, type Selection, select, type SessionState } from "../era/select.js";
import type { Carrier } from "../jsonrpc/transport.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { failureText, type JsonObject, type NotificationMessage, type RequestMessage } from "../jsonrpc/message.js";
import { Peer, type PeerHandler, type WireRules } from "../jsonrpc/peer.js";
import { levelIndex } from "../protocol/features/logging.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { ServerCore } from "./core.js";
import type { ServerRole } from "./role.js";
import { LogGate, type LogMessage, Session } from "./session.js";
import { peerWords } from "../jsonrpc/visible-text.js";

/** Before anything is known of the peer: batches may come, and an unreadable id is answered as null. */
const UNKNOWN_PEER: WireRules = { batches: true, unreadableId: "null" };

type StatelessSelection = Extract<Selection, { readonly kind: "stateless" }>;

/** A conversation with one client over one connection. */
export class ServerConversation implements PeerHandler {
  readonly peer: Peer;
  readonly #core: ServerCore;
  readonly #dispatcher: Dispatcher;
  readonly #inFlight: InFlight;
  readonly #logs = new LogGate();
  #session: Session | undefined;
  #rules: WireRules = UNKNOWN_PEER;
  readonly #standing: Carrier | undefined;
  #closing = false;

  /**
   * `standing` takes what belongs to no request, of the one session there will be. Without it the connection is a pipe:
   * that goes where `initialize` came from, and a bridge may give the pipe to one client after another.
   */
  constructor({ core, dispatcher }: ServerRole, standing?: Carrier) {
    this.#standing = standing;
    this.#core = core;
    this.#dispatcher = dispatcher;
    this.peer = new Peer(this, core.limits);
    this.#inFlight = new InFlight(core.limits.inFlight);
  }

  /** What was negotiated; undefined until `initialize` was accepted. */
  get revision(): Revision | undefined {
    return this.#session?.codec.revision;
  }

  /** Requests of this conversation being served now. */
  get active(): number {
    return this.#inFlight.size;
  }

  get #sessionState(): SessionState {
    if (this.#session === undefined) return "none";
    return this.#standing === undefined ? "replaceable" : "fixed";
  }

  rules(): WireRules {
    return this.#rules;
  }

  request(message: RequestMessage, carrier: Carrier): void {
    if (this.#closing)
      return this.#refuse(message, carrier, new RpcError(ErrorCode.InternalError, "The server is shutting down"));
    if (this.#inFlight.has(message.id)) return this.#refuseDuplicate(message, carrier);
    const selection = select(message, this.#sessionState);
    switch (selection.kind) {
      case "session":
        return this.#serve(message, this.#session as Session, carrier);
      case "stateless":
        return this.#serveStateless(message, selection, carrier);
      case "opening":
        return this.#open(message, selection.codec, carrier);
      case "refused":
        return this.#refuse(message, carrier, selection.error);
    }
  }

  notification(message: NotificationMessage, carrier: Carrier): void {
    const params = message.params ?? {};
    switch (message.method) {
      case "notifications/cancelled":
        return this.#cancel(params["requestId"], params["reason"], false);
      case "$/cancelRequest":
        return this.#cancel(params["id"], params["reason"], true);
      case "notifications/progress":
        return this.#core.asks.progressed(this.peer, params);
      case "notifications/roots/list_changed":
        if (this.#session !== undefined) this.#session.roots = undefined;
        return undefined;
      default:
        this.#core.notified(message, carrier);
    }
  }

  batchElement(message: RequestMessage | NotificationMessage): RpcError | undefined {
    if (message.method === "initialize")
      return new RpcError(ErrorCode.InvalidRequest, "initialize must not be part of a batch");
    if (!claimsStateless(message)) return undefined;
    return new RpcError(
      ErrorCode.InvalidRequest,
      "Batches do not exist in this protocol version: send one message a line",
    );
  }

  ignored(reason: string): void {
    this.#core.report("debug", reason);
  }

  /** Stops serving: what runs may finish within `graceMs`, the rest is cancelled. Resolves when nothing runs any more. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.#core.subscribers.endAll(this.peer);
    await withinGrace(this.#inFlight.whenIdle(), graceMs);
    this.#inFlight.cancelAll("The connection is closing", this.#dispatcher);
    this.peer.closed();
    if (this.#core.conversations.delete(this) && this.#session !== undefined) this.#end(this.#session);
  }

  /** Sends an unsolicited log message to the session, if there is one and its level admits it. */
  log(level: number, message: LogMessage): void {
    const session = this.#session;
    if (session === undefined || level < session.logLevel) return;
    if (session.subscription !== undefined) this.#logs.send(session.subscription, message);
  }

  #open(message: RequestMessage, codec: Codec, carrier: Carrier): void {
    if (message.method !== "initialize") return this.#serve(message, opening(codec), carrier);
    const record = codec.revision.methods.get("initialize");
    const fault = record?.check(message.params ?? {});
    if (fault !== undefined) {
      const data = { path: fault.path, constraint: fault.constraint };
      return this.#refuse(message, carrier, new RpcError(ErrorCode.InvalidParams, fault.message, data));
    }
    const session = new Session(openSession(message.params as JsonObject), this.#session);
    if (!this.#core.advertises("logging")) session.logLevel = NO_LOGS;
    session.subscription = this.#core.subscribers.addSession(session, this.peer, this.#standing ?? carrier);
    this.#take(session);
    this.#serve(message, session, carrier, (opened) => this.#opened(session, opened));
  }

  /** From now on requests belong to this session. Those in service keep the one they came in. */
  #take(session: Session | undefined): void {
    this.#session = session;
    this.#rules = session?.codec.revision.rules ?? UNKNOWN_PEER;
  }

  /** A handshake that was answered ends the session before it. One that was refused leaves things as they were. */
  #opened(session: Session, succeeded: boolean): void {
    const { previous } = session;
    if (succeeded) {
      session.previous = undefined;
      if (previous !== undefined) this.#end(previous);
      return;
    }
    if (this.#session === session) this.#take(previous);
    else this.#session?.withdraw(session);
    if (session.subscription !== undefined) this.#core.subscribers.remove(session.subscription);
  }

  /** Ends a session, and those it was to take the place of. */
  #end(session: Session): void {
    const { previous, subscription } = session;
    session.previous = undefined;
    if (previous !== undefined) this.#end(previous);
    if (subscription !== undefined) this.#core.subscribers.remove(subscription);
    this.#core.sessionEnded(session.end());
  }

  #serveStateless(message: RequestMessage, selected: StatelessSelection, carrier: Carrier): void {
    const { codec, envelope } = selected;
    if (this.#session === undefined) this.#rules = codec.revision.rules;
    const { capabilities, client, logLevel } = envelope;
    const wantsLogs = logLevel !== undefined && this.#core.advertises("logging");
    const caller = { codec, capabilities, client, logLevel: wantsLogs ? levelIndex(logLevel) : NO_LOGS };
    this.#serve(message, caller, carrier);
  }

  #serve(message: RequestMessage, caller: Caller, carrier: Carrier, onAnswered?: (succeeded: boolean) => void): void {
    const call = new Call(message, caller, carrier, this.peer);
    call.onAnswered = onAnswered;
    const refusal = this.#inFlight.serve(call, this.#dispatcher);
    if (refusal === undefined) return;
    onAnswered?.(false);
    this.#refuse(message, carrier, refusal);
  }

  #cancel(id: unknown, reason: unknown, answered: boolean): void {
    const why = typeof reason === "string" ? reason : "Cancelled by the client";
    const found = this.#inFlight.cancel(id, { reason: why, answered }, this.#dispatcher);
    if (found) this.#core.report("info", `Request ${peerWords(JSON.stringify(id))} was cancelled: ${peerWords(why)}`);
  }

  #refuse(message: RequestMessage, carrier: Carrier, error: RpcError): void {
    void carrier.write(failureText(message.id, error.toObject()), "response", error.code);
  }

  /** An answer under the id in use would settle the first request, so the refusal carries no id. */
  #refuseDuplicate(message: RequestMessage, carrier: Carrier): void {
    const what = `Request id ${peerWords(JSON.stringify(message.id))} is still in use: every request needs an id of its own`;
    const error = new RpcError(ErrorCode.InvalidRequest, what, { id: message.id });
    void carrier.write(
      failureText(this.#rules.unreadableId === "null" ? null : undefined, error.toObject()),
      "response",
      error.code,
    );
  }
}

function opening(codec: Codec): Caller {
  return { codec, capabilities: {}, client: undefined, logLevel: NO_LOGS };
}
