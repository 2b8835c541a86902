// Reads `file:` URIs as paths and writes them, strictly: one path has one meaning, however it is encoded.
import { FileError } from "./files.js";
import { namesOf } from "./plain-path.js";

const LOCAL = /^file:\/\/(?:localhost)?(?=\/)/i;

/** Whether a URI is a `file:` URI at all. */
export function isFileUri(uri: string): boolean {
  return /^file:/i.test(uri);
}

/** The path, decoded once. @throws FileError `bad-path` for other machines, queries, encoded slashes and dot segments */
export function pathOfUri(uri: string): string {
  const rest = LOCAL.test(uri) ? uri.replace(LOCAL, "") : undefined;
  if (rest === undefined) throw bad(uri, "is no URI of a local file; such a one begins with file:///");
  if (/[?#]/.test(rest)) throw bad(uri, "has a query or fragment; write ? as %3F and # as %23");
  const names = rest.split("/").map((name) => decoded(uri, name));
  if (names.some((name) => name === "." || name === "..")) throw bad(uri, "has dot segments");
  const path = names.join("/");
  return process.platform === "win32" ? path.replace(/^\/(?=[A-Za-z]:)/, "") : path;
}

/** The URI of a plain path. */
export function uriOfPath(path: string): string {
  const names = namesOf(path).map((name) => encodeURIComponent(name).replace(/%3A$/, ":"));
  return `file:///${names.join("/")}`;
}

function decoded(uri: string, name: string): string {
  let text: string;
  try {
    text = decodeURIComponent(name);
  } catch {
    throw bad(uri, "is not well encoded");
  }
  if (/[/\0]/.test(text) || (process.platform === "win32" && text.includes("\\"))) {
    throw bad(uri, "has an encoded slash or NUL in a name");
  }
  return text;
}

function bad(uri: string, why: string): FileError {
  return new FileError("bad-path", `${JSON.stringify(uri.slice(0, 200))} ${why}.`);
}
