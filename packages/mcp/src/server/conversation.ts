// One conversation of the server role, from its transport's start to its end: a connection's messages, judged one by
// one and served.

import {
  type Answer,
  Call,
  type CallOf,
  type Caller,
  type Cancellation,
  CLOSING,
  type Dispatcher,
  type Done,
  handling,
  NO_LOGS,
} from "../endpoint/call.js";
import type { Codec } from "../era/codec.js";
import { type Handshake, type Selection, type SessionState, openSession, select } from "../era/select.js";
import { claimsStateless } from "../era/stateless/codec.js";
import type { Carrier, Transport } from "../jsonrpc/transport.js";
import { ErrorCode, RpcError, type SERVE } from "../jsonrpc/errors.js";
import {
  failureText,
  type JsonObject,
  type NotificationMessage,
  notificationText,
  peerWords,
  type RequestId,
  type RequestMessage,
} from "../jsonrpc/message.js";
import { Connection, type ConnectionHandler, type WireRules } from "../jsonrpc/connection.js";
import type { Waiting } from "../jsonrpc/outgoing.js";
import { INITIALIZE, levelIndex, PING, SET_LEVEL, type SetLevelRequestParams } from "../protocol/features/lifecycle.js";
import { LISTEN, type ReadResourceRequestParams, SUBSCRIBE, UNSUBSCRIBE } from "../protocol/features/resources.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { capabilitiesAlone, capabilitiesToward, type ServerCore } from "./core.js";
import { LiveSessions, LogGate, Session } from "./session.js";
import { listen, subscribersOf } from "./subscription.js";
import type { LogMessage } from "../endpoint/progress.js";

const ENDS = "The server is shutting down and has not served this: send it again in a moment";
/** Before anything is known of the peer: batches may come, and an unreadable id is answered as null. */
const UNKNOWN_PEER: WireRules = { batches: true, unreadableId: "null" };

/** What a session is made of again. */
interface RestoredSession {
  readonly params: Readonly<Record<string, unknown>>;
  readonly level?: number;
  readonly uris?: readonly string[];
}

type StatelessSelection = Extract<Selection, { readonly kind: "stateless" }>;

/** A conversation with one client over one connection. */
export class ServerConversation implements ConnectionHandler {
  readonly connection: Connection<Call>;
  readonly #core: ServerCore;
  readonly #dispatcher: Dispatcher;
  readonly #logs = new LogGate();
  #session: Session | undefined;
  #rules: WireRules = UNKNOWN_PEER;
  readonly #standing: Carrier | undefined;
  readonly #release: Done;
  readonly #onClosed: (() => void) | undefined;
  #closing = false;

  /**
   * `standing` takes what belongs to no request, of the one session there will be. Without it the connection is a pipe:
   * that goes where `initialize` came from, and a bridge may give the pipe to one client after another. `onClosed` is told
   * once that the other side will send no more.
   */
  constructor(core: ServerCore, standing?: Carrier, onClosed?: () => void) {
    this.#standing = standing;
    this.#onClosed = onClosed;
    this.#core = core;
    this.#dispatcher = core.dispatcher;
    serveHandshake(core);
    this.connection = new Connection(this, core.limits);
    this.#release = this.connection.incoming.release;
  }

  /** What was negotiated; undefined until `initialize` was accepted. */
  get revision(): Revision | undefined {
    return this.#session?.codec.revision;
  }

  /** Requests of this conversation being served now. */
  get active(): number {
    return this.connection.incoming.size;
  }

  /** The revision lets streams be closed before the answer. */
  get polling(): boolean {
    return this.revision?.rules.polling === true;
  }

  get #sessionState(): SessionState {
    if (this.#session === undefined) return "none";
    return this.#standing === undefined ? "replaceable" : "fixed";
  }

  rules(): WireRules {
    return this.#rules;
  }

  request(message: RequestMessage, carrier: Carrier): void {
    if (this.#closing) return this.#refuse(message, carrier, new RpcError(ErrorCode.InternalError, ENDS));
    if (this.connection.incoming.find(message.id) !== undefined) return this.#refuseDuplicate(message, carrier);
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
        return void this.connection.progress(params["progressToken"], params);
      case "notifications/roots/list_changed":
        this.forgetRoots();
        return this.#core.notified(message, carrier);
      case "notifications/initialized":
        if (this.#session !== undefined) this.#core.sessions?.ready(this.#session);
        return this.#core.notified(message, carrier);
      default:
        this.#core.notified(message, carrier);
    }
  }

  batch(messages: readonly (RequestMessage | NotificationMessage)[]): string | undefined {
    return messages.some(claimsStateless)
      ? "Batches do not exist in this protocol version: send one message a line"
      : undefined;
  }

  batchElement({ method }: RequestMessage | NotificationMessage): RpcError | undefined {
    if (method !== "initialize") return undefined;
    return new RpcError(ErrorCode.InvalidRequest, "initialize must not be part of a batch");
  }

  ignored(reason: string): void {
    this.#core.report("debug", reason);
  }

  /** The client is told that a question of a call is no longer asked; of a ping it need not know. */
  abandoned(requestId: RequestId, { carrier, method }: Waiting, reason: string): void {
    if (method === "ping") return;
    void carrier?.write(notificationText("notifications/cancelled", { requestId, reason }), "notification");
  }

  closed(): void {
    this.#onClosed?.();
  }

  /** The client has other roots now. */
  forgetRoots(): void {
    if (this.#session === undefined) return;
    this.#session.roots = undefined;
    for (const told of this.#session.rootsHandlers ?? []) told();
  }

  /** Asks the client of a session whether it is there; false when no answer came in time. Never rejects. */
  async ping(timeoutMs: number): Promise<boolean> {
    const carrier = this.#standing;
    if (carrier === undefined) return false;
    try {
      await this.connection.ask(this.connection.newId(), undefined, { method: "ping", timeoutMs, carrier });
      return true;
    } catch (error) {
      // Whoever answers with an error is there.
      return error instanceof RpcError;
    }
  }

  /** Stops serving: what runs may finish within `graceMs`, the rest ends as `end` says. Resolves when nothing runs any more. */
  async close(graceMs: number, end: Cancellation = CLOSING): Promise<void> {
    this.#closing = true;
    this.#core.subscribers?.endAll(this.connection);
    const { incoming } = this.connection;
    await this.connection.drain(graceMs);
    for (const call of incoming.all()) this.#dispatcher.cancel(call, end);
    this.connection.end();
    if (this.#core.conversations.delete(this) && this.#session !== undefined) this.#end(this.#session);
  }

  /**
   * Goes on with a session that another process began: as if `initialize` had just been answered. Without a session, as before it,
   * where this version reads its `initialize` otherwise.
   */
  restore({ params, level, uris = [] }: RestoredSession): void {
    const opened = openSession({ ...params });
    if (opened instanceof RpcError) return;
    const session = this.#made(opened);
    session.logLevel = level ?? (this.#core.advertises("logging") ? session.logLevel : NO_LOGS);
    session.subscription = subscribersOf(this.#core).addSession(session, this.connection, this.#standing as Carrier);
    for (const uri of uris) void subscribersOf(this.#core).subscribe(session.subscription, uri);
    this.#take(session);
    this.#core.sessions?.ready(session);
  }

  /**
   * Serves requests of a session that another process has, and which hears what belongs to no request. `prefix` begins the ids of
   * questions. False where this version reads its `initialize` otherwise.
   */
  lodge({ params, level }: RestoredSession, prefix: string): boolean {
    const opened = openSession({ ...params });
    if (opened instanceof RpcError) return false;
    this.connection.idPrefix = prefix;
    this.#take(this.#made(opened));
    this.relevel(level);
    return true;
  }

  /** The log level that a session has set by now, at the process that has it. */
  relevel(level: number | undefined): void {
    const session = this.#session;
    if (session !== undefined)
      session.logLevel = level ?? (this.#core.advertises("logging") ? session.logLevel : NO_LOGS);
  }

  /** What the session set since it began; `changed` is told when that is another. */
  facts(changed?: () => void): { readonly level?: number; readonly uris?: readonly string[] } {
    const session = this.#session;
    if (session === undefined) return {};
    if (changed !== undefined) session.changed = changed;
    const uris = [...(session.subscription?.uris ?? [])];
    return { level: session.logLevel, ...(uris.length === 0 ? {} : { uris }) };
  }

  /** Sends an unsolicited log message to the session, if there is one and its level admits it. */
  log(level: number, message: LogMessage): void {
    const session = this.#session;
    if (session === undefined || level < session.logLevel) return;
    if (session.subscription !== undefined) this.#logs.send(session.subscription, message);
  }

  #made(handshake: Handshake, previous?: Session): Session {
    const measured = this.#core.hooks.onSessionEnd !== undefined;
    return new Session(handshake, { measured, ...(previous === undefined ? {} : { previous }) });
  }

  #open(message: RequestMessage, codec: Codec, carrier: Carrier): void {
    if (message.method !== "initialize") return this.#serve(message, opening(codec), carrier);
    const opened = openSession(message.params ?? {});
    if (opened instanceof RpcError) return this.#refuse(message, carrier, opened);
    const session = this.#made(opened, this.#session);
    if (!this.#core.advertises("logging")) session.logLevel = NO_LOGS;
    session.subscription = subscribersOf(this.#core).addSession(session, this.connection, this.#standing ?? carrier);
    this.#take(session);
    this.#serve(message, session, carrier, (call, succeeded) => {
      this.#release(call, succeeded);
      if (succeeded !== undefined) this.#opened(session, succeeded);
    });
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
    if (session.subscription !== undefined) subscribersOf(this.#core).remove(session.subscription);
  }

  /** Ends a session, and those it was to take the place of. */
  #end(session: Session): void {
    const { previous, subscription } = session;
    session.previous = undefined;
    if (previous !== undefined) this.#end(previous);
    if (subscription !== undefined) subscribersOf(this.#core).remove(subscription);
    this.#core.sessions?.ended(session);
  }

  #serveStateless(message: RequestMessage, selected: StatelessSelection, carrier: Carrier): void {
    const { codec, envelope } = selected;
    if (this.#session === undefined) this.#rules = codec.revision.rules;
    const { capabilities, client, logLevel } = envelope;
    const wantsLogs = logLevel !== undefined && this.#core.advertises("logging");
    const caller = { codec, capabilities, client, logLevel: wantsLogs ? levelIndex(logLevel) : NO_LOGS };
    this.#serve(message, caller, carrier);
  }

  #serve(message: RequestMessage, caller: Caller, carrier: Carrier, done: Done = this.#release): void {
    const call = new Call(message, caller, carrier, this.connection);
    if (this.connection.incoming.add(call)) return this.#dispatcher.serve(call, done);
    done(call, false);
    const limit = this.#core.limits.inFlight;
    const what = `Too many requests in flight (limit ${limit}): wait for an answer and try again`;
    this.#refuse(message, carrier, new RpcError(ErrorCode.InternalError, what, { limit }));
  }

  #cancel(id: unknown, reason: unknown, answered: boolean): void {
    const why = typeof reason === "string" ? reason : "Cancelled by the client";
    const call = this.connection.incoming.find(id as RequestId);
    if (call === undefined || call.method === "initialize") return;
    this.#dispatcher.cancel(call, { reason: why, answered, own: true });
    this.#core.report("info", `Request ${peerWords(JSON.stringify(id))} was cancelled: ${peerWords(why)}`);
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

// What only the handshake era has: served from the first of its clients on.

/** An empty answer: the codecs write it as each revision wants it. */
const DONE: JsonObject = Object.freeze({});

/** Has a server serve what clients of the handshake era ask for. Safe to call again. */
export function serveHandshake(core: ServerCore): void {
  if (core.sessions !== undefined) return;
  core.sessions = new LiveSessions(core, core.hooks);
  core.serveMethods([
    handling(INITIALIZE, (call) => initialize(core, call)),
    handling(PING, () => DONE),
    handling(SUBSCRIBE, (call) => subscribe(core, call)),
    handling(UNSUBSCRIBE, (call) => unsubscribe(core, call)),
    handling(SET_LEVEL, setLevel),
    // Not of that era, and at hand with its code.
    handling(LISTEN, (call) => listen(core, call)),
  ]);
}

function initialize(core: ServerCore, call: Call): Answer {
  const { instructions, identity } = core;
  const all = core.capabilities();
  const lasting = call.caller instanceof Session ? all : capabilitiesAlone(all);
  return {
    protocolVersion: call.caller.codec.revision.date,
    capabilities: capabilitiesToward(call.carrier.principal, lasting),
    serverInfo: identity,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

function subscribe(core: ServerCore, call: CallOf<ReadResourceRequestParams>): Answer | Promise<Answer> {
  const { subscription } = lastingOf(call);
  const { uri } = call.params;
  core.offers?.reader.require(uri, call);
  if (subscription === undefined) return DONE;
  const limit = core.limits.subscribedUris;
  if (subscription.uris.size >= limit && !subscription.uris.has(uri)) {
    throw new RpcError(ErrorCode.InternalError, `This session is subscribed to ${limit} resources already`, { limit });
  }
  const watched = subscribersOf(core).subscribe(subscription, uri);
  lastingOf(call).changed?.();
  return watched === undefined ? DONE : watched.then(() => DONE);
}

function unsubscribe(core: ServerCore, call: CallOf<ReadResourceRequestParams>): Answer {
  const { subscription } = lastingOf(call);
  if (subscription !== undefined) core.subscribers?.unsubscribe(subscription, call.params.uri);
  lastingOf(call).changed?.();
  return DONE;
}

function setLevel(call: CallOf<SetLevelRequestParams>): Answer {
  const session = lastingOf(call);
  session.logLevel = levelIndex(call.params.level);
  session.changed?.();
  return DONE;
}

/** What lasts beyond its request needs a session: where messages are served one by one, it does not exist. */
function lastingOf({ caller, method }: Call): Session {
  if (caller instanceof Session) return caller;
  throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${peerWords(method)}`);
}

/** A server being served. */
export interface Serving {
  /** Stops: no new requests, what runs may finish within the grace time, then the transport closes. Safe to call again. */
  close(): Promise<void>;
  /** Resolves once everything has ended, whoever ended it. */
  readonly closed: Promise<void>;
}

/** How serving over a transport ends. */
export interface ServeOptions {
  /** Milliseconds running requests get to finish once the other side is gone or `close` is called. Default 50. */
  readonly graceMs?: number;
}

/** What a server of any copy of the package has. */
export interface Served {
  [SERVE](transport: Transport, options?: ServeOptions): Serving;
}

/** Long enough for answers that are nearly there, short enough that a client never waits for its server to exit. */
const GRACE_MS = 50;

export function serveCore(core: ServerCore, transport: Transport, options: ServeOptions): Serving {
  let over = (): void => undefined;
  const closed = new Promise<void>((resolve) => (over = resolve));
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= conversation.close(options.graceMs ?? GRACE_MS).then(() => transport.close().then(over));
    return closing;
  };
  const conversation = new ServerConversation(core, undefined, () => void close());
  core.conversations.add(conversation);
  conversation.connection.open(transport).catch((error: unknown) => {
    core.report("error", "The transport could not be started", { error });
    void close();
  });
  return { close, closed };
}
