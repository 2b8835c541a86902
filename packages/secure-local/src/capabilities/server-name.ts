// Reads the server name out of the first record of a TLS connection (RFC 8446 4.1.2, RFC 6066 3).
import type { Buffer } from "node:buffer";

const HANDSHAKE = 0x16;
const CLIENT_HELLO = 0x01;
const SERVER_NAME = 0x0000;
const HOST_NAME = 0x00;
/** Client hello: type, length, version, random. */
const BEFORE_SESSION = 4 + 2 + 32;

/** Whether bytes begin as a TLS connection does. */
export function isHandshake(bytes: Buffer): boolean {
  return bytes[0] === HANDSHAKE;
}

/** The name, empty when the hello has none; undefined when the record holds no whole client hello. */
export function serverNameOf(record: Buffer): string | undefined {
  try {
    return readName(record);
  } catch {
    // Shorter than its lengths say.
    return undefined;
  }
}

function readName(record: Buffer): string | undefined {
  if (record.readUInt8(0) !== HANDSHAKE || record.readUInt8(5) !== CLIENT_HELLO) return undefined;
  const body = record.subarray(5, 5 + record.readUInt16BE(3));
  let at = BEFORE_SESSION;
  at += 1 + body.readUInt8(at); // session id
  at += 2 + body.readUInt16BE(at); // cipher suites
  at += 1 + body.readUInt8(at); // compression methods
  if (at === body.length) return "";
  const end = at + 2 + body.readUInt16BE(at);
  if (end > body.length) return undefined;
  at += 2;
  while (at < end) {
    const kind = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    if (kind === SERVER_NAME) return hostName(body.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return "";
}

/** A list of one name; more than one would let the two ends read different ones. */
function hostName(list: Buffer): string | undefined {
  const length = list.readUInt16BE(3);
  if (list.readUInt8(2) !== HOST_NAME || list.readUInt16BE(0) !== length + 3 || list.length !== length + 5)
    return undefined;
  return list.toString("latin1", 5);
}
