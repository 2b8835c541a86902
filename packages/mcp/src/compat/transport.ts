// Transports as SDK v1 and v2 know them, ours among them, and the way from theirs to our core.
import type { Call } from "../endpoint/call.js";
import { LocalError } from "../jsonrpc/errors.js";
import { isJsonObject, isRequestId, type JsonObject, notificationText, type RequestId } from "../jsonrpc/message.js";
import type { Carrier, Identity, MessageSink, Outgoing, OutgoingKind, Transport } from "../jsonrpc/transport.js";
import { serve } from "../serve/serve.js";
import { requireCapability } from "../server/ask.js";
import { Context } from "../server/context.js";
import type { Serving } from "../server/conversation.js";
import { projectQuestion } from "../era/project-question.js";
import { isOwnMethod } from "../endpoint/progress.js";
import type { Server as CoreServer } from "../server/server.js";
import { Session } from "../server/session.js";

/** What came beside a message. */
export interface MessageExtra {
  readonly authInfo?: { readonly clientId: string; readonly scopes: readonly string[]; readonly extra?: object };
  readonly requestInfo?: { readonly headers: unknown };
}

/** What the SDKs tell a transport of a message to be sent. */
export interface SendOptions {
  readonly relatedRequestId?: RequestId;
  readonly authInfo?: MessageExtra["authInfo"];
}

/** A transport written for SDK v1 or v2. */
export interface SdkTransport {
  start(): Promise<void>;
  send(message: never, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: never, extra?: MessageExtra) => void) | undefined;
  sessionId?: string | undefined;
}

/** A stand-in for one of the SDKs' transports. */
export interface OwnTransport {
  readonly sessionId?: string | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  /** Serves our core directly: no message passes through the shape the SDKs give them. */
  serveCore(server: CoreServer): Promise<Serving>;
}

/** A stand-in of this package, or a transport written for one of the SDKs. */
export type AnyTransport = OwnTransport | SdkTransport;

/** Serves `server` over either kind. */
export async function serveOver(server: CoreServer, transport: AnyTransport): Promise<Serving> {
  if ("serveCore" in transport) return transport.serveCore(server);
  const adapter = new TransportAdapter(transport);
  const serving = serve(server, adapter);
  await transport.start();
  return serving;
}

/** An SDK's transport as ours. Its messages are objects; ours are text, which our core checks. */
class TransportAdapter implements Transport {
  readonly kind = "sdk";
  readonly #transport: SdkTransport;
  closed = false;

  constructor(transport: SdkTransport) {
    this.#transport = transport;
  }

  start(sink: MessageSink): void {
    const transport = this.#transport;
    const { onclose } = transport;
    // oxlint-disable-next-line prefer-add-event-listener -- the SDKs' transports have members, no events
    transport.onmessage = (message: unknown, extra?: MessageExtra) => {
      void sink.receive(JSON.stringify(message), { reply: new MessageCarrier(this, message, extra) });
    };
    // oxlint-disable-next-line prefer-add-event-listener -- as above
    transport.onclose = () => {
      onclose?.();
      if (this.closed) return;
      this.closed = true;
      sink.closed();
    };
  }

  async close(): Promise<void> {
    await this.#transport.close();
    this.closed = true;
  }

  send({ text }: Outgoing): Promise<void> {
    return this.write(text, undefined);
  }

  /** A transport that cannot send says so itself; a message that is lost that way has no other place to go. */
  write(text: string, relatedRequestId: RequestId | undefined): Promise<void> {
    const message = JSON.parse(text) as never;
    const sent =
      relatedRequestId === undefined
        ? this.#transport.send(message)
        : this.#transport.send(message, { relatedRequestId });
    return sent.catch((error: unknown) =>
      this.#transport.onerror?.(error instanceof Error ? error : new Error(String(error))),
    );
  }
}

/** Answers go with the id of what they answer, so that a transport of several streams finds its own. */
class MessageCarrier implements Carrier {
  readonly kind: string;
  readonly identity: Identity | undefined;
  readonly principal: string | undefined;
  readonly #adapter: TransportAdapter;
  readonly #id: RequestId | undefined;
  readonly #headers: unknown;

  constructor(adapter: TransportAdapter, message: unknown, extra: MessageExtra | undefined) {
    this.#adapter = adapter;
    this.#id = isJsonObject(message) && isRequestId(message["id"]) ? message["id"] : undefined;
    this.#headers = extra?.requestInfo?.headers;
    this.kind = extra?.requestInfo === undefined ? "sdk" : "http";
    const { authInfo } = extra ?? {};
    this.identity =
      authInfo === undefined
        ? undefined
        : {
            principal: authInfo.clientId,
            clientId: authInfo.clientId,
            scopes: authInfo.scopes,
            claims: { ...authInfo.extra },
          };
    this.principal = this.identity?.principal;
  }

  get closed(): boolean {
    return this.#adapter.closed;
  }

  header(name: string): string | undefined {
    const headers = this.#headers;
    if (headers instanceof Headers) return headers.get(name) ?? undefined;
    const value = isJsonObject(headers) ? headers[name] : undefined;
    return Array.isArray(value) ? value.join(", ") : typeof value === "string" ? value : undefined;
  }

  write(text: string, _kind: OutgoingKind): Promise<void> | undefined {
    return this.closed ? undefined : this.#adapter.write(text, this.#id);
  }
}

/** Two ends in one program, for tests: what one sends the other gets. */
export class InMemoryTransport implements SdkTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: never, extra?: MessageExtra) => void) | undefined;
  sessionId?: string | undefined;
  #other: InMemoryTransport | undefined;
  #waiting: { readonly message: never; readonly extra: MessageExtra | undefined }[] = [];

  static createLinkedPair(): [InMemoryTransport, InMemoryTransport] {
    const pair: [InMemoryTransport, InMemoryTransport] = [new InMemoryTransport(), new InMemoryTransport()];
    pair[0].#other = pair[1];
    pair[1].#other = pair[0];
    return pair;
  }

  start(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { message, extra } of waiting) this.onmessage?.(message, extra);
    return Promise.resolve();
  }

  send(message: never, options?: SendOptions): Promise<void> {
    const other = this.#other;
    if (other === undefined) return Promise.reject(new Error("Not connected"));
    const extra = options?.authInfo === undefined ? undefined : { authInfo: options.authInfo };
    if (other.onmessage === undefined) other.#waiting.push({ message, extra });
    else other.onmessage(message, extra);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const other = this.#other;
    this.#other = undefined;
    await other?.close();
    this.onclose?.();
  }
}

// What a server written for another SDK says to its client between requests: over the session that is open.

/** Options of a question, as the SDKs name them. */
export interface RequestOptions {
  /** Milliseconds. Default: the limit `askTimeoutMs` of our server, five minutes. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
  readonly [other: string]: unknown;
}

/** Questions our core knows how to ask in every revision. */
const QUESTIONS: ReadonlySet<string> = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

/** Asks within a request: the way its revision has it. */
export function askWithin(
  context: Context,
  method: string,
  params: object,
  options: RequestOptions = {},
): Promise<JsonObject> {
  const { timeout, signal, onprogress } = options;
  const asking = {
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(signal === undefined ? {} : { signal }),
    ...(onprogress === undefined ? {} : { onProgress: onprogress }),
  };
  if (QUESTIONS.has(method)) return Context.ask(context, method, params, asking);
  const call = Context.callOf(context);
  return send(call, call.carrier, { method, params }, { ...options, timeout: timeout ?? DEFAULT_TIMEOUT_MS });
}

/** What the SDKs wait for an answer. */
const DEFAULT_TIMEOUT_MS = 60_000;

/** Sends a notification that belongs to a request. */
export async function notifyWithin(context: Context, method: string, params: object = {}): Promise<void> {
  const call = Context.callOf(context);
  if (call.ended || call.cancellation !== undefined) return;
  const { codec } = call.caller;
  const projected = isOwnMethod(method) ? params : codec.notification(method, params);
  if (projected !== undefined) await call.carrier.write(notificationText(method, projected), "notification");
}

/** The sessions of the handshake era that are open; a stateless client has none. */
export class OpenSessions {
  readonly #opened = new Set<Call>();
  #latest: Call | undefined;

  /** Remembers who sent a request. */
  seen(call: Call): void {
    this.#latest = call;
    if (call.method === "initialize") this.#opened.add(call);
  }

  /** Who sent the latest `initialize`, or the latest request where there was none. */
  get latest(): Call | undefined {
    return this.#live().at(-1) ?? this.#latest;
  }

  clear(): void {
    this.#opened.clear();
    this.#latest = undefined;
  }

  /** Asks outside of any request. Rejects with CANNOT_ASK where no session is open. */
  ask(method: string, params: object, options: RequestOptions = {}): Promise<JsonObject> {
    const call = this.#live().at(-1);
    if (call === undefined) {
      const what = `${method}: a client can be asked between requests only in a session, and none is open`;
      return Promise.reject(new LocalError("CANNOT_ASK", what));
    }
    if (QUESTIONS.has(method)) {
      requireCapability(call, method, params);
      return send(
        call,
        standing(call),
        { method, params: projectQuestion(call.caller.codec, method, params) },
        options,
      );
    }
    return send(call, standing(call), { method, params }, options);
  }

  /** Tells every session, or that of one call. */
  notify(method: string, params: object = {}, only?: Call): void {
    for (const call of only === undefined ? this.#live() : [only]) {
      const carrier = standing(call);
      const projected = isOwnMethod(method) ? params : call.caller.codec.notification(method, params);
      if (projected !== undefined) void carrier.write(notificationText(method, projected), "notification");
    }
  }

  #live(): Call[] {
    for (const call of this.#opened) if (standing(call).closed) this.#opened.delete(call);
    return [...this.#opened];
  }
}

/** Where what belongs to no request goes. */
function standing({ caller, carrier }: Call): Carrier {
  return (caller instanceof Session ? caller.subscription?.carrier : undefined) ?? carrier;
}

function send(
  { connection }: Call,
  carrier: Carrier,
  { method, params }: { readonly method: string; readonly params: object },
  { timeout: timeoutMs = DEFAULT_TIMEOUT_MS, signal }: RequestOptions,
): Promise<JsonObject> {
  return connection.ask(connection.newId(), params, { method, timeoutMs, signal, carrier });
}
