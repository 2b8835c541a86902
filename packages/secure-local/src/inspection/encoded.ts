// Decodes what stands encoded in a text: honest texts have no orders or commands in base64.

/** Longer runs are data; a text that wants to be decoded by a model is short. */
const MAX_DECODED = 16_384;
/** Runs looked at in one text. */
const MAX_RUNS = 50;
const BASE64 = /[A-Za-z0-9+/_-]{16,16384}={0,2}/g;
const HEX = /(?:[0-9a-fA-F]{2}[ :]?){10,4096}/g;
/** Fewer escapes in a row are an example of one. */
const LEAST_ESCAPES = 6;
const ONE_ESCAPED =
  /\\x([0-9a-fA-F]{2})|\\u\{?([0-9a-fA-F]{2,6})\}?|%([0-9a-fA-F]{2})|&#(\d{2,6});|&#x([0-9a-fA-F]{2,6});/g;
/** Part of a text that counts as readable. */
const READABLE = 0.9;

/** What it says once it is decoded, for everything that then reads like words. */
export function decodedTexts(text: string): string[] {
  const found: string[] = [];
  for (const [run] of text.matchAll(BASE64)) {
    if (found.length >= MAX_RUNS) break;
    add(found, fromBase64(run));
  }
  for (const [run] of text.matchAll(HEX)) if (found.length < MAX_RUNS) add(found, fromHex(run));
  for (const run of escapedRuns(text)) if (found.length < MAX_RUNS) add(found, fromEscapes(run));
  if (/\brot-?13\b/i.test(text)) found.push(text.replaceAll(/[a-z]/gi, turned));
  return found;
}

/** Stretches of nothing but escapes. */
function escapedRuns(text: string): string[] {
  const runs: string[] = [];
  let [start, end, count] = [0, -1, 0];
  const close = (): void => {
    if (count >= LEAST_ESCAPES) runs.push(text.slice(start, end));
  };
  for (const { 0: escape, index } of text.matchAll(ONE_ESCAPED)) {
    if (index !== end) {
      close();
      [start, count] = [index, 0];
    }
    end = index + escape.length;
    count += 1;
  }
  close();
  return runs;
}

function add(found: string[], decoded: string | undefined): void {
  if (decoded !== undefined && isReadable(decoded)) found.push(decoded.slice(0, MAX_DECODED));
}

function fromBase64(run: string): string | undefined {
  // A word or a path is in the same alphabet.
  if (/^[a-z]+$|^[A-Z_]+$|^[a-z_-]+$|^[\d-]+$/.test(run)) return undefined;
  try {
    const binary = atob(run.replaceAll("-", "+").replaceAll("_", "/").replaceAll("=", ""));
    return utf8(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

function fromHex(run: string): string | undefined {
  const digits = run.replaceAll(/[ :]/g, "");
  const bytes = Uint8Array.from({ length: Math.floor(digits.length / 2) }, (_, index) =>
    Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16),
  );
  return utf8(bytes);
}

function fromEscapes(run: string): string {
  return run.replaceAll(
    ONE_ESCAPED,
    (_, byte?: string, unit?: string, percent?: string, decimal?: string, hex?: string) => {
      const code = decimal === undefined ? Number.parseInt(byte ?? unit ?? percent ?? hex ?? "0", 16) : Number(decimal);
      return code < 0x110000 ? String.fromCodePoint(code) : "";
    },
  );
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isReadable(text: string): boolean {
  if (text.length < 8) return false;
  const letters = text.match(/[\p{L}\p{N} ,.'"~/$|&;:()-]/gu)?.length ?? 0;
  return letters >= text.length * READABLE;
}

function turned(letter: string): string {
  const base = letter < "a" ? 65 : 97;
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
}
