// Reads what a SOCKS 5 client says (RFC 1928) out of the bytes that have come so far, and writes the answers.
import { Buffer } from "node:buffer";

/** First byte of every message; HTTP begins with a letter. */
export const SOCKS_VERSION = 0x05;
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
export const SocksReply = {
  Granted: 0x00,
  Failed: 0x01,
  NotAllowed: 0x02,
  HostUnreachable: 0x04,
  Refused: 0x05,
  CommandUnknown: 0x07,
  AddressUnknown: 0x08,
} as const;
export type SocksReply = (typeof SocksReply)[keyof typeof SocksReply];

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
export interface SocksMessage<T> {
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
export function greetingAnswer(): Buffer {
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
export function replyBytes(code: SocksReply): Buffer {
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
