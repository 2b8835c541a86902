// What binds a login to its connection is the hash of the server's certificate, by the hash that the certificate is signed with.
import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { certificateHash } from "../../src/capabilities/databases/postgres-connection.js";

/** An element of DER with this content. */
function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((value) => {
    const digits = [value & 127];
    for (let more = value >> 7; more > 0; more >>= 7) digits.unshift((more & 127) | 128);
    return digits;
  });
  return element(6, Buffer.from(bytes));
}

/** As much of a certificate as is looked at: what is signed, and by which algorithm. */
function certificate(signedBy: string, length: number): Buffer {
  return element(0x30, element(0x30, Buffer.alloc(length, 7)), element(0x30, objectIdentifier(signedBy)), element(3));
}

it.each([
  ["MD5 with RSA", "1.2.840.113549.1.1.4", "sha256"],
  ["SHA-1 with RSA", "1.2.840.113549.1.1.5", "sha256"],
  ["SHA-256 with RSA", "1.2.840.113549.1.1.11", "sha256"],
  ["SHA-384 with RSA", "1.2.840.113549.1.1.12", "sha384"],
  ["SHA-512 with RSA", "1.2.840.113549.1.1.13", "sha512"],
  ["SHA-224 with RSA", "1.2.840.113549.1.1.14", "sha224"],
  ["SHA-1 with ECDSA", "1.2.840.10045.4.1", "sha256"],
  ["SHA-224 with ECDSA", "1.2.840.10045.4.3.1", "sha224"],
  ["SHA-256 with ECDSA", "1.2.840.10045.4.3.2", "sha256"],
  ["SHA-384 with ECDSA", "1.2.840.10045.4.3.3", "sha384"],
  ["SHA-512 with ECDSA", "1.2.840.10045.4.3.4", "sha512"],
  ["RSA-PSS, which names its hash elsewhere", "1.2.840.113549.1.1.10", undefined],
  ["Ed25519, which has none", "1.3.101.112", undefined],
])("%s", (_what, signedBy, hash) => {
  for (const length of [0, 100, 127, 128, 200, 255, 256, 1_500]) {
    const der = certificate(signedBy, length);
    const expected = hash && createHash(hash).update(der).digest("hex");
    expect(certificateHash(der)?.toString("hex")).toBe(expected);
  }
});
