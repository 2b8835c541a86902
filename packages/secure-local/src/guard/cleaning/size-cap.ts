// Cuts a text to a number of UTF-8 bytes and says how much is gone.
import { Buffer } from "node:buffer";

/** Room kept for the note, which is at most 45 bytes long; also the least a text is ever cut to. */
const NOTE_BYTES = 64;

const encoder = new TextEncoder();

/**
 * Returns `text` when it has at most `maxBytes` bytes of UTF-8, else its beginning and the line
 * `[... N bytes removed ...]`, together within `maxBytes` (which counts as 64 when it is less).
 */
export function capBytes(text: string, maxBytes: number): string {
  const cap = Math.max(maxBytes, NOTE_BYTES);
  if (text.length * 3 <= cap) return text; // no UTF-16 unit needs more than three bytes
  const size = Buffer.byteLength(text);
  if (size <= cap) return text;
  const kept = encoder.encodeInto(text, new Uint8Array(cap - NOTE_BYTES));
  // The note starts on a line of its own, so an escape sequence cut in two cannot swallow it.
  return `${text.slice(0, kept.read)}\n[... ${size - kept.written} bytes removed ...]`;
}
