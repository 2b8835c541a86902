// The connections of a requester: kept for the next request, bounded, and given up when they do not come about.
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { LocalError } from "../jsonrpc/local-error.js";
import { type Proxy, proxyOf, tunnel } from "./http-requester-proxy.js";
import type { HttpTarget } from "./http-requester-target.js";

export interface NodeRequesterOptions {
  /** Milliseconds a connection may take to come about, TLS included. Default 10 s. */
  readonly connectMs?: number | undefined;
  /** Connections open at once; further requests wait for one. Default 2,048. */
  readonly connections?: number | undefined;
  /** Certificate authorities trusted instead of Node's own. */
  readonly ca?: HttpsAgentOptions["ca"] | undefined;
  /** `http://user:password@host:port`; `https:` likewise. Not used for Unix sockets. */
  readonly proxy?: string | URL | undefined;
}

// The worst of networks needs a few seconds; a firewall that drops packets would need minutes.
const CONNECT_MS = 10_000;
// All requests a link may have open, its posts and its standing stream, with room to spare.
const CONNECTIONS = 2_048;
// A burst leaves this many connections for the next one.
const IDLE_CONNECTIONS = 64;
// Below the 5 s after which Node's servers close: whoever sends on a connection just closed learns nothing.
const IDLE_MS = 4_000;
// First probe of a silent connection: a peer that vanished is noticed within minutes.
const PROBE_MS = 30_000;

const connected = new WeakSet<object>();

/** Whether anything can have been sent on this connection. */
export function wasConnected(socket: object): boolean {
  return connected.has(socket);
}

/** Where a request to a target is really sent, and how. */
export interface Route {
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

export class ConnectionPool {
  readonly #agents: HttpAgent[] = [];
  readonly #options: object;
  readonly #connectMs: number;
  readonly #proxy: Proxy | undefined;
  readonly #plain: HttpAgent;
  #secure: HttpAgent | undefined;
  #tunnels: HttpAgent | undefined;
  #closed = false;

  constructor({ connectMs = CONNECT_MS, connections = CONNECTIONS, ca, proxy }: NodeRequesterOptions) {
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
    this.#options = ca === undefined ? options : { ...options, ca };
    this.#plain = this.#kept(watched(new HttpAgent(options), "connect", connectMs));
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

  /** Those in use, perhaps by another link, end with their request; a later request keeps connections again. */
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
  const timer = setTimeout(() => {
    const what = `No connection came about within ${connectMs} ms: check host and port, and firewalls on the way`;
    socket.destroy(new LocalError("UNREACHABLE", what));
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
