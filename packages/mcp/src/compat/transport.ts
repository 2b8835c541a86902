// Transports as SDK v1 and v2 know them, ours among them, and the way from theirs to our core.
import type { Carrier, Identity, MessageSink, Outgoing, OutgoingKind, Transport } from "../jsonrpc/transport.js";
import { isJsonObject, isRequestId, type RequestId } from "../jsonrpc/message.js";
import type { Server as CoreServer } from "../server/server.js";
import { serve } from "../serve/serve.js";
import type { Serving } from "../server/conversation.js";

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
