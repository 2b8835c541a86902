// The connections of a requester on sockets: kept for the next request, bounded, and timed by one timer.
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions as TlsOptions } from "node:tls";
import { shownUrl } from "../http/client/http-caller.js";
import { LocalError } from "../jsonrpc/errors.js";
import { startTimer } from "../jsonrpc/outgoing.js";
import {
  HEADER_BYTES,
  type ResponseFault,
  type ResponseHead,
  ResponseParser,
  type ResponseSink,
} from "./http-response-parser.js";

// Where a request goes, and the words for what went wrong on the way.

/** A URL as it is reached: over TCP, TLS, or a Unix socket. */
export interface HttpTarget {
  readonly url: string;
  /** The URL, fit to be shown. */
  readonly shown: string;
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly path: string;
  /** Value of the Host header. */
  readonly authority: string;
}

/**
 * Understands `http:`, `https:`, `unix:///path.sock#/mcp` and `http+unix://%2Fpath.sock/mcp`. Throws a LocalError
 * NOT_SUPPORTED for other schemes.
 */
export function httpTarget(url: string): HttpTarget {
  const parsed = new URL(url);
  const { protocol } = parsed;
  if (protocol === "http:" || protocol === "https:") {
    const secure = protocol === "https:";
    // Brackets around an IPv6 address belong to the URL only.
    const host = parsed.hostname.startsWith("[") ? parsed.hostname.slice(1, -1) : parsed.hostname;
    const port = parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port);
    const path = parsed.pathname + parsed.search;
    return { url, shown: shownUrl(url), secure, host, port, socketPath: undefined, path, authority: parsed.host };
  }
  if (protocol === "unix:") return local(url, decodeURIComponent(parsed.pathname), parsed.hash.slice(1));
  if (protocol === "http+unix:") return local(url, decodeURIComponent(parsed.host), parsed.pathname + parsed.search);
  throw new LocalError("NOT_SUPPORTED", `${protocol} URLs cannot be reached: use http:, https: or unix:`);
}

function local(url: string, socketPath: string, path: string): HttpTarget {
  if (!socketPath.startsWith("/")) {
    throw new LocalError("NOT_SUPPORTED", "A unix: URL needs an absolute path, like unix:///run/server.sock#/mcp");
  }
  const target = path === "" ? "/" : path;
  const shown = shownUrl(url);
  return { url, shown, secure: false, host: "localhost", port: 80, socketPath, path: target, authority: "localhost" };
}

/** The encoding of a body that has to be undone, from its header. */
export function encodingOf(header: string | undefined): string | undefined {
  return ["", "identity"].includes(header?.trim().toLowerCase() ?? "") ? undefined : header;
}

// The words for failures, the same however a request is sent.

export function notHttp(shown: string, tooLong: boolean, cause: unknown): LocalError {
  const what = tooLong ? `with more than ${HEADER_BYTES} bytes of headers` : "with something that is not HTTP";
  return new LocalError("INVALID_RESPONSE", `${shown} answered ${what}: is it the MCP endpoint?`, { cause });
}

export function otherProtocol(shown: string): LocalError {
  const what = `${shown} answered by changing to another protocol (HTTP 101): is it the MCP endpoint?`;
  return new LocalError("INVALID_RESPONSE", what);
}

/** Of a request without an answer. `connected`: something of it may have been sent. */
export function lostRequest(error: NodeJS.ErrnoException, shown: string, connected: boolean): LocalError {
  const { code = "", message } = error;
  if (error instanceof LocalError) return error;
  if (!connected) {
    const what = `${shown} cannot be reached: ${reason(code, message)}`;
    return new LocalError("UNREACHABLE", what, { cause: error });
  }
  const what = `the connection to ${shown} was lost before an answer came (${reason(code, message)})`;
  return new LocalError("OUTCOME_UNKNOWN", what, { cause: error });
}

export function cutAnswer(shown: string, cause: unknown): LocalError {
  return new LocalError("OUTCOME_UNKNOWN", `the connection to ${shown} was cut within the answer`, { cause });
}

export function tooLongAnswer(shown: string, maxBytes: number): LocalError {
  const what = `${shown} answered with more than ${maxBytes} bytes`;
  return new LocalError("LIMIT", `${what}. Ask for less, or raise limits.messageBytes.`);
}

export function notUtf8(shown: string): LocalError {
  return new LocalError("INVALID_RESPONSE", `${shown} answered with something that is not UTF-8`);
}

export function isClosedConnection({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNRESET" || code === "EPIPE";
}

function reason(code: string, message: string): string {
  if (code === "ECONNREFUSED")
    return "nothing listens there (ECONNREFUSED). Is the server running, and the port right?";
  if (code === "ENOTFOUND") return "its name is unknown (ENOTFOUND). Check the host in the URL";
  if (code === "ENOENT") return "there is no such socket file (ENOENT). Is the server running?";
  if (/CERT|SELF_SIGNED|ALTNAME/.test(code))
    return `its certificate is not trusted (${code}). Give its authority in the option ca`;
  return code === "" || message.includes(code) ? message : `${message} (${code})`;
}

// The connections of a requester: kept for the next request, bounded, and given up when they do not come about.

/** The worst of networks needs a few seconds; a firewall that drops packets would need minutes. */
export const CONNECT_MS = 10_000;
/** All requests a transport may have open, its posts and its standing stream, with room to spare. */
export const CONNECTIONS = 2_048;
/** A burst leaves this many connections for the next one. */
export const IDLE_CONNECTIONS = 64;
/** Below the 5 s after which Node's servers close: whoever sends on a connection just closed learns nothing. */
export const IDLE_MS = 4_000;
/** First probe of a silent connection: a peer that vanished is noticed within minutes. */
export const PROBE_MS = 30_000;

export function tooSlow(connectMs: number): LocalError {
  const what = `No connection came about within ${connectMs} ms: check host and port, and firewalls on the way`;
  return new LocalError("UNREACHABLE", what);
}

export interface SocketOptions {
  /** Milliseconds a connection may take to come about, TLS included. */
  readonly connectMs?: number | undefined;
  /** Connections to one server at once. */
  readonly connections?: number | undefined;
  readonly ca?: TlsOptions["ca"] | undefined;
  /** What names stand for, asked for each new connection. */
  readonly lookup?: LookupFunction | undefined;
}

/** How a connection ended on which a request was under way. */
export interface Loss {
  readonly error: Error;
  /** Something of the request may have been sent. */
  readonly connected: boolean;
  /** It had served a request before, and of this one's response nothing came. */
  readonly stale: boolean;
}

/** A request that uses a connection. */
export interface ConnectionUser {
  readonly method: string;
  /** More may be read for it. */
  readonly hungry: boolean;
  /** The connection is there: it writes its request. */
  send(connection: SocketConnection): void;
  head(head: ResponseHead): void;
  /** To be copied by who keeps it. */
  body(bytes: Buffer): void;
  end(): void;
  lost(loss: Loss): void;
  /** What came is no response. */
  broken(fault: ResponseFault): void;
}

/** As much as is read at once. What is read is copied before anything else is: one memory serves all connections. */
const READ_BYTES = 64 * 1024;
let shared: Buffer | undefined;

/** Timers fire up to this much before the clock says so. */
const TIMER_SLACK_MS = 1;
const NEVER = Number.POSITIVE_INFINITY;

/** What serves the same server. */
class Origin {
  /** The latest last: it is the least likely to be closed. */
  readonly idle: SocketConnection[] = [];
  readonly waiting: Set<ConnectionUser> = new Set();
  readonly target: HttpTarget;
  open = 0;
  /** Of TLS, for the next connection. */
  session: Buffer | undefined;

  constructor(target: HttpTarget) {
    this.target = target;
  }
}

export class SocketPool {
  readonly #options: SocketOptions;
  readonly #origins = new Map<string, Origin>();
  readonly #connecting = new Set<SocketConnection>();
  #last: Origin | undefined;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #firesAt = NEVER;

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  /** Serves a request now, or once there is a connection for it. */
  enter(user: ConnectionUser, target: HttpTarget): void {
    this.#closed = false;
    const origin = this.#originOf(target);
    for (let idle = origin.idle.pop(); idle !== undefined; idle = origin.idle.pop()) {
      if (idle.usable) return idle.serve(user);
    }
    if (origin.open < (this.#options.connections ?? CONNECTIONS)) this.#open(origin, user);
    else origin.waiting.add(user);
  }

  /** A request that was not sent yet is not to be sent any more. */
  leave(user: ConnectionUser, target: HttpTarget): void {
    if (this.#origins.get(keyOf(target))?.waiting.delete(user) === true) return;
    for (const connection of this.#connecting) if (connection.isFor(user)) return connection.destroy();
  }

  /** Ends the connections to a server that nobody uses at the moment. */
  dropIdle(target: HttpTarget): void {
    for (const connection of this.#origins.get(keyOf(target))?.idle.splice(0) ?? []) connection.destroy();
  }

  /** Those in use, perhaps by another transport, end with their request; a later request keeps connections again. */
  close(): void {
    this.#closed = true;
    for (const { idle } of this.#origins.values()) for (const connection of idle.splice(0)) connection.destroy();
  }

  /** A connection is free again: whoever waits longest gets it. */
  released(connection: SocketConnection, idleMs: number): void {
    const { origin } = connection;
    const [next] = origin.waiting;
    if (next !== undefined) {
      origin.waiting.delete(next);
      return connection.serve(next);
    }
    if (this.#closed || idleMs <= 0 || origin.idle.length >= IDLE_CONNECTIONS) return connection.destroy();
    connection.due = performance.now() + idleMs;
    origin.idle.push(connection);
    connection.socket.unref();
    this.#arm(connection.due);
  }

  connected(connection: SocketConnection): void {
    this.#connecting.delete(connection);
  }

  /** A connection has ended. */
  ended(connection: SocketConnection): void {
    const { origin } = connection;
    this.#connecting.delete(connection);
    const at = origin.idle.indexOf(connection);
    if (at >= 0) origin.idle.splice(at, 1);
    origin.open--;
    const [next] = origin.waiting;
    if (next !== undefined) {
      origin.waiting.delete(next);
      this.#open(origin, next);
    } else if (origin.open === 0) this.#forget(origin);
  }

  #open(origin: Origin, user: ConnectionUser): void {
    const { connectMs = CONNECT_MS } = this.#options;
    const connection = new SocketConnection(this, origin, this.#options);
    origin.open++;
    connection.due = performance.now() + connectMs;
    this.#connecting.add(connection);
    this.#arm(connection.due);
    connection.serve(user);
  }

  #originOf(target: HttpTarget): Origin {
    if (this.#last?.target === target) return this.#last;
    const key = keyOf(target);
    const origin = this.#origins.get(key) ?? new Origin(target);
    this.#origins.set(key, origin);
    return (this.#last = origin);
  }

  #forget(origin: Origin): void {
    this.#origins.delete(keyOf(origin.target));
    if (this.#last === origin) this.#last = undefined;
  }

  #arm(due: number): void {
    if (due >= this.#firesAt) return;
    clearTimeout(this.#timer);
    this.#firesAt = due;
    // Connections that are being made keep a process alive by themselves, and those nobody uses must not.
    this.#timer = startTimer(this.#sweep, Math.max(0, due - performance.now())).unref();
  }

  readonly #sweep = (): void => {
    this.#firesAt = NEVER;
    const now = performance.now() + TIMER_SLACK_MS;
    let next = NEVER;
    const late = (connection: SocketConnection): boolean => {
      if (connection.due <= now) return true;
      next = Math.min(next, connection.due);
      return false;
    };
    for (const connection of this.#connecting) {
      if (late(connection)) connection.destroy(tooSlow(this.#options.connectMs ?? CONNECT_MS));
    }
    for (const { idle } of this.#origins.values()) {
      for (const connection of idle.filter(late)) connection.destroy();
    }
    if (next < NEVER) this.#arm(next);
  };
}

function keyOf({ secure, host, port, socketPath }: HttpTarget): string {
  return socketPath ?? `${secure ? "https" : "http"} ${host} ${port}`;
}

/** One socket, and the request that is under way on it. */
export class SocketConnection implements ResponseSink {
  readonly socket: Socket;
  readonly origin: Origin;
  /** When it has to have come about, or is idle for too long. */
  due: number = NEVER;
  readonly #pool: SocketPool;
  readonly #parser: ResponseParser = new ResponseParser(this);
  #user: ConnectionUser | undefined;
  #isConnected = false;
  /** Responses it has brought. */
  #served = 0;
  #unread = true;
  #paused = false;
  #over = false;
  /** Milliseconds it may be kept once its response is over. */
  #keptMs = 0;
  #error: Error | undefined;

  constructor(pool: SocketPool, origin: Origin, { ca, lookup }: SocketOptions) {
    this.#pool = pool;
    this.origin = origin;
    const { secure } = origin.target;
    const socket = secure ? tlsSocket(origin, ca, lookup) : tcpSocket(origin.target, this.#onread, lookup);
    this.socket = socket;
    if (secure) socket.on("data", this.#take);
    socket.once(secure ? "secureConnect" : "connect", this.#connected);
    socket.on("error", this.#failed).on("end", this.#ended).on("close", this.#gone);
  }

  /** Nothing is known that would keep it from serving a request. */
  get usable(): boolean {
    return !this.socket.destroyed && this.socket.readable;
  }

  serve(user: ConnectionUser): void {
    this.#user = user;
    this.#unread = true;
    this.#over = false;
    this.#parser.begin(user.method);
    if (!this.#isConnected) return;
    this.socket.ref();
    user.send(this);
  }

  isFor(user: ConnectionUser): boolean {
    return this.#user === user;
  }

  /** Reads no more for now; what is on its way waits at the sender. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.socket.resume();
  }

  /** Ends it. Its user hears nothing of that unless there is an error to hear of. */
  destroy(error?: Error): void {
    if (error === undefined) this.#leave();
    this.socket.destroy(error);
  }

  head(head: ResponseHead): void {
    this.#keptMs = head.keepAlive ? keptMs(head.headers) : 0;
    this.#user?.head(head);
  }

  body(bytes: Buffer): void {
    this.#user?.body(bytes);
  }

  end(): void {
    this.#over = true;
  }

  #leave(): ConnectionUser | undefined {
    const user = this.#user;
    this.#user = undefined;
    this.#parser.stop();
    return user;
  }

  readonly #connected = (): void => {
    this.#isConnected = true;
    this.#pool.connected(this);
    this.#user?.send(this);
  };

  readonly #onread = (length: number, memory: Uint8Array): boolean => {
    this.#take((memory as Buffer).subarray(0, length));
    return true;
  };

  readonly #take = (bytes: Buffer): void => {
    // What nobody asked for would be taken for the answer to what is asked next.
    if (this.#user === undefined) return void this.socket.destroy();
    this.#unread = false;
    try {
      if (!this.#parser.push(bytes)) this.#keptMs = 0;
    } catch (error) {
      const user = this.#leave();
      this.socket.destroy();
      return user?.broken(error as ResponseFault);
    }
    if (this.#over) this.#release();
    else this.#keepPace();
  };

  #keepPace(): void {
    if (this.#user?.hungry === false) this.pause();
  }

  #release(): void {
    const user = this.#leave();
    this.#over = false;
    this.#served++;
    // A server may answer before it has read everything: the rest of the request would stand before the next one.
    const clean = this.usable && this.socket.writableLength === 0;
    this.resume();
    if (clean && this.#keptMs > 0) this.#pool.released(this, this.#keptMs);
    else this.socket.destroy();
    user?.end();
  }

  readonly #ended = (): void => {
    if (this.#user !== undefined && this.#parser.finish()) {
      this.#keptMs = 0;
      this.#release();
    } else this.socket.destroy();
  };

  readonly #failed = (error: Error): void => {
    this.#error = error;
    this.origin.session = undefined;
  };

  readonly #gone = (): void => {
    this.#pool.ended(this);
    const stale = this.#served > 0 && this.#unread;
    this.#leave()?.lost({ error: this.#error ?? hungUp(), connected: this.#isConnected, stale });
  };
}

/** Milliseconds: a server may say that it keeps a connection for less. */
function keptMs(headers: readonly string[]): number {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] !== "keep-alive") continue;
    const [, seconds] = /\btimeout=(\d{1,9})/.exec(headers[at + 1] as string) ?? [];
    if (seconds !== undefined) return Math.min(IDLE_MS, Number(seconds) * 1_000);
  }
  return IDLE_MS;
}

/** In the words of Node's own client. */
function hungUp(): Error {
  return Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}

function tcpSocket(
  { host, port, socketPath }: HttpTarget,
  callback: (length: number, memory: Uint8Array) => boolean,
  lookup: LookupFunction | undefined,
): Socket {
  const onread = { buffer: (shared ??= Buffer.allocUnsafeSlow(READ_BYTES)), callback };
  if (socketPath !== undefined) return connectTcp({ path: socketPath, onread });
  const alive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_MS };
  return connectTcp({ host, port, ...alive, onread, ...(lookup && { lookup }) });
}

function tlsSocket(origin: Origin, ca: TlsOptions["ca"], lookup: LookupFunction | undefined): Socket {
  const { host, port } = origin.target;
  const socket = connectTls({
    host,
    port,
    // An address has no name to be asked for.
    servername: isIP(host) === 0 ? host : "",
    ...(ca === undefined ? {} : { ca }),
    ...(lookup && { lookup }),
    ...(origin.session === undefined ? {} : { session: origin.session }),
  });
  socket.setNoDelay(true).setKeepAlive(true, PROBE_MS);
  socket.on("session", (session: Buffer) => (origin.session = session));
  return socket;
}
