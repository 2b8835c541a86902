// Answers that are small on the wire and huge or endless once decoded, and encodings nobody asked for.
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";

const MB = 1_048_576;
/** The decoded form of most bombs; what compresses to a hundredth and less. */
const HUGE = 100 * MB;
/** As much as the product reads of one page. */
const PAGE = 2 * MB - 64;
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const zeros = (size = HUGE) => Buffer.alloc(size, 0x20);
let packed;
/** 100 MB in 100 kB, made once. */
const packedZeros = () => Buffer.from((packed ??= gzipSync(zeros())));

/** Compressed: to be refused before it is large. `body` is made by the server. */
export const COMPRESSED = {
  "gzip of 100 MB": { encoding: "gzip", body: () => packedZeros() },
  "gzip of 1 GB in members": { encoding: "gzip", body: () => repeated(packedZeros(), 10) },
  "gzip of 100 MB of one page": { encoding: "gzip", body: () => gzipSync(Buffer.alloc(HUGE, "<p>word</p>")) },
  "gzip of 100 MB of tags": { encoding: "gzip", body: () => gzipSync(Buffer.alloc(HUGE, "<b>")) },
  "gzip with a false length": { encoding: "gzip", body: () => falseLength(packedZeros()) },
  "gzip with empty members": { encoding: "gzip", body: () => repeated(gzipSync(Buffer.alloc(0)), 200_000) },
  "gzip with a name of 3 MB": { encoding: "gzip", body: () => longName(3 * MB) },
  "x-gzip of 100 MB": { encoding: "x-gzip", body: () => packedZeros() },
  "GZIP of 100 MB": { encoding: "GZIP", body: () => packedZeros() },
  "brotli of 100 MB": { encoding: "br", body: () => brotliCompressSync(zeros(), quick) },
  "brotli of 1 GB": { encoding: "br", body: () => brotliCompressSync(zeros(1_024 * MB), quick) },
  "brotli with the largest window": { encoding: "br", body: () => brotliCompressSync(zeros(), largeWindow()) },
  "just above a page, at a thousandth": { encoding: "gzip", body: () => gzipSync(zeros(2 * MB + 1)) },
  "a page at a thousandth": { encoding: "gzip", body: () => gzipSync(zeros(PAGE)) },
  "a page at a millionth": { encoding: "br", body: () => brotliCompressSync(zeros(PAGE)) },
  "gzip in gzip, named twice": { encoding: "gzip, gzip", body: () => gzipSync(packedZeros()) },
  "gzip in brotli": { encoding: "gzip, br", body: () => brotliCompressSync(packedZeros()) },
  "five layers": { encoding: "gzip,gzip,gzip,gzip,gzip", body: () => layers(5) },
  "gzip and identity": { encoding: "identity, gzip", body: () => packedZeros() },
  "two headers": { encoding: ["gzip", "gzip"], body: () => gzipSync(packedZeros()) },
  deflate: { encoding: "deflate", body: () => deflateSync(zeros()) },
  "raw deflate": { encoding: "deflate", body: () => deflateRawSync(zeros()) },
  // Node 20 has no decoder for it, and none is offered.
  zstd: { encoding: "zstd", body: () => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0]) },
  compress: { encoding: "compress", body: () => Buffer.from([0x1f, 0x9d, 0x90]) },
  "an encoding nobody knows": { encoding: "x".repeat(4_000), body: () => zeros(100) },
  "gzip that is none": { encoding: "gzip", body: () => zeros(MB) },
  "gzip broken off": { encoding: "gzip", body: () => packedZeros().subarray(0, 1_000), cut: true },
  "plain, 100 MB": { body: () => zeros() },
  "plain, with a length of 100 MB": { body: () => zeros(10), length: HUGE, cut: true },
  "chunks without end": { endless: () => zeros(65_536) },
  "chunks of one byte without end": { endless: () => Buffer.from("1\r\nx\r\n".repeat(8_192)), raw: true },
  "gzip without end": { encoding: "gzip", endless: () => gzipSync(zeros(8 * MB)) },
  "headers without end": { headers: () => "x-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(40_000) },
  "a header of a megabyte": { headers: () => `x-filler: ${"a".repeat(MB)}\r\n` },
  "a quine-like archive": { type: "application/zip", body: () => Buffer.from("PK\u0003\u0004".repeat(10_000)) },
  "gzip that is a file": { type: "application/gzip", body: () => packedZeros() },
};

function repeated(bytes, times) {
  return Buffer.concat(Array.from({ length: times }, () => bytes));
}

function layers(count) {
  let bytes = packedZeros();
  for (let layer = 1; layer < count; layer += 1) bytes = gzipSync(bytes);
  return bytes;
}

function falseLength(bytes) {
  bytes.writeUInt32LE(100, bytes.length - 4);
  return bytes;
}

function longName(size) {
  const head = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]);
  return Buffer.concat([head, Buffer.alloc(size, 0x61), Buffer.from([0]), gzipSync("x").subarray(10)]);
}

function largeWindow() {
  return { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 24 } };
}
