// The errors of HTTP links: what went wrong, at which URL, and what to do; without secrets and control characters.
import { LocalError } from "../../jsonrpc/local-error.js";
import { visibleText } from "../../jsonrpc/visible-text.js";

/** A reply that refuses. `code` is UNAUTHORIZED for 401 and HTTP_STATUS for every other. */
export class HttpStatusError extends LocalError {
  override readonly name: string = "HttpStatusError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(status === 401 ? "UNAUTHORIZED" : "HTTP_STATUS", message);
    this.status = status;
  }
}

// As much as two lines of a terminal show.
const QUOTED = 300;

/** The start of foreign text on one line, fit to be printed. */
export function quote(text: string): string {
  return visibleText(text.trim(), QUOTED);
}

/** A URL as it may be shown: without user, password, fragment and the values of its query. */
export function shownUrl(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return quote(url.replace(/[?#].*$/s, "").replace(/\/\/[^/]*@/, "//"));
  }
  const { protocol, host, pathname, hash } = parsed;
  // The fragment of a unix: URL is the path at the server.
  const base = host === "" ? `${protocol}//${pathname}${hash}` : `${protocol}//${host}${pathname}`;
  const names = [...parsed.searchParams.keys()].map((name) => `${encodeURIComponent(name)}=…`);
  return quote(names.length === 0 ? base : `${base}?${names.join("&")}`);
}

/** Says what a refusing status usually means here, and what to do about it. `shown` is a URL fit to be shown. */
export function statusError(status: number, shown: string, body: string): HttpStatusError {
  const said = quote(looksLikeHtml(body) ? "an HTML page" : body);
  const answer = said === "" ? "" : `: ${said}`;
  return new HttpStatusError(status, `${shown} answered with HTTP ${status}${answer}. ${advice(status)}`);
}

function advice(status: number): string {
  if (status === 401) return "It wants authorization: give a token in `headers`, or an authorizer.";
  if (status === 403)
    return "What authorizes this client does not allow it: check its scopes, or the server's allowed origins.";
  if (status === 404 || status === 405) return "Is it the URL of the MCP endpoint? Its path is often /mcp or /sse.";
  if (status === 407) return "The proxy wants authorization: put user and password into the proxy's URL.";
  if (status === 429 || status === 503) return "It is busy: try again later.";
  if (status >= 500) return "The fault is the server's: look into its log.";
  return "Check the URL and the headers.";
}

export function looksLikeHtml(text: string): boolean {
  return /^\s*(?:<!doctype html|<html)/i.test(text.slice(0, 200));
}
