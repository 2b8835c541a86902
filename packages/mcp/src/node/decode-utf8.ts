// Bytes to text at the speed of memory where they are ASCII, as nearly every message is.

// Asked for by name: importing it would make Node load files and blobs too.
const { isAscii, isUtf8 } = process.getBuiltinModule("node:buffer");
// Made once: whoever floods us with bad bytes must not make us write a stack trace for each line.
const NOT_UTF8 = new TypeError("The bytes are not UTF-8");

/** Keeps a byte order mark as a character. Throws a TypeError when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // ASCII becomes a one-byte string.
  if (isAscii(bytes)) return buffer.toString("latin1");
  if (!isUtf8(bytes)) throw NOT_UTF8;
  return buffer.toString("utf8");
}
