// List cursors: they carry the last name of the page before, so they survive restarts and changes of the set.
import { fromBase64, toBase64 } from "./base64.js";
import { fingerprint } from "./fingerprint.js";

/** Marks the format, so that a later one can tell. */
const VERSION = "1";

/** A cursor that goes on after `name` in the list of `kind`. */
export function cursorAfter(kind: string, name: string): string {
  const body = `${VERSION}${kind}\n${name}`;
  return toBase64Url(`${fingerprint(body)}${body}`);
}

/** The name a cursor goes on after, or undefined when it is not one of ours for this list. */
export function readCursor(kind: string, cursor: string): string | undefined {
  const text = fromBase64Url(cursor);
  if (text === undefined) return undefined;
  const body = text.slice(8);
  const prefix = `${VERSION}${kind}\n`;
  if (text.slice(0, 8) !== fingerprint(body) || !body.startsWith(prefix)) return undefined;
  return body.slice(prefix.length);
}

function toBase64Url(text: string): string {
  return toBase64(new TextEncoder().encode(text)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64Url(encoded: string): string | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(fromBase64(encoded));
  } catch {
    return undefined;
  }
}
