// Sends HTTP requests: on sockets of its own, and through a proxy with node:http and node:https.
import type { OptionTable } from "../protocol/capabilities.js";
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions, request as httpsRequest } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { isUtf8 } from "node:buffer";
import { LocalError } from "../jsonrpc/errors.js";
import { offAbort, onAbort, startTimer } from "../jsonrpc/outgoing.js";
import { type HttpReply, type HttpRequest, type HttpRequester, quote, shownUrl } from "../http/client/http-caller.js";
import { HEADER_BYTES } from "./http-response-parser.js";
import {
  CONNECT_MS,
  CONNECTIONS,
  cutAnswer,
  encodingOf,
  type HttpTarget,
  IDLE_CONNECTIONS,
  IDLE_MS,
  isClosedConnection,
  lostRequest,
  notHttp,
  notUtf8,
  otherProtocol,
  PROBE_MS,
  httpTarget,
  tooLongAnswer,
  tooSlow,
} from "./http-connections.js";
import { SocketRequester } from "./socket-requester.js";

/**
 * Reaches `http:`, `https:` and `unix:` URLs, through a proxy where one is given. Proxy variables of the environment are
 * not looked at. Throws a LocalError INVALID_URL for a proxy that is no http: or https: URL.
 */
export function nodeRequester(options: NodeRequesterOptions = {}): HttpRequester {
  return new NodeRequester(options);
}

interface Settle {
  readonly target: HttpTarget;
  readonly pool: ConnectionPool;
  readonly resolve: (reply: HttpReply) => void;
  readonly reject: (error: LocalError) => void;
}

class NodeRequester implements HttpRequester {
  readonly #options: NodeRequesterOptions;
  readonly #sockets: SocketRequester;
  /** For what the sockets do not know; most requesters need none. */
  #pool: ConnectionPool | undefined;
  // Almost every request goes where the one before went.
  #last: HttpTarget | undefined;

  constructor(options: NodeRequesterOptions) {
    this.#options = options;
    this.#sockets = new SocketRequester(options);
    if (options.proxy !== undefined) this.#pool = new ConnectionPool(options);
  }

  request(request: HttpRequest): Promise<HttpReply> {
    try {
      const target = this.#targetOf(request.url);
      const direct = this.#options.proxy === undefined || target.socketPath !== undefined;
      if (direct && this.#sockets.takes(request)) return this.#sockets.request(request, target);
      return this.#byNode(request, target);
    } catch (error) {
      return Promise.reject(unsent(request, error));
    }
  }

  close(): void {
    this.#sockets.close();
    this.#pool?.close();
  }

  #byNode(request: HttpRequest, target: HttpTarget): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const pool = (this.#pool ??= new ConnectionPool(this.#options));
      try {
        this.#send(request, { target, pool, resolve, reject }, request.repeatable !== true);
      } catch (error) {
        reject(unsent(request, error));
      }
    });
  }

  #targetOf(url: string): HttpTarget {
    return this.#last?.url === url ? this.#last : (this.#last = httpTarget(url));
  }

  #send(request: HttpRequest, settle: Settle, last: boolean): void {
    const { method, signal } = request;
    const { target, pool, resolve, reject } = settle;
    const call = callOf(request, target, pool);
    let cancelled = false;
    let reply: NodeReply | undefined;
    const cancel = (): void => {
      cancelled = true;
      if (reply === undefined) call.destroy();
      else reply.cancel();
    };
    call.on("response", (message) => {
      reply = new NodeReply(message, target.shown);
      resolve(reply);
    });
    // Unheard, it would end the connection and say nothing to anybody.
    call.on("upgrade", (_message, socket) => {
      socket.destroy();
      reject(otherProtocol(target.shown));
    });
    call.on("error", (error: NodeJS.ErrnoException) => {
      if (cancelled) reject(new LocalError("CANCELLED", `The ${method} to ${target.shown} was ended`));
      else if (!last && call.reusedSocket && isClosedConnection(error)) {
        // Connections opened together are closed together: the second attempt takes a new one.
        pool.dropIdle();
        this.#send(request, settle, true);
      } else reject(failure(error, call, target.shown));
    });
    request.started?.(cancel);
    if (signal !== undefined) endBy(signal, cancel, call);
    call.end(request.body);
  }
}

function unsent({ url }: HttpRequest, error: unknown): LocalError {
  if (error instanceof LocalError) return error;
  const what = `The request to ${shownUrl(url)} cannot be sent: ${(error as Error).message}`;
  return new LocalError("NOT_SUPPORTED", what, { cause: error });
}

function callOf({ method, headers, body }: HttpRequest, target: HttpTarget, pool: ConnectionPool): ClientRequest {
  const list: string[] = [];
  if (headers["host"] === undefined) list.push("host", target.authority);
  for (const name in headers) list.push(name, headers[name] as string);
  if (body !== undefined) list.push("content-length", String(Buffer.byteLength(body)));
  const { agent, secure, host, port, path, extra } = pool.route(target);
  const options: RequestOptions = {
    method,
    path,
    host,
    port,
    agent,
    headers: extra.length === 0 ? list : list.concat(extra),
    maxHeaderSize: HEADER_BYTES,
  };
  if (target.socketPath !== undefined) options.socketPath = target.socketPath;
  return secure ? httpsRequest(options) : httpRequest(options);
}

function endBy(signal: AbortSignal, cancel: () => void, call: ClientRequest): void {
  if (signal.aborted) return cancel();
  onAbort(signal, cancel);
  call.once("close", () => offAbort(signal, cancel));
}

function failure(error: NodeJS.ErrnoException, call: ClientRequest, shown: string): LocalError {
  const { code = "" } = error;
  if (code.startsWith("HPE_")) return notHttp(shown, code === "HPE_HEADER_OVERFLOW", error);
  return lostRequest(error, shown, call.socket !== null && call.socket !== undefined && wasConnected(call.socket));
}

// The way through an HTTP proxy: absolute URLs for plain HTTP, a tunnel for TLS.

interface Proxy {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** The URL, fit to be shown. */
  readonly shown: string;
  /** Headers that are the proxy's own. */
  readonly headers: readonly string[];
}

/** Throws a LocalError INVALID_URL for what is no http: or https: URL. */
function proxyOf(url: string | URL): Proxy {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new LocalError("INVALID_URL", "The proxy is not a URL: write it like http://host:8080");
  }
  const { protocol, username, password, hostname } = parsed;
  if (protocol !== "http:" && protocol !== "https:") {
    throw new LocalError("INVALID_URL", `A proxy is reached by http: or https:, not by ${quote(protocol)}`);
  }
  const secure = protocol === "https:";
  const who = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const headers = who === ":" ? [] : ["proxy-authorization", `Basic ${Buffer.from(who).toString("base64")}`];
  const port = parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port);
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return { secure, host, port, shown: shownUrl(parsed.origin), headers };
}

/** A connection through `proxy` to `authority` (host and port). Calls `done` once; never later than `connectMs`. */
function tunnel(
  proxy: Proxy,
  to: { readonly authority: string; readonly connectMs: number },
  done: (error: LocalError | undefined, socket?: Socket) => void,
): void {
  const { authority, connectMs } = to;
  const request = (proxy.secure ? httpsRequest : httpRequest)({
    method: "CONNECT",
    host: proxy.host,
    port: proxy.port,
    path: authority,
    agent: false,
    headers: ["host", authority, ...proxy.headers],
  });
  const timer = startTimer(() => request.destroy(new Error(`it did not answer within ${connectMs} ms`)), connectMs);
  request.on("connect", (response, socket, head) => {
    clearTimeout(timer);
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode <= 299 && head.length === 0) return done(undefined, socket);
    socket.destroy();
    const hint = statusCode === 407 ? ": put user and password into the proxy's URL" : "";
    const what = `The proxy ${proxy.shown} does not connect to ${authority} (HTTP ${statusCode})${hint}`;
    done(new LocalError("UNREACHABLE", what));
  });
  request.on("error", (cause) => {
    clearTimeout(timer);
    done(new LocalError("UNREACHABLE", `The proxy ${proxy.shown} cannot be used: ${cause.message}`, { cause }));
  });
  request.end();
}

// The connections of a requester: kept for the next request, bounded, and given up when they do not come about.

/** How connections are made on Node: time, number, and certificates. */
export interface NodeRequesterOptions {
  /** Milliseconds a connection may take to come about, TLS included. Default 10 s. */
  readonly connectMs?: number | undefined;
  /** Connections open at once; further requests wait for one. Default 2,048. */
  readonly connections?: number | undefined;
  /** Certificate authorities trusted instead of Node's own. */
  readonly ca?: HttpsAgentOptions["ca"] | undefined;
  /** `http://user:password@host:port`; `https:` likewise. Not used for Unix sockets. */
  readonly proxy?: string | URL | undefined;
  /**
   * What host names stand for, as `net.connect` asks it: for each new connection to a name. A connection that is
   * kept is not asked for again. Its error, where it is a LocalError, is that of the request. Default: the system's resolver.
   */
  readonly lookup?: LookupFunction | undefined;
}

/** The members of `NodeRequesterOptions`. */
export const NODE_REQUESTER_MEMBERS: OptionTable<NodeRequesterOptions> = {
  connectMs: "ms",
  connections: "whole",
  ca: "any",
  proxy: ["text", "toJSON()"],
  lookup: "function",
};

const connected = new WeakSet<object>();

/** Whether anything can have been sent on this connection. */
function wasConnected(socket: object): boolean {
  return connected.has(socket);
}

/** Where a request to a target is really sent, and how. */
interface Route {
  readonly agent: HttpAgent;
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** The request target. */
  readonly path: string;
  /** Headers for the proxy. */
  readonly extra: readonly string[];
}

const NONE: readonly string[] = [];

class ConnectionPool {
  readonly #agents: HttpAgent[] = [];
  readonly #options: object;
  readonly #connectMs: number;
  readonly #proxy: Proxy | undefined;
  readonly #plain: HttpAgent;
  #secure: HttpAgent | undefined;
  #tunnels: HttpAgent | undefined;
  #closed = false;

  constructor({ connectMs = CONNECT_MS, connections = CONNECTIONS, ca, proxy, lookup }: NodeRequesterOptions) {
    this.#connectMs = connectMs;
    this.#proxy = proxy === undefined ? undefined : proxyOf(proxy);
    const options = {
      keepAlive: true,
      keepAliveMsecs: PROBE_MS,
      maxSockets: connections,
      maxFreeSockets: IDLE_CONNECTIONS,
      scheduling: "lifo" as const,
      timeout: IDLE_MS,
    };
    const reached = lookup === undefined ? options : { ...options, lookup };
    this.#options = ca === undefined ? reached : { ...reached, ca };
    this.#plain = this.#kept(watched(new HttpAgent(reached), "connect", connectMs));
  }

  route(target: HttpTarget): Route {
    if (this.#closed) this.#keepIdle(IDLE_CONNECTIONS);
    const { secure, host, port, path } = target;
    const proxy = target.socketPath === undefined ? this.#proxy : undefined;
    if (proxy === undefined || secure) {
      const agent = secure ? this.#secureAgent(proxy) : this.#plain;
      return { agent, secure, host, port, path, extra: NONE };
    }
    const agent = proxy.secure ? this.#secureAgent(undefined) : this.#plain;
    const whole = `http://${target.authority}${path}`;
    return { agent, secure: proxy.secure, host: proxy.host, port: proxy.port, path: whole, extra: proxy.headers };
  }

  /** Ends the connections nobody uses at the moment. */
  dropIdle(): void {
    for (const agent of this.#agents) {
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    }
  }

  /** Those in use, perhaps by another transport, end with their request; a later request keeps connections again. */
  close(): void {
    this.#keepIdle(0);
    this.dropIdle();
  }

  #keepIdle(most: number): void {
    this.#closed = most === 0;
    for (const agent of this.#agents) agent.maxFreeSockets = most;
  }

  #secureAgent(proxy: Proxy | undefined): HttpAgent {
    const made = (): HttpAgent => new HttpsAgent(this.#options);
    if (proxy === undefined) return (this.#secure ??= this.#kept(watched(made(), "secureConnect", this.#connectMs)));
    return (this.#tunnels ??= this.#kept(
      tunnelled(watched(made(), "secureConnect", this.#connectMs), proxy, this.#connectMs),
    ));
  }

  #kept(agent: HttpAgent): HttpAgent {
    this.#agents.push(agent);
    return agent;
  }
}

interface ConnectOptions {
  readonly host?: string;
  readonly port?: number | string;
}

interface Connecting {
  createConnection(
    options: ConnectOptions,
    done?: (error: Error | null, socket?: Duplex) => void,
  ): Duplex | null | undefined;
}

// One timer for each connection, none for each request.
function watched(agent: HttpAgent, ready: string, connectMs: number): HttpAgent {
  const connecting = agent as unknown as Connecting;
  const create = connecting.createConnection.bind(agent);
  connecting.createConnection = (options, done) => {
    const socket = create(options, done);
    if (socket !== null && socket !== undefined) watch(socket as Socket, ready, connectMs);
    return socket;
  };
  return agent;
}

function watch(socket: Socket, ready: string, connectMs: number): void {
  const timer = startTimer(() => {
    socket.destroy(tooSlow(connectMs));
  }, connectMs);
  socket.once(ready, () => {
    clearTimeout(timer);
    connected.add(socket);
  });
  socket.once("close", () => clearTimeout(timer));
}

// TLS is spoken with the target itself: the proxy sees nothing but its name.
function tunnelled(agent: HttpAgent, proxy: Proxy, connectMs: number): HttpAgent {
  const connecting = agent as unknown as Connecting;
  const create = connecting.createConnection.bind(agent);
  connecting.createConnection = (options, done) => {
    const { host = "", port = 443 } = options;
    const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    tunnel(proxy, { authority, connectMs }, (error, socket) => {
      if (error !== undefined) return done?.(error);
      const secured = create({ ...options, socket } as ConnectOptions);
      done?.(null, secured as Duplex);
    });
    return undefined;
  };
  return agent;
}

// A reply of node:http as transports read it.

class NodeReply implements HttpReply {
  readonly status: number;
  readonly #message: IncomingMessage;
  readonly #shown: string;
  #cancelled = false;
  #complete = false;

  /** `shown` is the URL as errors may show it. */
  constructor(message: IncomingMessage, shown: string) {
    this.status = message.statusCode ?? 0;
    this.#message = message;
    this.#shown = shown;
  }

  get encoding(): string | undefined {
    return encodingOf(this.header("content-encoding"));
  }

  // Looked up in the list as it came: building Node's object of all headers costs more than the few that are asked for.
  header(name: string): string | undefined {
    const { rawHeaders } = this.#message;
    let found: string | undefined;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const each = rawHeaders[at] as string;
      if (each.length !== name.length || each.toLowerCase() !== name) continue;
      const value = rawHeaders[at + 1] as string;
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }

  text(maxBytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const message = this.#message;
      const chunks: Buffer[] = [];
      let bytes = 0;
      message.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else {
          this.cancel();
          reject(tooLongAnswer(this.#shown, maxBytes));
        }
      });
      message.on("end", () => {
        this.#complete = true;
        const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
        if (isUtf8(whole)) resolve(whole.toString("utf8"));
        else reject(notUtf8(this.#shown));
      });
      this.#onCut(reject);
    });
  }

  each(take: (chunk: Uint8Array) => void | Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const message = this.#message;
      let busy = false;
      let finish: (() => void) | undefined;
      // Node tells of the end of a paused stream too: what was taken has to be dealt with first.
      const settle = (how: () => void): void => {
        if (!busy || this.#cancelled) how();
        else finish ??= how;
      };
      const fail = (error: unknown): void => {
        reject(error);
        this.cancel();
      };
      const goOn = (): void => {
        busy = false;
        if (finish === undefined) message.resume();
        else finish();
      };
      message.on("data", (chunk: Buffer) => {
        try {
          const taken = take(chunk);
          if (taken === undefined) return;
          busy = true;
          message.pause();
          taken.then(goOn, fail);
        } catch (error) {
          fail(error);
        }
      });
      message.on("end", () => {
        this.#complete = true;
        settle(resolve);
      });
      this.#onCut((error) => settle(() => reject(error)));
    });
  }

  cancel(): void {
    this.#cancelled = true;
    this.#message.destroy();
  }

  #onCut(reject: (error: LocalError) => void): void {
    const cut = (cause?: unknown): void => {
      // An error nobody looks at costs more than the rest of the reply.
      if (this.#complete) return;
      const error = this.#cancelled
        ? new LocalError("CANCELLED", `The request to ${this.#shown} was ended`)
        : cutAnswer(this.#shown, cause);
      reject(error);
    };
    this.#message.on("error", cut);
    // Comes after the end too.
    this.#message.on("close", cut);
    if (this.#message.destroyed) cut();
  }
}
