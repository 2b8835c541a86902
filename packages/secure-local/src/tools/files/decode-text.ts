// Finds out whether bytes are text, and in which encoding.

export type TextEncoding = "utf-8" | "utf-16le" | "utf-16be";

export interface DecodedText {
  readonly text: string;
  readonly encoding: TextEncoding;
  /** Whether it began with a byte order mark, which is no part of `text`. */
  readonly bom: boolean;
}

const MARKS: readonly (readonly [TextEncoding, readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];
/** Binary files show a zero byte early; text never has one. */
const LOOKED_AT = 8_192;

/** Undefined for what is no text: zero bytes, or bytes no encoding known here has. Never replaces a fault silently. */
export function decodeText(bytes: Uint8Array): DecodedText | undefined {
  const mark = MARKS.find(([, start]) => start.every((byte, index) => bytes[index] === byte));
  const encoding = mark?.[0] ?? "utf-8";
  if (encoding === "utf-8" && bytes.subarray(0, LOOKED_AT).includes(0)) return undefined;
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text: mark === undefined ? text : text.slice(1), encoding, bom: mark !== undefined };
  } catch {
    return undefined;
  }
}

/** The bytes of a text in the form it was decoded from. */
export function encodeText(text: string, { encoding, bom }: Omit<DecodedText, "text">): Uint8Array {
  const marked = bom ? `\ufeff${text}` : text;
  if (encoding === "utf-8") return new TextEncoder().encode(marked);
  const bytes = new Uint8Array(marked.length * 2);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < marked.length; index += 1) {
    view.setUint16(index * 2, marked.charCodeAt(index), encoding === "utf-16le");
  }
  return bytes;
}
