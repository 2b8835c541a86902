// Encrypts a connection to a PostgreSQL server, and names what the two ends of it can bind an authentication to.
import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { PostgresUrl } from "./postgres-url.js";
import { frame } from "./postgres-wire.js";

const SSL_REQUEST = 80_877_103;

/** A connection, and what only its two ends know alike (RFC 5929, tls-server-end-point); undefined where there is no such thing. */
export interface Encrypted {
  readonly socket: Socket;
  readonly endPoint: Buffer | undefined;
}

/** @throws Error whose message holds nothing secret */
export async function encrypted(socket: Socket, url: PostgresUrl): Promise<Encrypted> {
  const { host, encryption, authorities } = url;
  if (encryption === "none") return { socket, endPoint: undefined };
  socket.write(frame("", SSL_REQUEST));
  const [answer] = (await onceOrFail(socket, "data")) as [Buffer];
  // One byte and no more: what comes with it came before the encryption, from whoever was in between.
  if (answer.toString("latin1") !== "S") {
    if (encryption === "if-offered" && answer.toString("latin1") === "N") return { socket, endPoint: undefined };
    throw new Error("the server offers no encryption");
  }
  const tls = await import("node:tls");
  const { isIP } = await import("node:net");
  const names = isIP(host) === 0 ? { servername: host } : { host };
  const trusted = authorities === undefined ? {} : { ca: await readAuthorities(authorities) };
  const secure = tls.connect({ socket, ...names, ...trusted, rejectUnauthorized: encryption === "verified" });
  await onceOrFail(secure, "secureConnect").catch((error: unknown) => {
    const { code = "" } = error as { readonly code?: string };
    throw CERTIFICATE.test(code) ? new Error("the server's certificate is not trusted") : error;
  });
  return { socket: secure, endPoint: endPointOf(secure) };
}

/** How TLS calls what it does not like about a certificate. */
const CERTIFICATE = /CERT|SIGNATURE|ALTNAME|ISSUER|CHAIN/;

async function readAuthorities(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => {
    throw new Error("the file of its sslrootcert cannot be read");
  });
}

export async function onceOrFail(socket: Socket, event: string): Promise<unknown[]> {
  const ended = new AbortController();
  const closed = once(socket, "close", { signal: ended.signal }).then(() => {
    throw new Error("the server closed the connection");
  });
  try {
    return await Promise.race([once(socket, event, { signal: ended.signal }), closed]);
  } finally {
    closed.catch(() => undefined);
    ended.abort();
  }
}

/** The hash of the certificate is the one it is signed with, and SHA-256 where that is weaker (RFC 5929, section 4.1). */
const HASHES: ReadonlyMap<string, string> = new Map([
  // RSA with MD5, SHA-1, SHA-256, SHA-384, SHA-512, SHA-224 (RFC 8017), then ECDSA likewise (RFC 5758).
  ["2a864886f70d010104", "sha256"],
  ["2a864886f70d010105", "sha256"],
  ["2a864886f70d01010b", "sha256"],
  ["2a864886f70d01010c", "sha384"],
  ["2a864886f70d01010d", "sha512"],
  ["2a864886f70d01010e", "sha224"],
  ["2a8648ce3d0401", "sha256"],
  ["2a8648ce3d040301", "sha224"],
  ["2a8648ce3d040302", "sha256"],
  ["2a8648ce3d040303", "sha384"],
  ["2a8648ce3d040304", "sha512"],
]);

function endPointOf(secure: TLSSocket): Buffer | undefined {
  const der = secure.getPeerX509Certificate()?.raw;
  const hash = der && HASHES.get(signatureOf(der));
  return der && hash !== undefined ? createHash(hash).update(der).digest() : undefined;
}

/** The object identifier of a certificate's signature in hexadecimal: SEQUENCE { tbs, SEQUENCE { OID … } … } (RFC 5280). */
function signatureOf(der: Buffer): string {
  const signed = part(der, part(der, 0).from);
  const oid = part(der, part(der, signed.to).from);
  return der.toString("hex", oid.from, oid.to);
}

/** Where the content of the element at `at` begins and ends (X.690, definite lengths). */
function part(der: Buffer, at: number): { readonly from: number; readonly to: number } {
  const first = der[at + 1] ?? 0;
  const more = first < 0x80 ? 0 : first & 0x7f;
  const from = at + 2 + more;
  const length = more === 0 ? first : Number.parseInt(der.toString("hex", at + 2, from), 16);
  return { from, to: from + length };
}
