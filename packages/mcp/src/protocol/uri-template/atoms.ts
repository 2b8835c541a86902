// Cuts a URI into the units matching works on: one character each, percent-encoded or not.

/** Character classes of atoms, as bits. An atom of class 0 cannot stand in a URI. */
export const UNRESERVED = 1;
export const COMMA = 2;
export const SLASH = 4;
export const QUESTION = 8;
export const HASH = 16;
export const OTHER_RESERVED = 32;
export const ANY_RESERVED: number = COMMA | SLASH | QUESTION | HASH | OTHER_RESERVED;

const CLASS_OF_ASCII = new Uint8Array(128);
for (const [characters, bits] of [
  ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", UNRESERVED],
  [":[]@!$&'()*+;=", OTHER_RESERVED],
  [",", COMMA],
  ["/", SLASH],
  ["?", QUESTION],
  ["#", HASH],
] as const) {
  for (const character of characters) CLASS_OF_ASCII[character.charCodeAt(0)] = bits;
}

/** A URI in atoms. */
export interface Atoms {
  /** Where each atom begins in the text; one entry more than there are atoms. */
  readonly starts: Int32Array;
  readonly classes: Uint8Array;
  readonly count: number;
}

const PERCENT = 0x25;

/** Undefined when a percent sign encodes nothing. Characters beyond ASCII pass as they are: people type them. */
export function atomsOf(text: string): Atoms | undefined {
  const starts = new Int32Array(text.length + 1);
  const classes = new Uint8Array(text.length);
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    const code = text.charCodeAt(at);
    starts[count] = at;
    classes[count] = code < 128 && code !== PERCENT ? (CLASS_OF_ASCII[code] as number) : UNRESERVED;
    const length = code === PERCENT ? encodedLength(text, at) : (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
    if (length === 0) return undefined;
    at += length;
  }
  starts[count] = text.length;
  return { starts, classes, count };
}

/** Length of the encoded character at `at`, all its bytes together; 0 when it is not one. */
function encodedLength(text: string, at: number): number {
  const lead = byteAt(text, at);
  const bytes = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (lead < 0 || bytes === 0) return 0;
  for (let i = 1; i < bytes; i++) {
    const byte = byteAt(text, at + 3 * i);
    if (byte < 0x80 || byte > 0xbf) return 0;
  }
  return 3 * bytes;
}

function byteAt(text: string, at: number): number {
  if (text.charCodeAt(at) !== PERCENT) return -1;
  const high = hexDigit(text.charCodeAt(at + 1));
  const low = hexDigit(text.charCodeAt(at + 2));
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
