// Lets one listener serve SOCKS 5 beside HTTP: the first byte of a connection says which of the two it is.
import { Buffer } from "node:buffer";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { FetchError } from "./refusals.js";

/** From the first byte to the request: both ends are on this machine. */
const HANDSHAKE_MS = 10_000;

/** A client that asked for a connection; it waits for a reply. */
interface SocksAsked {
  /** `host:port` as a URL has it; the host may be a name or a literal. */
  readonly authority: string;
  readonly socket: Socket;
  /** What it sent without waiting. */
  readonly head: Buffer;
}

/**
 * To be called before anybody else listens for connections of `server`: what is HTTP goes on to it as if nothing had been
 * read. A handshake takes no more than its 520 bytes and ten seconds; what is none is answered, where it can be, and closed.
 */
export function openSocksDoor(server: Server, asked: (client: SocksAsked) => void): void {
  const listeners = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  const http = (socket: Socket): void => listeners.forEach((listener) => listener.call(server, socket));
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), HANDSHAKE_MS);
    const settled = (): void => clearTimeout(timer);
    socket.once("close", settled).on("error", () => socket.destroy());
    void enter(socket, http, asked).catch(refuse(socket)).finally(settled);
  });
}

async function enter(
  socket: Socket,
  http: (socket: Socket) => void,
  asked: (client: SocksAsked) => void,
): Promise<void> {
  const bytes = new Taking(socket);
  const protocol = await bytes.until((got) => got[0]);
  if (protocol !== SOCKS_VERSION) {
    bytes.giveBack();
    // In the same turn as the bytes went back: the HTTP parser reads on from the socket itself.
    return http(socket);
  }
  await bytes.take(readGreeting);
  socket.write(greetingAnswer());
  const authority = await bytes.take(readRequest);
  asked({ authority, socket, head: bytes.rest() });
}

function refuse(socket: Socket): (error: unknown) => void {
  return (error) => {
    const answer = error instanceof SocksFault ? error.answer : undefined;
    if (answer === undefined) socket.destroy();
    else socket.end(answer, () => socket.destroy());
  };
}

/** The beginning of a stream, read no further than somebody wants it. */
class Taking {
  readonly #socket: Socket;
  #got: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @throws SocksFault when the stream ends before `find` finds something */
  async until<T>(find: (got: Buffer) => T | undefined): Promise<T> {
    for (;;) {
      const found = this.#got.length === 0 ? undefined : find(this.#got);
      if (found !== undefined) return found;
      await this.#more();
    }
  }

  async take<T>(read: (got: Buffer) => { readonly value: T; readonly size: number } | undefined): Promise<T> {
    const { value, size } = await this.until(read);
    this.#got = this.#got.subarray(size);
    return value;
  }

  rest(): Buffer {
    return this.#got;
  }

  giveBack(): void {
    this.#socket.unshift(this.#got);
  }

  #more(): Promise<void> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      if (socket.destroyed || socket.readableEnded) return reject(new SocksFault("It went away."));
      const done = (): void => void socket.off("readable", read).off("end", gone).off("close", gone);
      const gone = (): void => {
        done();
        reject(new SocksFault("It went away."));
      };
      const read = (): void => {
        const chunk = socket.read() as Buffer | null;
        if (chunk === null) return;
        done();
        this.#got = Buffer.concat([this.#got, chunk]);
        resolve();
      };
      socket.on("readable", read).once("end", gone).once("close", gone);
    });
  }
}

// Reads what a SOCKS 5 client says (RFC 1928) out of the bytes that have come so far, and writes the answers.

/** First byte of every message; HTTP begins with a letter. */
const SOCKS_VERSION = 0x05;
const NO_AUTHENTICATION = 0x00;
const NONE_OF_THESE = 0xff;
const CONNECT = 0x01;
const IPV4 = 0x01;
const NAME = 0x03;
const IPV6 = 0x04;
/** What stands before the address, and its length where the kind of address sets it. */
const BEFORE_ADDRESS = 4;
const PORT_BYTES = 2;
/** Letters, digits, hyphens, dots: anything else two readers could read as two hosts. */
const PLAIN_NAME = /^[A-Za-z0-9.-]+$/;

/** Codes of a reply, RFC 1928 6. */
const SocksReply = {
  Granted: 0x00,
  Failed: 0x01,
  NotAllowed: 0x02,
  HostUnreachable: 0x04,
  Refused: 0x05,
  CommandUnknown: 0x07,
  AddressUnknown: 0x08,
} as const;
type SocksReply = (typeof SocksReply)[keyof typeof SocksReply];

/** Why there is nothing to go on with, and what the client is told; without an answer it speaks another protocol. */
export class SocksFault extends Error {
  override readonly name = "SocksFault";
  readonly answer: Buffer | undefined;

  constructor(message: string, answer?: Buffer) {
    super(message);
    this.answer = answer;
  }
}

/** A message, and how many bytes it took. */
interface SocksMessage<T> {
  readonly value: T;
  readonly size: number;
}

/** That it accepts to go on without authentication; undefined until all of it is there. @throws SocksFault */
export function readGreeting(bytes: Buffer): SocksMessage<true> | undefined {
  versioned(bytes);
  const methods = bytes[1];
  if (methods === undefined || bytes.length < 2 + methods) return undefined;
  if (bytes.subarray(2, 2 + methods).includes(NO_AUTHENTICATION)) return { value: true, size: 2 + methods };
  throw new SocksFault("It wants to authenticate.", Buffer.from([SOCKS_VERSION, NONE_OF_THESE]));
}

/** The answer to a greeting. */
function greetingAnswer(): Buffer {
  return Buffer.from([SOCKS_VERSION, NO_AUTHENTICATION]);
}

/** Host and port as a URL has them; undefined until all of it is there. @throws SocksFault for anything but CONNECT */
export function readRequest(bytes: Buffer): SocksMessage<string> | undefined {
  versioned(bytes);
  const [, command, reserved, kind, first] = bytes;
  if (command !== undefined && command !== CONNECT)
    throw fault("Only CONNECT is served, neither BIND nor UDP.", SocksReply.CommandUnknown);
  if (reserved !== undefined && reserved !== 0) throw fault("The reserved byte is not 0.", SocksReply.Failed);
  if (kind === undefined) return undefined;
  const length = addressLength(kind, first);
  if (length === undefined || bytes.length < BEFORE_ADDRESS + length + PORT_BYTES) return undefined;
  const size = BEFORE_ADDRESS + length + PORT_BYTES;
  const host = hostOf(kind, bytes.subarray(BEFORE_ADDRESS, BEFORE_ADDRESS + length));
  return { value: `${host}:${bytes.readUInt16BE(size - PORT_BYTES)}`, size };
}

/** A reply names the address of the far end's socket; it is nobody's business, and zeros are usual. */
function replyBytes(code: SocksReply): Buffer {
  return Buffer.from([SOCKS_VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

function versioned(bytes: Buffer): void {
  if (bytes.length > 0 && bytes[0] !== SOCKS_VERSION) throw new SocksFault("This is not SOCKS 5.");
}

/** With the byte that says how long a name is. */
function addressLength(kind: number, first: number | undefined): number | undefined {
  switch (kind) {
    case IPV4:
      return 4;
    case IPV6:
      return 16;
    case NAME:
      return first === undefined ? undefined : 1 + first;
    default:
      throw fault("The kind of address is unknown.", SocksReply.AddressUnknown);
  }
}

function hostOf(kind: number, bytes: Buffer): string {
  if (kind === IPV4) return bytes.join(".");
  if (kind === IPV6) return `[${bytes.toString("hex").replace(/(.{4})(?=.)/g, "$1:")}]`;
  const name = bytes.toString("latin1", 1);
  if (!PLAIN_NAME.test(name)) throw fault("The host is no plain name.", SocksReply.NotAllowed);
  return name;
}

function fault(message: string, code: SocksReply): SocksFault {
  return new SocksFault(message, replyBytes(code));
}

// What the two kinds of proxies say to a client that asked for a tunnel.

/** A refusal for people. */
interface Refusal {
  /** With its number, as in `403 Forbidden`. */
  readonly status: string;
  readonly text: string;
}

export interface TunnelAnswers {
  readonly stands: Buffer;
  /** `stood`: whether it was told before that the tunnel stands. */
  readonly refused: (error: unknown, refusal: Refusal, stood: boolean) => Buffer;
}

export const HTTP_TUNNEL: TunnelAnswers = {
  stands: Buffer.from("HTTP/1.1 200 Connection established\r\n\r\n"),
  refused: (_error, { status, text }) =>
    Buffer.from(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${text}\n`),
};

/** A reply is given once: later there is nothing left but to close. */
export const SOCKS_TUNNEL: TunnelAnswers = {
  stands: replyBytes(SocksReply.Granted),
  refused: (error, _refusal, stood) => (stood ? Buffer.alloc(0) : replyBytes(codeOf(error))),
};

function codeOf(error: unknown): SocksReply {
  if (!(error instanceof FetchError)) return SocksReply.Failed;
  switch (error.code) {
    case "denied":
    case "not-public":
    case "bad-url":
      return SocksReply.NotAllowed;
    case "unresolvable":
      return SocksReply.HostUnreachable;
    case "connect":
      return SocksReply.Refused;
    default:
      return SocksReply.Failed;
  }
}
