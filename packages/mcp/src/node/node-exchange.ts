// One request of somebody else's Node server (node:http, node:http2, Express, Fastify, Koa, …) as the endpoint's exchange.
import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";
import type { Identity, MessagePieces } from "../jsonrpc/transport.js";
import { LONGEST_TIMER_MS } from "../jsonrpc/outgoing.js";
import type { BodyReceiver, GoneListener, HeaderList, HttpExchange, HttpStream } from "../http/server/exchange.js";

/** A request of node:http or node:http2, and what frameworks add to it. */
export type NodeRequest = (IncomingMessage | Http2ServerRequest) & {
  /** What a body parser before us made of the body. */
  readonly body?: unknown;
  /** The target before a router took its mount path away. */
  readonly originalUrl?: string;
};

/** The reply; `flush` is what compressing middleware adds. */
export type NodeResponse = (ServerResponse | Http2ServerResponse) & { flush?(): void };

/** What HTTP/2 forbids, because it says so in other ways. */
const HOP_BY_HOP: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding"]);

/** What a body that was read already no longer has. */
const OF_THE_BODY: ReadonlySet<string> = new Set(["content-encoding", "content-length"]);

/** Told to a client where its body is gone: the operator reads it there at the first try. */
const BODY_IS_GONE =
  "A body parser took the body before the MCP handler: let it set request.body, or hand the parsed body over as the third argument";

export class NodeExchange implements HttpExchange, HttpStream {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  principal: string | undefined;
  identity: Identity | undefined;
  pass: HttpExchange["pass"];
  extra: HeaderList | undefined;
  onGone: GoneListener | undefined;
  onOver: GoneListener | undefined;
  readonly request: NodeRequest;
  /** Resolves once nothing is sent any more. */
  readonly ended: Promise<void>;
  /** Told the headers of the reply before they are sent. */
  onHead: ((headers: HeaderList) => void) | undefined;
  readonly #response: NodeResponse;
  readonly #parsed: unknown;
  #closed = false;
  #drain: (() => void) | undefined;

  /** `parsed`: the body, where somebody read it already. */
  constructor(
    request: NodeRequest,
    response: NodeResponse,
    target: { readonly path: string; readonly query: string; readonly parsed: unknown },
  ) {
    this.request = request;
    this.#response = response;
    this.method = request.method ?? "";
    this.path = target.path;
    this.query = target.query;
    this.#parsed = target.parsed;
    this.ended = new Promise((resolve) => {
      response.on("close", () => {
        this.#gone();
        resolve();
      });
    });
  }

  get address(): string | undefined {
    return this.request.socket.remoteAddress;
  }

  get connection(): object {
    return this.request.socket;
  }

  get over(): boolean {
    return this.#closed || this.#response.writableEnded || this.#response.destroyed;
  }

  get buffered(): number {
    return this.#response.writableLength;
  }

  header(name: string): string | undefined {
    if (this.#parsed !== undefined && OF_THE_BODY.has(name)) return undefined;
    const value =
      this.request.headers[name === "host" && this.#isHttp2 ? ":authority" : name] ?? this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  readBody(limit: number, receiver: BodyReceiver): void {
    if (this.#parsed !== undefined) return this.#deliver(this.#parsed, limit, receiver);
    if (this.request.readableDidRead || this.request.readableEnded) {
      return this.reply(500, ["content-type", "text/plain; charset=utf-8"], BODY_IS_GONE);
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= limit) return void chunks.push(chunk);
      this.request.off("data", take).off("end", end).pause();
      receiver.bodyFault(this, "too-long");
    };
    const end = (): void => {
      const body = Buffer.concat(chunks);
      if (isUtf8(body)) receiver.body(this, body.toString("utf8"));
      else receiver.bodyFault(this, "not-utf8");
    };
    this.request.on("data", take).on("end", end);
  }

  reply(status: number, headers: HeaderList, body: string | MessagePieces = ""): void {
    if (this.over) return;
    const pieces = typeof body === "string" ? [body] : body;
    const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    this.#head(status, status === 204 ? headers : [...headers, "content-length", String(length)]);
    const response: NodeJS.WritableStream = this.#response;
    for (const piece of pieces) if (piece.length > 0) response.write(piece);
    response.end();
  }

  open(status: number, headers: HeaderList): HttpStream {
    if (this.over) return this;
    this.#head(status, headers);
    // HTTP/2 sends them with the first write, which every stream begins with.
    if ("flushHeaders" in this.#response) this.#response.flushHeaders();
    return this;
  }

  write(text: string): boolean {
    if (this.over) return true;
    const response: NodeJS.WritableStream = this.#response;
    const taken = response.write(text);
    this.#response.flush?.();
    return taken;
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
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

  get #isHttp2(): boolean {
    return this.request.httpVersionMajor >= 2;
  }

  /** A parser's value is written again as text: our own parser stays the only judge of messages. */
  #deliver(parsed: unknown, limit: number, receiver: BodyReceiver): void {
    const text =
      typeof parsed === "string" ? parsed : Buffer.isBuffer(parsed) ? parsed.toString("utf8") : JSON.stringify(parsed);
    if (Buffer.byteLength(text) > limit) receiver.bodyFault(this, "too-long");
    else receiver.body(this, text);
  }

  #head(status: number, headers: HeaderList): void {
    const all = [...headers, ...(this.extra ?? [])];
    this.onHead?.(all);
    this.#response.statusCode = status;
    for (let i = 0; i < all.length; i += 2) {
      const [name = "", value = ""] = all.slice(i, i + 2);
      if (this.#isHttp2 && HOP_BY_HOP.has(name)) continue;
      const before = this.#response.getHeader(name);
      // What the framework wants to vary by, and cookies of its session, stay beside ours.
      const both = name === "vary" && typeof before === "string" ? `${before}, ${value}` : value;
      this.#response.setHeader(name, both);
    }
  }

  #gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.#response.writableFinished) this.onGone?.gone();
    this.onOver?.gone();
  }
}

// A connection of our own listener: the requests that come on it, in their turn.

/** Requests that may wait: what shares a packet with others is here before reading can be stopped. */
const MOST_WAITING = 512;
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
  /** Whether the next reply is the last of its connection. */
  readonly end: { near: boolean };
}

/** A request and its reply. */
export interface Pipelined {
  /** Bytes of the reply that were written and not taken yet. */
  readonly buffered: number;
  /** Nobody will read its reply. */
  closed(): void;
  /** It is answered now that it is not served. */
  giveUp(): void;
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

  /** Whether its next reply is its last. */
  get ends(): boolean {
    return this.#limits.end.near;
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
    this.socket.setTimeout(Math.min(this.#limits.stallMs, LONGEST_TIMER_MS));
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

  /** Nothing of it is read for now. To be called as it begins: Node begins to read a moment later. */
  hold(): void {
    process.nextTick(() => this.#pause());
  }

  goOn(): void {
    this.#readOn();
  }

  /** Nobody is served any more. */
  giveUp(): void {
    for (const each of [...this.#inService, ...this.#waiting]) each.giveUp();
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
