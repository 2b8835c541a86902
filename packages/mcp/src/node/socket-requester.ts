// Sends HTTP/1.1 requests on sockets of its own: one write for each, and no more objects than that takes.
import type { TextBytes } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/errors.js";
import { offAbort, onAbort } from "../jsonrpc/outgoing.js";
import type { Shortener } from "../jsonrpc/transport.js";
import type { HttpReply, HttpRequest } from "../http/client/http-caller.js";
import {
  type ConnectionUser,
  cutAnswer,
  encodingOf,
  type HttpTarget,
  isClosedConnection,
  type Loss,
  lostRequest,
  notHttp,
  notUtf8,
  otherProtocol,
  type SocketConnection,
  type SocketOptions,
  SocketPool,
  tooLongAnswer,
} from "./http-connections.js";
import type { ResponseFault, ResponseHead } from "./http-response-parser.js";
import { decodeUtf8 } from "./standard-streams.js";

// Asked for by name, as everywhere: importing it would make Node load files and blobs too.
const { isUtf8 } = process.getBuiltinModule("node:buffer");

/** What it can send; anything else may change what the connection is, or how the request ends. */
const METHODS: ReadonlySet<string> = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);
const NOT_SENT = ["connection", "content-length", "expect", "te", "trailer", "transfer-encoding", "upgrade"];

/** Sends to targets that were read already. */
export class SocketRequester {
  readonly #connections: SocketPool;

  constructor(options: SocketOptions) {
    this.#connections = new SocketPool(options);
  }

  /** Whether it can send this at all. */
  takes({ method, headers }: HttpRequest): boolean {
    return METHODS.has(method) && !NOT_SENT.some((name) => headers[name] !== undefined);
  }

  /** As `HttpRequester.request`. Throws a LocalError NOT_SUPPORTED for what no head can hold. */
  request(request: HttpRequest, target: HttpTarget): Promise<HttpReply> {
    const way = { target, connections: this.#connections, written: written(request, target) };
    return new Exchange(request, way).start();
  }

  close(): void {
    this.#connections.close();
  }
}

/** What is sent for a request: its head and its body, together where one encoding serves for both. */
interface Written {
  readonly head: string;
  readonly body: string;
  readonly ascii: boolean;
}

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const NO_PATH = /[^\x21-\xff]/;
const NOT_ASCII = /[\x80-\xff]/;
/** Of these a server expects a body, be it empty. */
const WITH_BODY: ReadonlySet<string> = new Set(["PATCH", "POST", "PUT"]);

function written({ method, headers, body = "" }: HttpRequest, target: HttpTarget): Written {
  const { path, authority } = target;
  if (NO_PATH.test(path)) throw unsendable(target, "its path has characters no path can hold");
  let head = `${method} ${path} HTTP/1.1\r\n`;
  if (headers["host"] === undefined) head += `host: ${authority}\r\n`;
  for (const name in headers) {
    const value = headers[name] as string;
    if (!HEADER_NAME.test(name)) throw unsendable(target, `${JSON.stringify(name)} is no name of a header`);
    if (NO_VALUE.test(value)) throw unsendable(target, `the header ${name} has characters no header can hold`);
    head += `${name}: ${value}\r\n`;
  }
  const bytes = Buffer.byteLength(body);
  if (bytes > 0 || WITH_BODY.has(method)) head += `content-length: ${bytes}\r\n`;
  head += "Connection: keep-alive\r\n\r\n";
  return { head, body, ascii: bytes === body.length && !NOT_ASCII.test(head) };
}

function unsendable({ shown }: HttpTarget, what: string): LocalError {
  return new LocalError("NOT_SUPPORTED", `The request to ${shown} cannot be sent: ${what}`);
}

interface Way {
  readonly target: HttpTarget;
  readonly connections: SocketPool;
  readonly written: Written;
}

/** Who reads a body. */
interface Reader {
  /** Most bytes of a text. */
  readonly most: number;
  /** Takes each piece; without it all are taken together, as a text. */
  readonly take: ((chunk: Uint8Array) => void | Promise<void>) | undefined;
  readonly shortener?: Partial<Shortener> | undefined;
  /** Told of the whole text, or at the end of the pieces. */
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
}

// A long body is gathered in a room of a pool: one of its own would be garbage that V8 keeps until its next full collection.

/** A body is long from here on. */
const LONG_BYTES = 64 * 1024;
/** Bytes of the pool's rooms at most, which stay taken for as long as the process runs. Few answers are longer. */
const POOLED_BYTES = 4 * 1024 * 1024;
type Part = (from: number, to: number) => TextBytes;

/** The largest last. */
const rooms: Buffer[] = [];

function giveBack(room: Buffer): void {
  if (room.length > POOLED_BYTES) return;
  rooms.push(room);
  rooms.sort((a, b) => a.length - b.length);
  let bytes = rooms.reduce((sum, { length }) => sum + length, 0);
  while (bytes > POOLED_BYTES) bytes -= rooms.shift()?.length ?? 0;
}

/** What of a body has come. */
class Gathered {
  #room: Buffer = rooms.pop() ?? Buffer.allocUnsafeSlow(2 * LONG_BYTES);
  #bytes = 0;

  add(bytes: Buffer): void {
    const needed = this.#bytes + bytes.length;
    if (needed > this.#room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#room.length));
      this.#room.copy(larger, 0, 0, this.#bytes);
      giveBack(this.#room);
      this.#room = larger;
    }
    bytes.copy(this.#room, this.#bytes);
    this.#bytes = needed;
  }

  /** Gives the whole body to `read`, which may keep what `part` gives, and nothing else of it. */
  readBy(read: (body: Buffer, part: Part) => void): void {
    const room = this.#room;
    let users = 1;
    const leave = (): void => {
      if (--users === 0) giveBack(room);
    };
    const part: Part = (from, to) => {
      users++;
      let left = false;
      const written = (): void => {
        if (!left) leave();
        left = true;
      };
      return Object.assign(room.subarray(from, to), { written });
    };
    try {
      read(room.subarray(0, this.#bytes), part);
    } finally {
      leave();
    }
  }
}

/** One request and its reply. */
class Exchange implements HttpReply, ConnectionUser {
  readonly method: string;
  status = 0;
  readonly #request: HttpRequest;
  readonly #way: Way;
  #resolve!: (reply: HttpReply) => void;
  #reject!: (error: unknown) => void;
  #connection: SocketConnection | undefined;
  #head: ResponseHead | undefined;
  /** It was sent again already, or may not be. */
  #last: boolean;
  #cancelled = false;
  /** All of the body came. */
  #complete = false;
  /** Why nothing more comes. */
  #lost: LocalError | undefined;
  /** What came and was not read yet. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** A long body whose reader wants it whole. */
  #gathered: Gathered | undefined;
  #reader: Reader | undefined;
  /** A piece is being dealt with. */
  #busy = false;

  constructor(request: HttpRequest, way: Way) {
    this.#request = request;
    this.#way = way;
    this.method = request.method;
    this.#last = request.repeatable !== true;
  }

  start(): Promise<HttpReply> {
    const { signal, started } = this.#request;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      started?.(this.#cancel);
      if (signal?.aborted === true) this.#cancel();
      else if (signal) onAbort(signal, this.#cancel);
      if (this.#cancelled) return;
      try {
        this.#way.connections.enter(this, this.#way.target);
      } catch (error) {
        this.#fail(unsendable(this.#way.target, (error as Error).message));
      }
    });
  }

  get encoding(): string | undefined {
    return encodingOf(this.header("content-encoding"));
  }

  header(name: string): string | undefined {
    const headers = this.#head?.headers ?? [];
    let found: string | undefined;
    for (let at = 0; at < headers.length; at += 2) {
      if (headers[at] !== name) continue;
      const value = headers[at + 1] as string;
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }

  text(maxBytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#read({ most: maxBytes, take: undefined, resolve, reject });
    });
  }

  textTo(
    maxBytes: number,
    take: (text: string) => void | Promise<void>,
    shortener?: Partial<Shortener>,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const taken = (text: string): void => {
        try {
          resolve(take(text));
        } catch (error) {
          reject(error);
        }
      };
      this.#read({ most: maxBytes, take: undefined, shortener, resolve: taken, reject });
    });
  }

  async each(take: (chunk: Uint8Array) => void | Promise<void>): Promise<void> {
    await new Promise((resolve, reject) => {
      this.#read({ most: Number.POSITIVE_INFINITY, take, resolve, reject });
    });
  }

  cancel(): void {
    this.#cancel();
  }

  // As the user of a connection.

  /** What nobody reads yet waits where it comes from. */
  get hungry(): boolean {
    return this.#reader === undefined ? this.#bytes === 0 : !this.#busy;
  }

  send(connection: SocketConnection): void {
    this.#connection = connection;
    const { head, body, ascii } = this.#way.written;
    const { socket } = connection;
    if (ascii) socket.write(head + body, "latin1");
    else socket.write(Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body, "utf8")]));
  }

  head(head: ResponseHead): void {
    if (head.status === 101) {
      this.#connection?.destroy();
      return this.#fail(otherProtocol(this.#shown));
    }
    this.#head = head;
    this.status = head.status;
    this.#resolve(this);
  }

  body(bytes: Buffer): void {
    this.#bytes += bytes.length;
    const reader = this.#reader;
    if (reader !== undefined && this.#bytes > reader.most) return this.#tooLong(reader);
    if (reader !== undefined && reader.take === undefined && this.#bytes > LONG_BYTES) this.#gather(bytes);
    else this.#pieces.push(Buffer.from(bytes));
    if (reader?.take !== undefined) this.#pump(reader);
  }

  #gather(bytes: Buffer): void {
    this.#gathered ??= new Gathered();
    for (const piece of this.#pieces.splice(0)) this.#gathered.add(piece);
    this.#gathered.add(bytes);
  }

  end(): void {
    this.#complete = true;
    this.#over();
    if (this.#reader !== undefined) this.#goOn(this.#reader);
  }

  lost({ error, connected, stale }: Loss): void {
    const { connections, target } = this.#way;
    // Connections opened together are closed together: whatever is sent next takes a new one.
    if (stale) connections.dropIdle(target);
    if (this.#head !== undefined) return this.#fail(cutAnswer(this.#shown, error));
    if (this.#last || !stale || !isClosedConnection(error)) {
      return this.#fail(lostRequest(error, this.#shown, connected));
    }
    this.#last = true;
    this.#connection = undefined;
    connections.enter(this, target);
  }

  broken(fault: ResponseFault): void {
    const { shown } = this.#way.target;
    this.#fail(this.#head === undefined ? notHttp(shown, fault.overflow, fault) : cutAnswer(shown, fault));
  }

  get #shown(): string {
    return this.#way.target.shown;
  }

  readonly #cancel = (): void => {
    const read = this.#complete && this.#pieces.length === 0 && !this.#busy;
    if (this.#cancelled || this.#lost !== undefined || read) return;
    this.#cancelled = true;
    this.#connection?.destroy();
    if (this.#connection === undefined) this.#way.connections.leave(this, this.#way.target);
    const what = this.#head === undefined ? `The ${this.method}` : "The request";
    this.#fail(new LocalError("CANCELLED", `${what} to ${this.#shown} was ended`));
  };

  #fail(error: LocalError): void {
    if (this.#lost !== undefined) return;
    this.#lost = error;
    this.#over();
    if (this.#head === undefined) this.#reject(error);
    else if (this.#reader !== undefined) this.#goOn(this.#reader);
  }

  /** Nothing more comes. */
  #over(): void {
    this.#connection = undefined;
    const { signal } = this.#request;
    if (signal) offAbort(signal, this.#cancel);
  }

  #read(reader: Reader): void {
    this.#reader = reader;
    if (this.#bytes > reader.most) return this.#tooLong(reader);
    this.#goOn(reader);
  }

  /** After something has changed: reads on, or settles. */
  #goOn(reader: Reader): void {
    if (reader.take !== undefined) return this.#pump(reader);
    if (this.#lost !== undefined) reader.reject(this.#lost);
    else if (this.#complete) this.#deliver(reader);
    else this.#connection?.resume();
  }

  #deliver({ resolve, reject, shortener }: Reader): void {
    const [only, ...more] = this.#pieces;
    const gathered = this.#gathered;
    this.#gathered = undefined;
    const read = (body: Buffer, part?: Part): void => {
      let text: string;
      try {
        text =
          (part && shortener?.shorten && isUtf8(body) ? shortener.shorten(body, part) : undefined) ?? decodeUtf8(body);
      } catch {
        return reject(notUtf8(this.#shown));
      }
      resolve(text);
    };
    if (gathered !== undefined) gathered.readBy(read);
    else read(only !== undefined && more.length === 0 ? only : Buffer.concat(this.#pieces));
    this.#pieces = [];
  }

  /** Gives the pieces to who takes them one by one, and waits while one is being dealt with. */
  #pump(reader: Reader): void {
    if (this.#cancelled) this.#pieces = [];
    while (!this.#busy) {
      const piece = this.#pieces.shift();
      if (piece === undefined) break;
      try {
        const taken = reader.take?.(piece);
        if (taken !== undefined) this.#waitFor(taken, reader);
      } catch (error) {
        return this.#refused(reader, error);
      }
    }
    // What was taken has to be dealt with first, unless nobody wants it any more.
    if (this.#busy && !this.#cancelled) return;
    if (this.#lost !== undefined) reader.reject(this.#lost);
    else if (this.#complete) reader.resolve("");
    else this.#connection?.resume();
  }

  #waitFor(taken: Promise<void>, reader: Reader): void {
    this.#busy = true;
    this.#connection?.pause();
    taken.then(
      () => {
        this.#busy = false;
        this.#pump(reader);
      },
      (error: unknown) => this.#refused(reader, error),
    );
  }

  #refused(reader: Reader, error: unknown): void {
    reader.reject(error);
    this.#cancel();
  }

  #tooLong(reader: Reader): void {
    reader.reject(tooLongAnswer(this.#shown, reader.most));
    this.#cancel();
  }
}
