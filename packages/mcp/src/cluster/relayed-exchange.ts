// A request that another process let in, as this one serves it: what is replied goes back over the connection it came on.
import type { Identity, MessagePieces } from "../jsonrpc/transport.js";
import type { BodyReceiver, GoneListener, HeaderList, HttpExchange, HttpStream } from "../http/server/exchange.js";
import { Frame, type FrameType } from "./relay-link.js";

/** Everything of a request but its body. Plain JSON. */
export interface RelayedHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly principal?: string | undefined;
  readonly identity?: Identity | undefined;
  readonly address?: string | undefined;
  /** The session it is for; the process that has it not says so. */
  readonly session?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Characters of a reply that goes in one frame: those of the longest message by default. */
const WHOLE: number = 4 * 1024 * 1024;

/** The way back. */
interface Back {
  send(type: FrameType, text?: string): void;
  /** Bytes the other process has not taken yet. */
  unsent(): number;
  /** Told once nothing will be sent any more. */
  over(): void;
}

export class RelayedExchange implements HttpExchange, HttpStream {
  readonly relayed = true;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly address: string | undefined;
  readonly connection: undefined;
  principal: string | undefined;
  identity: Identity | undefined;
  extra: HeaderList | undefined;
  onGone: GoneListener | undefined;
  onOver: GoneListener | undefined;
  onDrain: (() => void) | undefined;
  readonly #headers: RelayedHead["headers"];
  readonly #body: string;
  readonly #back: Back;
  #over = false;
  #paused = false;
  /** Bytes written since the reader fell behind. */
  #held = 0;

  constructor(head: RelayedHead, body: string, back: Back) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.address = head.address;
    this.principal = head.principal;
    this.identity = head.identity;
    this.#headers = head.headers;
    this.#body = body;
    this.#back = back;
  }

  get over(): boolean {
    return this.#over;
  }

  get buffered(): number {
    return this.#paused ? this.#held : this.#back.unsent();
  }

  get allHeaders(): RelayedHead["headers"] {
    return this.#headers;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === "object" ? value.join(", ") : value;
  }

  /** The body came with the head. */
  readBody(limit: number, receiver: BodyReceiver): void {
    if (Buffer.byteLength(this.#body) > limit) receiver.bodyFault(this, "too-long");
    else receiver.body(this, this.#body);
  }

  reply(status: number, headers: HeaderList, body: string | MessagePieces = ""): void {
    if (this.#over) return;
    const text = typeof body === "string" ? body : textOf(body);
    if (text.length > WHOLE) return this.#replyInPieces(status, headers, text);
    this.#back.send(Frame.Reply, `${JSON.stringify({ status, headers: this.#all(headers) })}\n${text}`);
    this.#end();
  }

  open(status: number, headers: HeaderList): HttpStream {
    if (!this.#over) this.#back.send(Frame.Open, JSON.stringify({ status, headers: this.#all(headers) }));
    return this;
  }

  write(text: string): boolean {
    if (this.#over) return true;
    this.#back.send(Frame.Chunk, text);
    if (this.#paused) this.#held += text.length;
    return !this.#paused;
  }

  end(): void {
    if (this.#over) return;
    this.#back.send(Frame.End);
    this.#end();
    this.onDrain?.();
  }

  destroy(): void {
    if (this.#over) return;
    this.#back.send(Frame.Destroy);
    this.#end();
    this.onGone?.gone();
  }

  /** The reader is behind: writers wait from now on. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#held = 0;
    this.onDrain?.();
  }

  /** The client, or the process between, has gone. */
  gone(): void {
    if (this.#over) return;
    this.#end();
    this.onGone?.gone();
  }

  /** A long one goes on as it is written, so that nothing else on the connection waits for all of it. */
  #replyInPieces(status: number, headers: HeaderList, text: string): void {
    this.open(status, headers);
    for (let at = 0; at < text.length;) {
      // Half of a character would not survive being encoded alone.
      const cut = at + WHOLE;
      const end = isSecondHalf(text.charCodeAt(cut)) ? cut + 1 : cut;
      this.#back.send(Frame.Chunk, text.slice(at, end));
      at = end;
    }
    this.end();
  }

  #end(): void {
    this.#over = true;
    this.#back.over();
    this.onOver?.gone();
  }

  #all(headers: HeaderList): HeaderList {
    return this.extra === undefined ? headers : [...headers, ...this.extra];
  }
}

function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function textOf(pieces: MessagePieces): string {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString("utf8");
}
