// One request of somebody else's Node server (node:http, node:http2, Express, Fastify, Koa, …) as the endpoint's exchange.
import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Identity, MessagePieces } from "../jsonrpc/transport.js";
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
