// Serves a server as a fetch handler, for Hono, Workers, Deno, Bun and plain Node alike.
import { checkOptions } from "../../protocol/capabilities.js";
import type { Identity, MessagePieces } from "../../jsonrpc/transport.js";
import type { LeanServer } from "../../server/lean-server.js";
import type { BodyReceiver, GoneListener, HeaderList, HttpExchange, HttpStream } from "./exchange.js";
import type { EndpointParts } from "./handshake-requests.js";
import { HTTP_MEMBERS, httpEndpoint, type HttpOptions } from "./http-endpoint.js";
import { checkDoor } from "./http-limits.js";
import { TEXTLESS } from "./reply.js";

/** What a runtime of workers hands over beside a request. */
export interface FetchContext {
  /** Keeps the worker at work until the promise has settled, though the reply is sent. */
  waitUntil?(work: Promise<unknown>): void;
}

/** Answers a request; hand it to the runtime. */
export interface FetchHandler {
  /** `context` is the third argument of a worker's `fetch`: by its `waitUntil` tasks go on after the reply that began them. */
  (request: Request, environment?: unknown, context?: FetchContext): Promise<Response>;
  /**
   * Refuses new requests, lets what runs finish within the limit `drainMs`, tasks and questions to people too, then ends what is left.
   * Safe to call again.
   */
  close(): Promise<void>;
}

/** Workers and functions start often, and many of them never meet a client of the handshake era. */
export const LOADED_PARTS: EndpointParts = {
  guard: () => import("./guard.js"),
  handshake: async (options) => (await atHand()).handshake(options),
  sse: async (options) => (await atHand()).sse(options),
  ending: () => import("./ending.js"),
};

async function atHand(): Promise<EndpointParts> {
  return (await import("./handshake-requests.js")).PARTS_AT_HAND;
}

/**
 * Makes a fetch handler. A request with an Origin is refused unless `allowedOrigins` names it; name the hosts in
 * `allowedHosts` too where browsers on the same machine can reach it. `sessions: false` suits runtimes that share no memory.
 * Throws BAD_OPTIONS for a member that does not exist.
 */
export function toFetch(server: LeanServer, options: HttpOptions = {}): FetchHandler {
  checkOptions("toFetch(server, options)", options, HTTP_MEMBERS);
  checkDoor(options);
  const sessions = options.sessions ?? !isSharedWorker();
  const endpoint = httpEndpoint(
    server,
    { ...options, sessions },
    { hosts: undefined, origins: [], parts: LOADED_PARTS },
  );
  let closing: Promise<void> | undefined;
  const handler = (request: Request, _environment?: unknown, context?: FetchContext): Promise<Response> => {
    const exchange = new FetchExchange(request, context);
    // What ran before may have taken its time, and its client have left.
    if (!exchange.over) endpoint.site.handle(exchange);
    return exchange.response;
  };
  return Object.assign(handler, { close: () => (closing ??= endpoint.close()) });
}

/**
 * Whether this runs in the global scope of a Cloudflare Worker: no request there may use what another has begun, so that sessions
 * would hang. In a Durable Object, which makes its server in its constructor, they work. There alone are random numbers to be had.
 */
function isSharedWorker(): boolean {
  if ((globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent !== "Cloudflare-Workers")
    return false;
  try {
    crypto.getRandomValues(new Uint8Array(1));
    return false;
  } catch {
    return true;
  }
}

// One `Request` as the endpoint's exchange.

/** Unread bytes from which a stream's writers wait: what Node's own sockets use. */
const HIGH_WATER_BYTES = 16 * 1024;

const ENCODER = new TextEncoder();

/** One request and its reply. */
export class FetchExchange implements HttpExchange, HttpStream {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  principal: string | undefined;
  identity: Identity | undefined;
  pass: HttpExchange["pass"];
  extra: HeaderList | undefined;
  onDrain: (() => void) | undefined;
  onGone: GoneListener | undefined;
  onOver: GoneListener | undefined;
  /** Told once that nothing more will be sent. */
  whenOver: (() => void) | undefined;
  /** Resolves with the reply. */
  readonly response: Promise<Response>;
  readonly #request: Request;
  readonly #context: FetchContext | undefined;
  readonly #host: string;
  #answer: (response: Response) => void = () => undefined;
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #over = false;

  /** `path`: where it was routed to already. Default: that of its URL. */
  constructor(request: Request, context: FetchContext | undefined, path?: string) {
    this.#request = request;
    this.#context = context;
    const { pathname, search, host } = new URL(request.url);
    this.method = request.method;
    this.path = path ?? pathname;
    this.query = search.slice(1);
    this.#host = host;
    this.response = new Promise((resolve) => {
      this.#answer = resolve;
    });
    if (request.signal.aborted) this.#leave();
    else request.signal.addEventListener("abort", () => this.#leave());
  }

  get address(): undefined {
    return undefined;
  }

  get connection(): undefined {
    return undefined;
  }

  get over(): boolean {
    return this.#over;
  }

  get buffered(): number {
    return HIGH_WATER_BYTES - (this.#stream?.desiredSize ?? HIGH_WATER_BYTES);
  }

  /** Some runtimes leave Host out of the headers: then it stands in the URL. */
  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? (name === "host" ? this.#host : undefined);
  }

  readBody(limit: number, receiver: BodyReceiver): void {
    const { bodyUsed, body } = this.#request;
    if (bodyUsed || body?.locked === true) return receiver.bodyFault(this, "read-before");
    void this.#collect(limit, receiver).catch(() => this.#leave());
  }

  reply(status: number, headers: HeaderList, body: string | MessagePieces = ""): void {
    if (this.#over) return;
    const empty = (TEXTLESS.has(status) || status === 202) && body === "";
    const content = typeof body === "string" ? body : new Blob([...body] as BlobPart[]);
    const response = this.#made(
      () => new Response(empty ? null : content, { status, headers: this.#headers(headers) }),
    );
    this.#end();
    this.#answer(response);
  }

  /** The reply. What cannot be one throws, for the log; whoever waits is told that there is none. */
  #made(make: () => Response): Response {
    try {
      return make();
    } catch (error) {
      this.#end();
      this.#answer(new Response("The reply cannot be sent: see the server's log", { status: 500 }));
      throw error;
    }
  }

  outlive(work: Promise<unknown>): void {
    this.#context?.waitUntil?.(work);
  }

  open(status: number, headers: HeaderList): HttpStream {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#stream = controller;
        },
        pull: () => this.onDrain?.(),
        cancel: () => this.#leave(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: HIGH_WATER_BYTES }),
    );
    this.#answer(this.#made(() => new Response(body, { status, headers: this.#headers(headers) })));
    return this;
  }

  write(text: string): boolean {
    if (this.#over || this.#stream === undefined) return true;
    this.#stream.enqueue(ENCODER.encode(text));
    return (this.#stream.desiredSize ?? 1) > 0;
  }

  end(): void {
    if (this.#over) return;
    this.#end();
    this.#stream?.close();
    // Nobody tells when the rest has been read; what is queued is bounded, and the runtime's to deliver.
    this.onDrain?.();
  }

  destroy(): void {
    if (this.#over) return;
    this.#end();
    this.#stream?.error(new Error("The stream was cut: its reader took nothing"));
    this.onGone?.gone();
  }

  #leave(): void {
    if (this.#over) return;
    this.#end();
    // Not by an error: nobody reads any more, and Deno and the adapter of Hono print one for each client that leaves.
    if (this.#request.signal.aborted) this.#stream?.close();
    this.onGone?.gone();
    // Whoever still waits for a reply to a request that nobody waits for any more.
    this.#answer(new Response(null, { status: 499 }));
  }

  #end(): void {
    this.#over = true;
    this.onOver?.gone();
    this.whenOver?.();
  }

  #headers(own: HeaderList): Headers {
    const headers = new Headers();
    for (const list of [own, this.extra ?? []]) {
      for (let i = 0; i < list.length; i += 2) {
        if (list[i] !== "connection") headers.append(list[i] as string, list[i + 1] as string);
      }
    }
    return headers;
  }

  async #collect(limit: number, receiver: BodyReceiver): Promise<void> {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let text = "";
    let bytes = 0;
    const reader = this.#request.body?.getReader();
    try {
      for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
        bytes += part.value.byteLength;
        if (bytes > limit) {
          void reader?.cancel();
          return receiver.bodyFault(this, "too-long");
        }
        text += decoder.decode(part.value, { stream: true });
      }
      text += decoder.decode();
    } catch (error) {
      if (error instanceof TypeError && !this.#request.signal.aborted) return receiver.bodyFault(this, "not-utf8");
      throw error;
    }
    if (!this.#over) receiver.body(this, text);
  }
}
