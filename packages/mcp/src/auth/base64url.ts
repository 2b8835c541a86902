// Reads and writes base64url, where exactly one spelling of any bytes is accepted (RFC 7515 §2, RFC 4648 §3.5).

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Whether `text` is the one spelling of some bytes: no padding, no spaces, no stray bits in the last character. */
export function isCanonicalBase64url(text: string): boolean {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return false;
  const rest = text.length % 4;
  if (rest === 0) return true;
  if (rest === 1) return false;
  const last = ALPHABET.indexOf(text[text.length - 1] as string);
  return rest === 2 ? (last & 0b1111) === 0 : (last & 0b11) === 0;
}

/** Bytes of text that `isCanonicalBase64url` accepts. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** For a few bytes: digests and nonces. */
export function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
