// The SDKs' Streamable HTTP transport on our endpoint: one transport, one session, requests handed over by a framework.
import { Readable, type Writable } from "node:stream";
import { type NodeRequest, type NodeResponse, NodeExchange } from "../node/node-exchange.js";
import type { Server as CoreServer } from "../server/server.js";
import { type HttpEndpoint, httpEndpoint } from "../http/server/http-endpoint.js";
import type { Serving } from "../server/conversation.js";
import { PARTS_AT_HAND } from "../http/server/handshake-requests.js";
import type { AuthInfo } from "./extra.js";
import { identityOf, type McpHttpHandler } from "./mcp-handler.js";
import type { OwnTransport } from "./transport.js";

/** Options of the SDKs' transport that say something to our endpoint; others are taken and left. */
export interface StreamableHttpOptions {
  /** Undefined: every message by itself, without a session. The ids are our own in any case. */
  readonly sessionIdGenerator?: (() => string) | undefined;
  readonly enableJsonResponse?: boolean;
  readonly onsessioninitialized?: (sessionId: string) => void | Promise<void>;
  readonly onsessionclosed?: (sessionId: string) => void | Promise<void>;
  readonly allowedHosts?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly [other: string]: unknown;
}

/** A request of Node that the SDK's own middleware has let in, with what the middleware before found out of its token. */
export type AuthorizedRequest = NodeRequest & { readonly auth?: AuthInfo };

/** The one path of an endpoint that a framework has routed to already. */
const PATH = "/mcp";

/** Stands for `StreamableHTTPServerTransport` (v1) and `NodeStreamableHTTPServerTransport` (v2). */
export class StreamableHTTPServerTransport implements OwnTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  /** Known once a session is open. */
  sessionId: string | undefined;
  readonly #options: StreamableHttpOptions;
  #endpoint: HttpEndpoint | undefined;
  #ended: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: StreamableHttpOptions = {}) {
    this.#options = options;
  }

  serveCore(server: CoreServer): Promise<Serving> {
    const { sessionIdGenerator, enableJsonResponse, allowedHosts, allowedOrigins } = this.#options;
    const options = {
      path: PATH,
      answers: enableJsonResponse === true ? ("json" as const) : ("auto" as const),
      ...(sessionIdGenerator === undefined ? { sessions: false } : {}),
      ...(allowedHosts === undefined || allowedHosts.length === 0 ? {} : { allowedHosts }),
      ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
    };
    this.#endpoint = httpEndpoint(server, options, { hosts: undefined, origins: [], parts: PARTS_AT_HAND });
    const closed = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    return Promise.resolve({ close: () => this.close(), closed });
  }

  /** Serves a request; `body` is what a parser before made of it. Resolves once the reply is complete. */
  async handleRequest(request: AuthorizedRequest, response: NodeResponse, body?: unknown): Promise<void> {
    const endpoint = this.#endpoint;
    if (endpoint === undefined) throw new Error("Connect a server to this transport before its first request");
    const read = request.readableDidRead || request.readableEnded ? request.body : undefined;
    const exchange = new NodeExchange(request, response, { path: PATH, query: "", parsed: body ?? read });
    exchange.identity = request.auth === undefined ? undefined : identityOf(request.auth);
    exchange.principal = exchange.identity?.principal;
    exchange.onHead = (headers) => this.#learn(headers);
    endpoint.site.handle(exchange);
    await exchange.ended;
    if (request.method === "DELETE" && response.statusCode < 300) await this.#sessionClosed();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#endpoint?.close();
    this.#ended?.();
  }

  #learn(headers: readonly string[]): void {
    const at = headers.indexOf("mcp-session-id");
    const id = at < 0 ? undefined : headers[at + 1];
    if (id === undefined || this.sessionId !== undefined) return;
    this.sessionId = id;
    void this.#options.onsessioninitialized?.(id);
  }

  async #sessionClosed(): Promise<void> {
    if (this.sessionId !== undefined) await this.#options.onsessionclosed?.(this.sessionId);
    await this.close();
  }
}

/** Serves what `createMcpHandler` gives to a Node framework: `(request, response, parsedBody?)`, with `request.auth` as who is asking. */
export function toNodeHandler(
  handler: Pick<McpHttpHandler, "fetch">,
): (request: AuthorizedRequest, response: NodeResponse, parsedBody?: unknown) => Promise<void> {
  return async (request, response, parsedBody) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const read = request.readableDidRead || request.readableEnded ? request.body : undefined;
    // Frameworks hand over what goes on with a request as the third argument.
    const parsed = typeof parsedBody === "function" ? undefined : parsedBody;
    const about = { authInfo: request.auth, parsedBody: parsed ?? read };
    const reply = await handler.fetch(webRequest(request, gone.signal, about.parsedBody !== undefined), about);
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    if ("flushHeaders" in response) response.flushHeaders();
    const reader = reply.body?.getReader();
    gone.signal.addEventListener("abort", () => void reader?.cancel().catch(() => undefined));
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
      if (!(response as Writable).write(part.value))
        await new Promise((go) => response.once("drain", go).once("close", go));
    }
    response.end();
  };
}

function webRequest(request: NodeRequest, signal: AbortSignal, isRead: boolean): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !name.startsWith(":")) headers.set(name, String(value));
  }
  const url = new URL(request.url ?? "/", `http://${headers.get("host") ?? "localhost"}`);
  const { method = "GET" } = request;
  const body = isRead || method !== "POST" ? undefined : (Readable.toWeb(request) as ReadableStream<Uint8Array>);
  const init = { method, headers, signal, ...(body === undefined ? {} : { body, duplex: "half" }) };
  return new Request(url, init as RequestInit);
}
