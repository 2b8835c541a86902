// What people give an HTTP link, checked before anything is sent.
import { LocalError } from "../../jsonrpc/local-error.js";
import { quote, shownUrl } from "./http-errors.js";

const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "unix:", "http+unix:"]);

/** The URL as text. Throws a LocalError INVALID_URL that says what is wrong with it. */
export function usableUrl(url: string | URL): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new LocalError("INVALID_URL", `${shownUrl(String(url))} is not a URL: write it like https://host/mcp`);
  }
  const shown = shownUrl(parsed.href);
  if (!SCHEMES.has(parsed.protocol)) {
    throw new LocalError("INVALID_URL", `${shown} is not a URL for HTTP: write it like https://host/mcp`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    const what = "has a user or password in it, which would end up in logs";
    throw new LocalError("INVALID_URL", `${shown} ${what}: give the header authorization instead`);
  }
  return parsed.href;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
// These belong to the connection and the body: a wrong one makes two requests of one.
const FRAMING: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "expect",
]);

/** Headers by lower-case name. Throws a TypeError naming the one that cannot be sent. */
export function ownHeaders(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const checked: Record<string, string> = {};
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (!TOKEN.test(name) || FRAMING.has(name)) throw new TypeError(`"${quote(given)}" cannot be given as a header`);
    if (typeof value !== "string" || !VALUE.test(value)) {
      throw new TypeError(`The value of the header ${name} has characters no header can hold`);
    }
    checked[name] = value;
  }
  return checked;
}
