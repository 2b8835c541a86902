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
import { isUtf8 } from "node:buffer";
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

/** Requests that may wait: what shares a packet with others is here before reading can be stopped. */
const MOST_WAITING = 512;
/** Requests that may wait on all connections together: what one packet of each brings would else fill the memory. */
const MOST_WAITING_OF_ALL = 16_384;
/** How long what is in service may hold up what comes behind it on its connection, which may be what it waits for. */
const OVERDUE_MS = 250;

export interface ConnectionLimits {
  /** Requests in service at once, the ones whose replies have not been read among them. */
  readonly pipelined: number;
  /** Bytes of replies not read yet from which nothing more is begun. */
  readonly bufferedBytes: number;
  /** Milliseconds a reader may take nothing. */
  readonly stallMs: number;
  /** Places for requests that wait, of all connections together. */
  readonly room: { left: number };
}

/** A request and its reply. */
export interface Pipelined {
  /** Bytes of the reply that were written and not taken yet. */
  readonly buffered: number;
  /** Nobody will read its reply. */
  closed(): void;
}

/**
 * Replies leave in the order of their requests, so serving more than a few at once helps nobody and lets a client that does not
 * read pile up answers. Most clients send one request at a time: for them this only counts to one.
 */
export class HttpConnection<T extends Pipelined> {
  readonly socket: Socket;
  readonly #limits: ConnectionLimits;
  readonly #serve: (request: T) => void;
  #inService: T[] = [];
  #waiting: T[] = [];
  #overdue: NodeJS.Timeout | undefined;
  #allowance: number;
  #scheduled = false;
  #paused = false;
  #heard = false;

  /** `serve` begins a request. */
  constructor(socket: Socket, limits: ConnectionLimits, serve: (request: T) => void) {
    this.socket = socket;
    this.#serve = serve;
    this.#limits = limits;
    this.#allowance = limits.pipelined;
    // Reading the body of a request goes on with the connection, whatever this one thinks of it.
    socket.on("resume", () => this.#paused && socket.pause());
  }

  /** Whether it has sent a whole request yet. */
  get heard(): boolean {
    return this.#heard;
  }

  /** Whether nobody on it waits for an answer. */
  get idle(): boolean {
    return this.#inService.length === 0 && this.#waiting.length === 0;
  }

  /** Serves a request now or in its turn. */
  enter(request: T): void {
    this.#heard = true;
    if (this.#waiting.length === 0 && this.#hasRoom) return this.#begin(request);
    // Nobody has to send more before the answers are there: whoever does, where so many do, gives up the connection.
    if (this.socket.destroyed) return;
    if (this.#limits.room.left === 0) return void this.socket.destroy();
    this.#limits.room.left -= 1;
    this.#waiting.push(request);
    this.#overdue ??= setTimeout(this.#letMoreIn, OVERDUE_MS).unref();
    if (this.#waiting.length >= MOST_WAITING || this.#behind) this.#pause();
  }

  /** A reply was read to its end, or nobody will read it. */
  done(request: T): void {
    const at = this.#inService.indexOf(request);
    if (at < 0) return;
    if (this.#inService.length === 1) this.#inService.pop();
    else this.#inService.splice(at, 1);
    this.#allowance = Math.max(this.#limits.pipelined, this.#allowance - 1);
    // What timed the reading of that reply must not end a request that takes longer.
    if (this.#inService[0]?.buffered === 0) this.socket.setTimeout(0);
    this.#readOn();
  }

  /** A reply was written: a reader that is behind is not listened to, and cut when it takes nothing. */
  replied(request: T): void {
    if (request.buffered === 0) return;
    this.socket.setTimeout(this.#limits.stallMs);
    if (this.#behind) this.#pause();
  }

  /** The connection has ended: what waited is never begun, and what is in service has nobody to answer. */
  ended(): void {
    clearTimeout(this.#overdue);
    this.#limits.room.left += this.#waiting.length;
    this.#waiting = [];
    const left = this.#inService;
    this.#inService = [];
    for (const each of left) each.closed();
  }

  get #hasRoom(): boolean {
    const { length } = this.#inService;
    return length === 0 || (length < this.#allowance && !this.#behind);
  }

  get #behind(): boolean {
    let unread = 0;
    for (const { buffered } of this.#inService) unread += buffered;
    return unread >= this.#limits.bufferedBytes;
  }

  #begin(request: T): void {
    this.#inService.push(request);
    this.#serve(request);
  }

  #readOn(): void {
    if (this.#waiting.length > 0) this.#schedule();
    if (!this.#paused || this.#behind || this.#waiting.length * 2 > MOST_WAITING) return;
    this.#paused = false;
    this.socket.resume();
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.socket.pause();
  }

  /** One in a turn of the event loop, so that the other connections have theirs. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#scheduled = false;
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
    if (!this.#hasRoom) return this.#wait();
    const request = this.#waiting.shift();
    if (request !== undefined) {
      this.#limits.room.left += 1;
      this.#begin(request);
    }
    if (this.#waiting.length > 0) this.#schedule();
    else this.#readOn();
  };

  #wait(): void {
    if (this.#waiting.length > 0) this.#overdue ??= setTimeout(this.#letMoreIn, OVERDUE_MS).unref();
  }

  /** Nothing was finished for a while: perhaps what is in service waits for a message that is still to be served. */
  readonly #letMoreIn = (): void => {
    this.#overdue = undefined;
    if (!this.#behind) this.#allowance = this.#inService.length + this.#limits.pipelined;
    this.#next();
  };
}

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
/** Turns of the event loop at most for those who have connected already. */
const MOST_TURNS = 50;

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
  readonly #waitingOf: HttpLimits & Pick<ConnectionLimits, "room">;
  #bytesIn = 0;
  #bytesOut = 0;
  #drains = false;
  #taken = 0;

  constructor(limits: HttpLimits, tls: TlsOptions | undefined) {
    const options: ServerOptions = {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: CHECK_MS,
      // A header that came twice must never count as one of its two values.
      joinDuplicateHeaders: true,
      // The front door does that: after a refusal of Node's own, what follows on the connection would still be served.
      requireHostHeader: false,
    };
    this.#limits = limits;
    this.#waitingOf = { ...limits, room: { left: MOST_WAITING_OF_ALL } };
    const room = new BodyRoom(limits.bodyBytes);
    // Node drops what shared a packet with a wish to upgrade: whoever waits for its answer must see an end.
    const listener: RequestListener = (request, response) => {
      if (request.headers.upgrade !== undefined || this.#drains) response.shouldKeepAlive = false;
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
    for (const exchange of this.#early.splice(0)) if (!exchange.isClosed) site.handle(exchange);
  }

  readonly #serve = (exchange: NodeExchange): void => {
    if (exchange.tooLate) return;
    if (isMalformed(exchange.request, this.#limits)) exchange.refuseMalformed();
    else if (this.#site === undefined) this.#early.push(exchange);
    else this.#site.handle(exchange);
  };

  /** From now on the reply to a request is the last of its connection: a balancer takes what follows elsewhere. */
  drain(): void {
    this.#drains = true;
  }

  /**
   * Takes no more connections. What still comes on those that are open is served for `graceMs`: to end a connection on which a request
   * is just arriving would lose it. Then those on which nothing is under way end.
   */
  async refuse(graceMs = 0): Promise<void> {
    const idle = (): boolean => [...this.#connections.values()].some((each) => each.idle);
    if (graceMs > 0 && this.#closed === undefined) {
      await this.#letIn();
      // Not that of HTTP, which ends idle connections at once.
      this.#closed = new Promise((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
      for (const until = performance.now() + graceMs; idle() && performance.now() < until;)
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      // That one too: it looks for requests that take too long until then.
      this.#server.close();
    }
    this.#closed ??= new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** Lets in who has connected already: what waits for that when no more are taken is cut. */
  async #letIn(): Promise<void> {
    for (let turn = 0, before = -1; turn < MOST_TURNS && before !== this.#taken; turn++) {
      before = this.#taken;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await this.refuse();
    this.#server.closeAllConnections();
    await this.#closed;
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

/** Connections told that they end with a reply: what was sent behind its request is not served any more (RFC 9112 §9.6). */
const ending = new WeakSet<object>();

/** A reply that knows its exchange, so that one function hears of the end of all: none is made for each request. */
interface OwnResponse extends ServerResponse {
  exchange?: NodeExchange;
}

function onClose(this: OwnResponse): void {
  this.exchange?.closed();
}

class NodeExchange implements HttpExchange, HttpStream, Pipelined {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  principal: string | undefined;
  identity: Identity | undefined;
  pass: HttpExchange["pass"];
  extra: HeaderList | undefined;
  readonly request: IncomingMessage;
  readonly #response: ServerResponse;
  onGone: GoneListener | undefined;
  onOver: GoneListener | undefined;
  readonly connection: HttpConnection<NodeExchange>;
  #closed = false;
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
    this.request = request;
    this.#response = response;
    (response as OwnResponse).exchange = this;
    response.on("close", onClose);
    this.method = request.method ?? "";
    const target = request.url ?? "";
    const end = target.indexOf("?");
    this.path = end < 0 ? target : target.slice(0, end);
    this.query = end < 0 ? "" : target.slice(end + 1);
  }

  get address(): string | undefined {
    return this.request.socket.remoteAddress;
  }

  get allHeaders(): Readonly<Record<string, string | readonly string[] | undefined>> {
    return this.request.headers;
  }

  get over(): boolean {
    return this.#lingers || this.#closed || this.#response.writableEnded || this.#response.destroyed;
  }

  get buffered(): number {
    return this.#response.writableLength;
  }

  /** The connection ends with the reply to an earlier request: this one is not served any more. */
  get tooLate(): boolean {
    return ending.has(this.request.socket);
  }

  /** Nobody waits for the reply any more. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Refuses what is no proper HTTP, and ends its connection. */
  refuseMalformed(): void {
    ending.add(this.request.socket);
    this.#response.writeHead(400, ["connection", "close", "content-length", "0"]).end();
  }

  /** Nothing can be sent any more: the reply was read to its end, or its reader has gone. */
  closed(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.#response.writableFinished) this.onGone?.gone();
    this.connection.done(this);
    this.onOver?.gone();
  }

  get onDrain(): (() => void) | undefined {
    return this.#drain;
  }

  set onDrain(listener: (() => void) | undefined) {
    if (this.#drain === undefined) {
      this.#response.on("drain", () => this.#drain?.());
      this.#response.on("finish", () => this.#drain?.());
    }
    this.#drain = listener;
  }

  header(name: string): string | undefined {
    return this.request.headers[name] as string | undefined;
  }

  readBody(limit: number, receiver: BodyReceiver): void {
    const request = this.request;
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > SMALL_BODY && !this.#claim(announced)) return receiver.bodyFault(this, "no-room");
    request.on("data", (chunk: Buffer) => this.#take(chunk, limit, receiver));
    request.on("end", () => this.#deliver(receiver));
  }

  reply(status: number, headers: HeaderList, body: string | MessagePieces = ""): void {
    if (this.over) return;
    // To count the bytes of a long text, and then to send it, would walk it twice.
    if (typeof body === "string" && body.length >= WORTH_ENCODING && status < 400)
      return this.reply(status, headers, [Buffer.from(body)]);
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : totalBytes(body);
    const length = status === 204 ? [] : ["content-length", String(bytes)];
    this.#response.writeHead(status, [...headers, ...(this.extra ?? []), ...length]);
    if (status >= 400 && headers.includes("connection")) {
      ending.add(this.request.socket);
      if (typeof body === "string" && !this.request.complete) return this.#linger(body);
    }
    if (typeof body === "string") this.#response.end(body);
    else this.#endWith(body);
    this.connection.replied(this);
  }

  /** Writes the whole reply, drops what still comes, and only then ends the connection. */
  #linger(body: string): void {
    const request = this.request;
    this.#lingers = true;
    if (body === "") this.#response.flushHeaders();
    else this.#response.write(body);
    let dropped = 0;
    const end = (): void => {
      clearTimeout(timer);
      this.#response.end();
    };
    const timer = setTimeout(end, LINGER_MS).unref();
    request.on("data", (chunk: Buffer) => (dropped += chunk.length) > LINGER_BYTES && end());
    request.once("close", end);
    request.resume();
  }

  /** The head of the reply and all pieces leave in one write. */
  #endWith(pieces: MessagePieces): void {
    this.#response.cork();
    for (const piece of pieces) this.#response.write(piece);
    this.#response.end();
  }

  open(status: number, headers: HeaderList): HttpStream {
    if (!this.over) this.#response.writeHead(status, [...headers, ...(this.extra ?? [])]);
    return this;
  }

  write(text: string): boolean {
    return this.over || this.#response.write(text);
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
  }

  #take(chunk: Buffer, limit: number, receiver: BodyReceiver): void {
    const before = this.#bytes;
    this.#bytes += chunk.length;
    if (this.#bytes <= limit) {
      // One that did not say how long it is gets the room of the longest once it is no small one.
      const grown = before <= SMALL_BODY && this.#bytes > SMALL_BODY;
      if (grown && this.request.headers["content-length"] === undefined && !this.#claim(limit))
        return this.#refuseBody(receiver, "no-room");
      if (this.#chunks === undefined) this.#chunks = [chunk];
      else this.#chunks.push(chunk);
      return;
    }
    this.#refuseBody(receiver, "too-long");
  }

  #refuseBody(receiver: BodyReceiver, fault: BodyFault): void {
    this.request.removeAllListeners("data");
    this.request.removeAllListeners("end");
    this.request.pause();
    this.#chunks = undefined;
    receiver.bodyFault(this, fault);
  }

  /** Takes room for the body until its reply is over; false when there is none. */
  #claim(bytes: number): boolean {
    if (!this.#room.take(bytes)) return false;
    this.#response.once("close", () => this.#room.give(bytes));
    return true;
  }

  #deliver(receiver: BodyReceiver): void {
    const chunks = this.#chunks ?? [];
    const only = chunks.length === 1 ? chunks[0] : undefined;
    const body = only ?? Buffer.concat(chunks);
    this.#chunks = undefined;
    if (isUtf8(body)) receiver.body(this, body.toString("utf8"));
    else receiver.bodyFault(this, "not-utf8");
  }
}

function totalBytes(pieces: MessagePieces): number {
  let total = 0;
  for (const piece of pieces) total += Buffer.byteLength(piece);
  return total;
}
