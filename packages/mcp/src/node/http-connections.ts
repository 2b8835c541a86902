// The connections of a requester on sockets: kept for the next request, bounded, and timed by one timer.
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { type ConnectionOptions as TlsOptions, connect as connectTls } from "node:tls";
import { type ResponseFault, type ResponseHead, ResponseParser, type ResponseSink } from "./http-response-parser.js";
import {
  CONNECT_MS,
  CONNECTIONS,
  type HttpTarget,
  IDLE_CONNECTIONS,
  IDLE_MS,
  PROBE_MS,
  tooSlow,
} from "./http-target.js";

export interface SocketOptions {
  /** Milliseconds a connection may take to come about, TLS included. */
  readonly connectMs?: number | undefined;
  /** Connections to one server at once. */
  readonly connections?: number | undefined;
  readonly ca?: TlsOptions["ca"] | undefined;
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
    const { connectMs = CONNECT_MS, ca } = this.#options;
    const connection = new SocketConnection(this, origin, ca);
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
    this.#timer = setTimeout(this.#sweep, Math.max(0, due - performance.now())).unref();
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

  constructor(pool: SocketPool, origin: Origin, ca: TlsOptions["ca"]) {
    this.#pool = pool;
    this.origin = origin;
    const { secure } = origin.target;
    const socket = secure ? tlsSocket(origin, ca) : tcpSocket(origin.target, this.#onread);
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
): Socket {
  const onread = { buffer: (shared ??= Buffer.allocUnsafeSlow(READ_BYTES)), callback };
  if (socketPath !== undefined) return connectTcp({ path: socketPath, onread });
  return connectTcp({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_MS, onread });
}

function tlsSocket(origin: Origin, ca: TlsOptions["ca"]): Socket {
  const { host, port } = origin.target;
  const socket = connectTls({
    host,
    port,
    // An address has no name to be asked for.
    servername: isIP(host) === 0 ? host : "",
    ...(ca === undefined ? {} : { ca }),
    ...(origin.session === undefined ? {} : { session: origin.session }),
  });
  socket.setNoDelay(true).setKeepAlive(true, PROBE_MS);
  socket.on("session", (session: Buffer) => (origin.session = session));
  return socket;
}
