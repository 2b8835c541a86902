// Paths as the bytes that the system has for them, one character for each byte: what is no UTF-8 leads where it leads, and not where
// it would by the text it is decoded to.
import { Buffer } from "node:buffer";
import { exactText } from "../../sandbox/exact-text.js";

/** Has the slashes of a path where a path has them, so what splits and joins paths works with it. */
export type BytePath = string;

/** Nothing but ASCII, as most paths are: byte and character are the same. */
const PLAIN = /^[\u0020-\u007e]*$/;

export function bytesOfPath(text: string): BytePath {
  return PLAIN.test(text) ? text : Buffer.from(text).toString("latin1");
}

/** What the file system is asked with. */
export function asked(path: BytePath): string | Buffer {
  return PLAIN.test(path) ? path : Buffer.from(path, "latin1");
}

/** Undefined for what is no UTF-8: no rule names it and no tool gets to it. */
export function textOfPath(path: BytePath): string | undefined {
  return PLAIN.test(path) ? path : exactText(Buffer.from(path, "latin1"));
}

/** What it looks like: for comparing with protected names, of which the wrong bytes can only be what a star stands for. */
export function looksLike(path: BytePath): string {
  return PLAIN.test(path) ? path : Buffer.from(path, "latin1").toString();
}
