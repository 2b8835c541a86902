// Reads `git:` URIs: which repository, which branch, tag or commit, and which path in it.
import { FileError } from "../files/files.js";

export interface GitAddress {
  /** Absolute path of the repository's folder. */
  readonly repository: string;
  readonly ref: string;
  /** Names and slashes; empty is the top folder. */
  readonly path: string;
}

const LONGEST_VALUE = 4_096;
const MEMBERS: ReadonlySet<string> = new Set(["ref", "path"]);

export function isGitUri(uri: string): boolean {
  return /^git:/i.test(uri);
}

/**
 * Without `ref` HEAD is meant, without `path` the top folder.
 * @throws FileError `bad-path` for other machines, fragments, unknown or repeated members, dot segments and bad encodings
 */
export function gitAddress(uri: string): GitAddress {
  const wrong = (why: string): FileError => new FileError("bad-path", `${JSON.stringify(uri.slice(0, 200))} ${why}.`);
  const [, place, query = ""] = /^git:\/\/(\/[^?#]*)(?:\?([^#]*))?$/i.exec(uri) ?? [];
  if (place === undefined) throw wrong("is no URI of a local repository; such a one begins with git:///");
  const members = new Map<string, string>();
  for (const member of query.split("&").filter(Boolean)) {
    const equals = member.indexOf("=");
    const name = member.slice(0, equals);
    if (equals < 0 || !MEMBERS.has(name) || members.has(name))
      throw wrong("may have a ref and a path once each, and nothing else");
    members.set(name, decoded(member.slice(equals + 1), wrong));
  }
  const repository = place.split("/").map((name) => decoded(name, wrong));
  if (repository.some((name) => isDots(name) || name.includes("/"))) throw wrong("has dot segments or encoded slashes");
  const path = (members.get("path") ?? "").replace(/\/$/, "");
  if (path !== "" && path.split("/").some((name) => name === "" || isDots(name))) {
    throw wrong(
      "has a path with empty names or dot segments; write it from the top folder on, without a slash before it",
    );
  }
  return { repository: drive(repository.join("/")), ref: members.get("ref") || "HEAD", path };
}

function decoded(text: string, wrong: (why: string) => FileError): string {
  if (text.length > LONGEST_VALUE) throw wrong("is too long");
  let value: string;
  try {
    value = decodeURIComponent(text);
  } catch {
    throw wrong("is not well encoded");
  }
  if (value.includes("\0") || value.includes("\\")) throw wrong("has a NUL or a backslash");
  return value;
}

function isDots(name: string): boolean {
  return name === "." || name === "..";
}

function drive(path: string): string {
  return process.platform === "win32" ? path.replace(/^\/(?=[A-Za-z]:)/, "") : path;
}
