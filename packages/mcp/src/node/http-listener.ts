// Listens with node:http or node:https: bounded in connections, headers and time, and strict about HTTP on each connection.
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  createServer,
} from "node:http";
import { type ServerOptions as TlsOptions, createServer as createTlsServer } from "node:https";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { isAscii, isUtf8 } from "node:buffer";
import type { HttpLimits } from "../http/server/http-limits.js";
import { BodyRoom, type HttpSite, SMALL_BODY } from "../http/server/http-site.js";
import type { Identity, MessagePieces } from "../jsonrpc/transport.js";
import type {
  BodyFault,
  BodyReceiver,
  GoneListener,
  HeaderList,
  HttpExchange,
  HttpStream,
} from "../http/server/exchange.js";
import { type ConnectionLimits, HttpConnection, type Pipelined } from "./node-exchange.js";
import { LONGEST_TIMER_MS } from "../jsonrpc/outgoing.js";

/** Requests that may wait on all connections together: what one packet of each brings would else fill the memory. */
const MOST_WAITING_OF_ALL = 16_384;

interface ListenOptions {
  readonly port: number;
  readonly host: string;
  readonly socketPath: string | undefined;
  readonly tls: TlsOptions | undefined;
}

/** Connections open now, and bytes as the program sees them: within TLS, not around it. */
export interface HttpTraffic {
  readonly connections: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** How often Node looks for requests that take too long: a tenth of the shortest time it has to keep. */
const CHECK_MS = 1_000;

/** Milliseconds between two looks at whether connections have ended. */
const LOOK_MS = 20;
/** Milliseconds for whoever has just connected to send its request, and for what is under way at the end to be answered. */
const LAST_MS = 500;
/** A turn of the event loop that is no longer leaves no time in which much could arrive unseen. */
const QUIET_MS = 1;
/** Where none is, so many at least: in one of them one connection is let in. */
const LEAST_TURNS = 100;

/** Places that are kept free for who comes next: several may come before one that was ended is gone. */
const SPARE = 8;

export class HttpListener {
  readonly #server: Server;
  #closed: Promise<void> | undefined;
  #site: HttpSite | undefined;
  /** Requests that came before there was anybody to handle them: no more than connections. */
  readonly #early: NodeExchange[] = [];
  /** Sockets count their bytes themselves: asking them now and then costs a request nothing. */
  readonly #connections = new Map<Socket, HttpConnection<NodeExchange>>();
  readonly #limits: HttpLimits;
  readonly #waitingOf: HttpLimits & Pick<ConnectionLimits, "room" | "end">;
  #bytesIn = 0;
  #bytesOut = 0;
  #taken = 0;
  #lettingIn = false;

  constructor(limits: HttpLimits, tls: TlsOptions | undefined) {
    const options: ServerOptions = {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      // Node waits for a second longer.
      keepAliveTimeout: Math.min(limits.keepAliveMs, LONGEST_TIMER_MS - 1_000),
      connectionsCheckingInterval: CHECK_MS,
      // A header that came twice must never count as one of its two values.
      joinDuplicateHeaders: true,
      // The front door does that: after a refusal of Node's own, what follows on the connection would still be served.
      requireHostHeader: false,
    };
    this.#limits = limits;
    this.#waitingOf = { ...limits, room: { left: MOST_WAITING_OF_ALL }, end: { near: false } };
    const room = new BodyRoom(limits.bodyBytes);
    // Node drops what shared a packet with a wish to upgrade: whoever waits for its answer must see an end.
    const listener: RequestListener = (request, response) => {
      if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
      const connection = this.#connections.get(request.socket);
      if (connection !== undefined) connection.enter(new NodeExchange(request, response, { connection, room }));
    };
    this.#server =
      tls === undefined
        ? createServer(options, listener)
        : createTlsServer({ ...tls, ...options, handshakeTimeout: limits.headersMs }, listener);
    this.#server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => this.#count(socket));
    this.#server.maxConnections = limits.connections;
    // One more than allowed, so that too many are noticed: Node drops the rest without a word.
    this.#server.maxHeadersCount = limits.headers + 1;
  }

  /** Resolves with the port listened on (0 for a socket file). Rejects with Node's own error when that cannot be. */
  listen(options: ListenOptions): Promise<number> {
    const { port, host, socketPath } = options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(socketPath === undefined ? { port, host } : { path: socketPath }, () => {
        this.#server.off("error", reject);
        const address = this.#server.address() as AddressInfo | string;
        resolve(typeof address === "string" ? 0 : address.port);
      });
    });
  }

  traffic(): HttpTraffic {
    let [bytesIn, bytesOut] = [this.#bytesIn, this.#bytesOut];
    for (const socket of this.#connections.keys()) {
      bytesIn += socket.bytesRead;
      bytesOut += socket.bytesWritten;
    }
    return { connections: this.#connections.size, bytesIn, bytesOut };
  }

  /** From now on requests are handled: first those that have waited for it. */
  serve(site: HttpSite): void {
    this.#site = site;
    for (const exchange of this.#early.splice(0)) if (!exchange.over) site.handle(exchange);
  }

  readonly #serve = (exchange: NodeExchange): void => {
    if (exchange.tooLate || exchange.refusesMalformed(this.#limits)) return;
    if (this.#site === undefined) this.#early.push(exchange);
    else this.#site.handle(exchange);
  };

  /** From now on the reply to a request is the last of its connection: a balancer takes what follows elsewhere. */
  drain(): void {
    this.#waitingOf.end.near = true;
  }

  /**
   * Takes no more connections. What still comes on those that are open is served for `graceMs`, and on new ones for a moment: to end
   * a connection on which a request is just arriving would lose it. Then those on which nothing is under way end.
   */
  async refuse(graceMs = 0): Promise<void> {
    if (this.#closed !== undefined) return;
    this.drain();
    const server = this.#server;
    let ended = (): void => undefined;
    this.#closed = new Promise((resolve) => (ended = resolve));
    this.#lettingIn = true;
    await this.#letIn(() => this.#taken);
    // Not that of HTTP, which ends idle connections at once.
    NetServer.prototype.close.call(server, ended);
    this.#goOn();
    await this.#wait(({ idle, heard }) => idle && (graceMs > 0 || !heard), Math.max(graceMs, LAST_MS));
    await this.#letIn(() => this.traffic().bytesIn);
    // That one too: it looks for requests that take too long until then.
    server.close();
  }

  #goOn(): void {
    this.#lettingIn = false;
    for (const connection of this.#connections.values()) connection.goOn();
  }

  /** Waits as long as any connection is one to wait for. Time is counted in looks: a process that is held up has not read what came. */
  async #wait(awaited: (connection: HttpConnection<NodeExchange>) => boolean, mostMs: number): Promise<void> {
    for (let look = 0; look * LOOK_MS < mostMs && [...this.#connections.values()].some(awaited); look++)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  /**
   * Lets in what has arrived and is counted by `arrived`: what waits for that when no more is taken is cut. Who comes meanwhile is
   * not served before `#goOn`: those who come again as soon as they are answered would never end.
   */
  async #letIn(arrived: () => number): Promise<void> {
    const until = performance.now() + LAST_MS;
    for (let [before, turn] = [-1, 0]; ; turn++) {
      const began = performance.now();
      await new Promise((resolve) => setImmediate(resolve));
      const ended = performance.now();
      const count = arrived();
      if ((count === before && ended - began <= QUIET_MS) || (ended > until && turn > LEAST_TURNS)) break;
      before = count;
    }
  }

  /** Ends every connection, once what is under way on it is answered; in a moment it is told that it will not be. */
  async close(): Promise<void> {
    await this.refuse();
    // Where there was never anybody to serve nobody waits for that.
    if (this.#site !== undefined) await this.#finish();
    this.#server.closeAllConnections();
    await this.#closed;
  }

  async #finish(): Promise<void> {
    await this.#wait(() => true, LAST_MS);
    for (const connection of this.#connections.values()) connection.giveUp();
    await this.#wait(() => true, LAST_MS);
  }

  /** Whoever fills all places and sends nothing is to keep nobody out: the oldest who has nothing under way gives up theirs. */
  #makeRoom(): void {
    const { connections: most } = this.#limits;
    if (this.#connections.size < most - Math.min(SPARE, most >> 2)) return;
    let chosen: HttpConnection<NodeExchange> | undefined;
    for (const connection of this.#connections.values()) {
      if (!connection.idle) continue;
      if (!connection.heard) return void connection.socket.destroy();
      chosen ??= connection;
    }
    chosen?.socket.destroy();
  }

  #count(socket: Socket): void {
    this.#taken++;
    this.#makeRoom();
    const connection = new HttpConnection(socket, this.#waitingOf, this.#serve);
    this.#connections.set(socket, connection);
    if (this.#lettingIn) connection.hold();
    socket.once("close", () => {
      this.#connections.delete(socket);
      connection.ended();
      this.#bytesIn += socket.bytesRead;
      this.#bytesOut += socket.bytesWritten;
    });
  }
}

// What Node's parser lets through although nobody who means well sends it.
function isMalformed({ headers, rawHeaders, httpVersionMajor }: IncomingMessage, limits: HttpLimits): boolean {
  if (httpVersionMajor !== 1 || rawHeaders.length > limits.headers * 2) return true;
  // An empty encoding passes with a length, and whoever reads on from here must not have to guess which one counted.
  return headers["transfer-encoding"] !== undefined && headers["content-length"] !== undefined;
}

// One request of node:http as the endpoint's exchange; for a stream the reply is the stream itself.

/** Characters of a reply from which on it is encoded before it is sent. */
const WORTH_ENCODING = 64 * 1024;
/**
 * What a refused sender may still send and is not read but dropped: ending a connection in the middle of a body takes the reply from
 * a sender that looks at it afterwards, as most do. So long, and so much: four of the longest messages.
 */
const LINGER_MS = 1_000;
const LINGER_BYTES = 16 * 1024 * 1024;
const LATE: HeaderList = ["content-type", "text/plain; charset=utf-8", "retry-after", "5", "connection", "close"];
const NOT_SERVED = "The server has shut down before it had all of this request, which was not served: send it again";

/** Connections told that they end with a reply: what was sent behind its request is not served any more (RFC 9112 §9.6). */
const ending = new WeakSet<object>();

/** A reply that knows its exchange, so that one function hears of the end of all: none is made for each request. */
interface OwnResponse extends ServerResponse {
  exchange?: NodeExchange;
}

function onClose(this: OwnResponse): void {
  this.exchange?.closed();
}

/** Headers that say the same in many requests, and nothing that is anybody's secret. */
const ALIKE = [
  ...["content-type", "accept", "accept-encoding", "accept-language", "content-length", "connection", "host"],
  ...["user-agent", "mcp-protocol-version", "mcp-method", "mcp-name"],
];
/** Texts of theirs. When there are so many it begins anew: what comes in between is only not shared. */
const MOST_SHARED = 256;
const LONGEST_SHARED = 128;
const shared = new Map<string, string>();

/** The same text, of which there is one: each request brings its own copy of what nearly all say. */
function sharedText(text: string): string {
  if (text.length > LONGEST_SHARED) return text;
  const known = shared.get(text);
  if (known !== undefined) return known;
  if (shared.size >= MOST_SHARED) shared.clear();
  shared.set(text, text);
  return text;
}

class NodeExchange implements HttpExchange, HttpStream, Pipelined {
  readonly method: string;
  path: string;
  readonly query: string;
  principal: string | undefined;
  identity: Identity | undefined;
  pass: HttpExchange["pass"];
  extra: HeaderList | undefined;
  /** Of the request, as long as the exchange is kept: a parked call keeps it until somebody has thought about a question. */
  readonly #headers: IncomingMessage["headers"];
  readonly #socket: Socket;
  /** Let go of at the end, with all that Node keeps of them. */
  #request: IncomingMessage | undefined;
  #response: ServerResponse | undefined;
  onGone: GoneListener | undefined;
  onOver: GoneListener | undefined;
  readonly connection: HttpConnection<NodeExchange>;
  #drain: (() => void) | undefined;
  #chunks: Buffer[] | undefined;
  #bytes = 0;
  /** The whole reply is written, and its connection ends once the rest of the request has come. */
  #lingers = false;
  readonly #room: BodyRoom;

  /** `room`: for large bodies. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { connection, room }: { readonly connection: HttpConnection<NodeExchange>; readonly room: BodyRoom },
  ) {
    this.connection = connection;
    this.#room = room;
    this.#request = request;
    this.#response = response;
    this.#headers = request.headers;
    this.#socket = request.socket;
    (response as OwnResponse).exchange = this;
    response.on("close", onClose);
    this.method = request.method ?? "";
    const target = request.url ?? "";
    const end = target.indexOf("?");
    this.path = end < 0 ? target : target.slice(0, end);
    this.query = end < 0 ? "" : target.slice(end + 1);
  }

  get address(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get allHeaders(): Readonly<Record<string, string | readonly string[] | undefined>> {
    return this.#headers;
  }

  get over(): boolean {
    const response = this.#response;
    return this.#lingers || response === undefined || response.writableEnded || response.destroyed;
  }

  get buffered(): number {
    return this.#response?.writableLength ?? 0;
  }

  /** The connection ends with the reply to an earlier request: this one is not served any more. */
  get tooLate(): boolean {
    return ending.has(this.#socket);
  }

  /** Refuses what is no proper HTTP, and ends its connection. False for what is. */
  refusesMalformed(limits: HttpLimits): boolean {
    if (this.#request === undefined || !isMalformed(this.#request, limits)) return false;
    ending.add(this.#socket);
    this.#response?.writeHead(400, ["connection", "close", "content-length", "0"]).end();
    return true;
  }

  /** Says that the request was not served, where nothing was said yet. */
  giveUp(): void {
    if (this.#response?.headersSent === false) this.reply(503, LATE, NOT_SERVED);
  }

  /** Nothing can be sent any more: the reply was read to its end, or its reader has gone. */
  closed(): void {
    const response = this.#response;
    if (response === undefined) return;
    this.#request = undefined;
    this.#response = undefined;
    if (!response.writableFinished) this.onGone?.gone();
    this.connection.done(this);
    this.onOver?.gone();
  }

  kept(): void {
    const headers = this.#headers as Record<string, unknown>;
    // A part of the whole target keeps all of it, and of a query nothing is to be kept when the call is over.
    if (this.query === "") this.path = sharedText(this.path);
    for (const name of ALIKE) {
      const value = headers[name];
      if (typeof value === "string") headers[name] = sharedText(value);
    }
  }

  get onDrain(): (() => void) | undefined {
    return this.#drain;
  }

  set onDrain(listener: (() => void) | undefined) {
    if (this.#drain === undefined) {
      this.#response?.on("drain", () => this.#drain?.());
      this.#response?.on("finish", () => this.#drain?.());
    }
    this.#drain = listener;
  }

  header(name: string): string | undefined {
    return this.#headers[name] as string | undefined;
  }

  readBody(limit: number, receiver: BodyReceiver): void {
    const announced = Number(this.#headers["content-length"] ?? 0);
    if (announced > SMALL_BODY && !this.#claim(announced)) return receiver.bodyFault(this, "no-room");
    this.#request?.on("data", (chunk: Buffer) => this.#take(chunk, limit, receiver));
    this.#request?.on("end", () => this.#deliver(receiver));
  }

  reply(status: number, headers: HeaderList, body: string | MessagePieces = ""): void {
    const response = this.#response;
    if (response === undefined || this.over) return;
    // To count the bytes of a long text, and then to send it, would walk it twice.
    if (typeof body === "string" && body.length >= WORTH_ENCODING && status < 400)
      return this.reply(status, headers, [Buffer.from(body)]);
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.reduce(addBytes, 0);
    this.#mayBeLast(response);
    const all = [...headers];
    if (this.extra !== undefined) all.push(...this.extra);
    if (status !== 204) all.push("content-length", String(bytes));
    response.writeHead(status, all);
    if (status >= 400 && headers.includes("connection")) {
      ending.add(this.#socket);
      const request = this.#request;
      if (typeof body === "string" && request?.complete === false) return this.#linger(request, response, body);
    }
    if (typeof body !== "string") endWith(response, body);
    else response.end(body);
    this.connection.replied(this);
  }

  /** Writes the whole reply, drops what still comes, and only then ends the connection. */
  #linger(request: IncomingMessage, response: ServerResponse, body: string): void {
    this.#lingers = true;
    if (body === "") response.flushHeaders();
    else response.write(body);
    let dropped = 0;
    const end = (): void => {
      clearTimeout(timer);
      response.end();
    };
    const timer = setTimeout(end, LINGER_MS).unref();
    request.on("data", (chunk: Buffer) => (dropped += chunk.length) > LINGER_BYTES && end());
    request.once("close", end);
    request.resume();
  }

  open(status: number, headers: HeaderList): HttpStream {
    const response = this.#response;
    if (this.over || response === undefined) return this;
    this.#mayBeLast(response);
    response.writeHead(status, [...headers, ...(this.extra ?? [])]);
    return this;
  }

  #mayBeLast(response: ServerResponse): void {
    if (this.connection.ends) response.shouldKeepAlive = false;
  }

  write(text: string): boolean {
    return this.over || this.#response?.write(text) !== false;
  }

  end(): void {
    this.#response?.end();
  }

  destroy(): void {
    this.#response?.destroy();
  }

  #take(chunk: Buffer, limit: number, receiver: BodyReceiver): void {
    const before = this.#bytes;
    this.#bytes += chunk.length;
    if (this.#bytes <= limit) {
      // One that did not say how long it is gets the room of the longest once it is no small one.
      const grown = before <= SMALL_BODY && this.#bytes > SMALL_BODY;
      if (grown && this.#headers["content-length"] === undefined && !this.#claim(limit))
        return this.#refuseBody(receiver, "no-room");
      if (this.#chunks === undefined) this.#chunks = [chunk];
      else this.#chunks.push(chunk);
      return;
    }
    this.#refuseBody(receiver, "too-long");
  }

  #refuseBody(receiver: BodyReceiver, fault: BodyFault): void {
    this.#request?.removeAllListeners("data");
    this.#request?.removeAllListeners("end");
    this.#request?.pause();
    this.#chunks = undefined;
    receiver.bodyFault(this, fault);
  }

  /** Takes room for the body until its reply is over; false when there is none. */
  #claim(bytes: number): boolean {
    if (!this.#room.take(bytes)) return false;
    this.#response?.once("close", () => this.#room.give(bytes));
    return true;
  }

  #deliver(receiver: BodyReceiver): void {
    const chunks = this.#chunks ?? [];
    const only = chunks.length === 1 ? chunks[0] : undefined;
    const body = only ?? Buffer.concat(chunks);
    this.#chunks = undefined;
    // Where every byte is a character of its own there is nothing to decode.
    if (isAscii(body)) receiver.body(this, body.toString("latin1"));
    else if (isUtf8(body)) receiver.body(this, body.toString("utf8"));
    else receiver.bodyFault(this, "not-utf8");
  }
}

/** The head of the reply and all pieces leave in one write. */
function endWith(response: ServerResponse, pieces: MessagePieces): void {
  response.cork();
  for (const piece of pieces) {
    if (typeof piece !== "string" && "written" in piece) response.write(piece, piece.written);
    else response.write(piece);
  }
  response.end();
}

const addBytes = (sum: number, piece: string | Uint8Array): number => sum + Buffer.byteLength(piece);
