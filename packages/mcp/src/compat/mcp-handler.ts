// `createMcpHandler(factory)` of SDK v2 on our endpoint: a fetch handler for every revision, made by a factory of servers.
import { revision as revisionOf, REVISIONS } from "../protocol/revisions/all.js";
import { McpErrorCode } from "../protocol/meta.js";
import { ErrorCode } from "../jsonrpc/errors.js";
import type { Identity } from "../jsonrpc/transport.js";
import { type HttpEndpoint, httpEndpoint, type HttpOptions } from "../http/server/http-endpoint.js";
import { FetchExchange, LOADED_PARTS } from "../http/server/to-fetch.js";
import { aesSeal } from "../server/lean-server.js";
import type { Server as CoreServer } from "../server/server.js";
import type { AuthInfo } from "./extra.js";
import type { McpServer } from "./mcp-server.js";
import type { Server } from "./server.js";

/** What a factory may look at. One that looks at `authInfo` or `requestInfo` is asked for a server with each request. */
export interface McpRequestContext {
  /** `modern`: 2026-07-28. `legacy`: the revisions before, here without sessions. */
  readonly era: "legacy" | "modern";
  readonly authInfo?: AuthInfo | undefined;
  readonly requestInfo?: Request | undefined;
}

/** Makes a server with everything registered on it. */
export type McpServerFactory = (context: McpRequestContext) => McpServer | Server | Promise<McpServer | Server>;

/** What changed, for clients that listen. */
export type ServerEvent =
  | { readonly kind: "tools_list_changed" | "prompts_list_changed" | "resources_list_changed" }
  | { readonly kind: "resource_updated"; readonly uri: string };

/** Carries changes to the handlers of all processes. */
export interface ServerEventBus {
  publish(event: ServerEvent): void;
  /** Returns what stops it. */
  subscribe(listener: (event: ServerEvent) => void): () => void;
}

/** Publishes changes by name. */
export interface ServerNotifier {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
}

/** Options of `createMcpHandler` in the SDK; those that say nothing to our endpoint are taken and left. */
export interface CreateMcpHandlerOptions {
  /** `reject`: nothing before 2026-07-28 is served. Default `stateless`. */
  readonly legacy?: "stateless" | "reject";
  readonly onerror?: (error: Error) => void;
  readonly responseMode?: "auto" | "sse" | "json";
  /** Default: of this process. */
  readonly bus?: ServerEventBus;
  /** Bytes. Default: our endpoint's, 4 MiB. */
  readonly maxRequestBodySize?: number;
  /** Ours: web pages that may call, and names the endpoint is reached by. */
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  readonly [other: string]: unknown;
}

/** What whoever let a request in knows of it. */
export interface McpHandlerRequestOptions {
  readonly authInfo?: AuthInfo | undefined;
  /** What a parser before made of the body. */
  readonly parsedBody?: unknown;
}

/** What `createMcpHandler` gives: `export default` for Workers, Bun and Deno; `toNodeHandler` of `/compat/http` for Node. */
export interface McpHttpHandler {
  readonly fetch: (request: Request, options?: McpHandlerRequestOptions) => Promise<Response>;
  /** Ends what runs. Safe to call again. */
  readonly close: () => Promise<void>;
  readonly notify: ServerNotifier;
  readonly bus: ServerEventBus;
}

/** The bus of one process. A listener that throws keeps nothing from the others. */
export class InMemoryServerEventBus implements ServerEventBus {
  readonly #listeners = new Set<(event: ServerEvent) => void>();
  readonly #onerror: ((error: Error) => void) | undefined;

  constructor(onerror?: (error: Error) => void) {
    this.#onerror = onerror;
  }

  publish(event: ServerEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#onerror?.(asError(error));
      }
    }
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }
}

/**
 * Serves a factory's servers to fetch requests. A factory that does not look at who is asking makes one server an era, which all
 * clients share, so that questions are answered and lists listened to as with a server of ours. One that does makes a server with
 * each request: such a server asks by `inputRequired`, since it is gone before an answer comes.
 */
export function createMcpHandler(factory: McpServerFactory, options: CreateMcpHandlerOptions = {}): McpHttpHandler {
  const bus = options.bus ?? new InMemoryServerEventBus(options.onerror);
  const endpoints = new Endpoints(factory, options);
  const unsubscribe = bus.subscribe((event) => endpoints.changed(event));
  let closing: Promise<void> | undefined;
  return {
    fetch: (request, about = {}) => endpoints.serve(request, about),
    close: () => (closing ??= (unsubscribe(), endpoints.close())),
    bus,
    notify: {
      toolsChanged: () => bus.publish({ kind: "tools_list_changed" }),
      promptsChanged: () => bus.publish({ kind: "prompts_list_changed" }),
      resourcesChanged: () => bus.publish({ kind: "resources_list_changed" }),
      resourceUpdated: (uri) => bus.publish({ kind: "resource_updated", uri }),
    },
  };
}

/** The one path of a handler that a framework has routed to already. */
const PATH = "/mcp";

type Era = McpRequestContext["era"];

interface Made {
  readonly core: CoreServer;
  readonly endpoint: HttpEndpoint;
  /** Made for one request. */
  readonly own: boolean;
}

class Endpoints {
  readonly #factory: McpServerFactory;
  readonly #options: CreateMcpHandlerOptions;
  /** One for all servers, so that an answer finds the state that another one sealed. */
  readonly #seal = aesSeal();
  readonly #shared = new Map<Era, Promise<Made>>();
  readonly #open = new Set<Made>();
  /** The factory has looked at who is asking. */
  #varies = false;

  constructor(factory: McpServerFactory, options: CreateMcpHandlerOptions) {
    this.#factory = factory;
    this.#options = options;
  }

  async serve(request: Request, { authInfo, parsedBody }: McpHandlerRequestOptions): Promise<Response> {
    const spoken = request.headers.get("mcp-protocol-version");
    // A date that nobody knows is the newest era's to refuse.
    const era = spoken === null || revisionOf(spoken)?.era === "handshake" ? "legacy" : "modern";
    if (era === "legacy" && this.#options.legacy === "reject") return tooOld(spoken);
    let made: Made;
    try {
      made = await this.#made({ era, authInfo, requestInfo: request });
    } catch (error) {
      this.#options.onerror?.(asError(error));
      return refusal(500, ErrorCode.InternalError, "The server could not be made");
    }
    const exchange = new FetchExchange(
      parsedBody === undefined ? request : withBody(request, parsedBody),
      undefined,
      PATH,
    );
    exchange.identity = authInfo === undefined ? undefined : identityOf(authInfo);
    exchange.principal = exchange.identity?.principal;
    if (made.own) exchange.whenOver = () => void this.#end(made);
    made.endpoint.site.handle(exchange);
    return exchange.response;
  }

  changed(event: ServerEvent): void {
    for (const { core } of this.#open) {
      if (event.kind === "resource_updated") core.resourceUpdated(event.uri);
      else core.listChanged(event.kind.split("_")[0] as "tools" | "prompts" | "resources");
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((made) => this.#end(made)));
    this.#shared.clear();
  }

  async #made(context: Required<McpRequestContext>): Promise<Made> {
    const shared = this.#varies ? undefined : this.#shared.get(context.era);
    if (shared !== undefined) {
      const made = await shared;
      if (!made.own) return made;
    }
    const making = this.#make(context);
    if (!this.#varies) this.#shared.set(context.era, making);
    return making.catch((error: unknown) => {
      if (this.#shared.get(context.era) === making) this.#shared.delete(context.era);
      throw error;
    });
  }

  async #make(context: Required<McpRequestContext>): Promise<Made> {
    const watched = watching(context);
    const server = await this.#factory(watched.context);
    const own = watched.end();
    if (own) this.#varies = true;
    const core = server.coreServer({ seal: this.#seal });
    const defaults = { hosts: undefined, origins: [], parts: LOADED_PARTS };
    const made = { core, own, endpoint: httpEndpoint(core, this.#httpOptions(), defaults) };
    this.#open.add(made);
    return made;
  }

  #httpOptions(): HttpOptions {
    const { responseMode, maxRequestBodySize, allowedHosts, allowedOrigins } = this.#options;
    return {
      path: PATH,
      sessions: false,
      ...(responseMode === undefined ? {} : { answers: responseMode }),
      ...(maxRequestBodySize === undefined ? {} : { limits: { bodyBytes: maxRequestBodySize } }),
      ...(allowedHosts === undefined || allowedHosts.length === 0 ? {} : { allowedHosts }),
      ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
    };
  }

  async #end(made: Made): Promise<void> {
    if (!this.#open.delete(made)) return;
    await made.endpoint.close().catch((error: unknown) => this.#options.onerror?.(asError(error)));
  }
}

/**
 * A context that notes whether anybody looks at who is asking. Once a server is shared that is nobody's to look at any more: a handler
 * that kept the context would take one caller for another.
 */
function watching(context: Required<McpRequestContext>): { context: McpRequestContext; end(): boolean } {
  let looked = false;
  let over = false;
  const look = <T>(value: T): T => {
    if (over && !looked) {
      throw new Error(
        "The factory's context is over, and this server is everybody's: take authInfo of the handler's second argument",
      );
    }
    looked = true;
    return value;
  };
  const watched: McpRequestContext = {
    era: context.era,
    get authInfo() {
      return look(context.authInfo);
    },
    get requestInfo() {
      return look(context.requestInfo);
    },
  };
  const end = (): boolean => ((over = true), looked);
  return { context: watched, end };
}

function withBody(request: Request, body: unknown): Request {
  const { method, headers, signal, url } = request;
  return new Request(url, { method, headers, signal, ...(method === "POST" ? { body: JSON.stringify(body) } : {}) });
}

function tooOld(requested: string | null): Response {
  const supported = REVISIONS.filter(({ era }) => era === "stateless").map(({ date }) => date);
  const data = { supported, ...(requested === null ? {} : { requested }) };
  return refusal(400, McpErrorCode.UnsupportedProtocolVersion, "Unsupported protocol version", data);
}

function refusal(status: number, code: number, message: string, data?: object): Response {
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status });
}

/** Who is asking, from what the SDKs know of a token. */
export function identityOf({ clientId, scopes, expiresAt, extra }: AuthInfo): Identity {
  const subject = extra?.["principal"] ?? extra?.["sub"];
  return {
    principal: typeof subject === "string" ? subject : clientId,
    clientId,
    scopes,
    ...(extra === undefined ? {} : { claims: extra }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt * 1_000 }),
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
