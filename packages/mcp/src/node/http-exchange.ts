// One request of node:http as the endpoint's exchange; for a stream the reply is the stream itself.
import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../jsonrpc/identity.js";
import type { MessagePieces } from "../jsonrpc/carrier.js";
import { type BodyRoom, SMALL_BODY } from "./body-room.js";
import type { HttpConnection, Pipelined } from "./http-connection.js";
import type {
  BodyFault,
  BodyReceiver,
  GoneListener,
  HeaderList,
  HttpExchange,
  HttpStream,
} from "../transport/http/exchange.js";

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

export class NodeExchange implements HttpExchange, HttpStream, Pipelined {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  principal: string | undefined;
  identity: Identity | undefined;
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
