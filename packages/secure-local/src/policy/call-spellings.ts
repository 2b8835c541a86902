// The other ways to write an argument that names a host or a URL: a condition of `when` holds for all of them.
import { domainToASCII, domainToUnicode } from "node:url";

const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "https:": "443",
  "ws:": "80",
  "wss:": "443",
  "ftp:": "21",
};
/** A scheme that has a host behind it. Blanks before it are no part of a URL. */
const URL_LIKE = /^[\s\0]*(?:https?|wss?|ftp|postgres(?:ql)?|git|ssh):/i;
const HOST_LIKE = /^\[?[^\s/?#@\\]+\]?$/;

/** The text itself first. Undefined when it looks like a URL and cannot be read as one. */
export function callSpellings(text: string): readonly string[] | undefined {
  if (URL_LIKE.test(text)) return urlSpellings(text);
  if (!HOST_LIKE.test(text) || !/[.:]|[^\x00-\x7f]/.test(text)) return [text];
  const parsed = URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`) : undefined;
  return parsed === undefined
    ? [text]
    : [...new Set([text, ...hostSpellings(parsed.hostname), ...hostSpellings(parsed.host)])];
}

function urlSpellings(text: string): readonly string[] | undefined {
  // Prose may begin like one.
  if (!URL.canParse(text)) return /\S\s+\S/.test(text) ? [text] : undefined;
  const url = new URL(text);
  const spellings = new Set([text, url.href]);
  const { protocol, host, hostname, pathname, search, hash } = url;
  const port = DEFAULT_PORTS[protocol];
  const hosts = [hostname, host, ...(url.port === "" && port !== undefined ? [`${hostname}:${port}`] : [])];
  for (const each of hosts.flatMap(hostSpellings))
    for (const path of new Set([pathname, decoded(pathname), pathname === "/" ? "" : pathname.replace(/\/+$/, "")]))
      for (const rest of [search + hash, decoded(search + hash), search, ""])
        spellings.add(`${protocol}//${each}${path}${rest}`);
  return [...spellings];
}

/** With and without the dot that ends a whole name, in the letters of the network and of people. */
function hostSpellings(host: string): string[] {
  const [, name = host, port = ""] = /^(.*?)(:\d+)?$/.exec(host) ?? [];
  const plain = name.replace(/\.+$/, "");
  const names = [name, plain, domainToASCII(plain), domainToUnicode(plain), plain.replace(/^\[|\]$/g, "")];
  return names.filter(Boolean).map((each) => each + port);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
