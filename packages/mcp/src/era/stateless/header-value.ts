// Reads and writes header values that may be Base64 between `=?base64?` and `?=`: strictly, or not at all.

const PREFIX = "=?base64?";
const SUFFIX = "?=";

/** The text a header stands for; undefined when it is badly encoded or holds what no header may hold unencoded. */
export function decodeHeader(raw: string): string | undefined {
  const value = raw.trim();
  if (!/^[ -~]*$/.test(value)) return undefined;
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX) || value.length < PREFIX.length + SUFFIX.length)
    return value;
  return decodeBase64(value.slice(PREFIX.length, -SUFFIX.length));
}

/** The header for a text: as it is where it can stand there, otherwise Base64 in the same marks. */
export function encodeHeader(text: string): string {
  const plain = /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !(text.startsWith(PREFIX) && text.endsWith(SUFFIX));
  if (plain) return text;
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return PREFIX + btoa(binary) + SUFFIX;
}

// `atob` forgives missing padding and stray bits; another reader of the same header might not, so both are refused.
function decodeBase64(text: string): string | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  const binary = atob(text);
  if (btoa(binary) !== text) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(binary, (character) => character.charCodeAt(0)),
    );
  } catch {
    return undefined;
  }
}
