// Where a request goes, and the words for what went wrong on the way.
import { LocalError } from "../jsonrpc/errors.js";
import { shownUrl } from "../http/client/http-caller.js";
import { HEADER_BYTES } from "./http-response-parser.js";

/** A URL as it is reached: over TCP, TLS, or a Unix socket. */
export interface HttpTarget {
  readonly url: string;
  /** The URL, fit to be shown. */
  readonly shown: string;
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly path: string;
  /** Value of the Host header. */
  readonly authority: string;
}

/**
 * Understands `http:`, `https:`, `unix:///path.sock#/mcp` and `http+unix://%2Fpath.sock/mcp`. Throws a LocalError
 * NOT_SUPPORTED for other schemes.
 */
export function httpTarget(url: string): HttpTarget {
  const parsed = new URL(url);
  const { protocol } = parsed;
  if (protocol === "http:" || protocol === "https:") {
    const secure = protocol === "https:";
    // Brackets around an IPv6 address belong to the URL only.
    const host = parsed.hostname.startsWith("[") ? parsed.hostname.slice(1, -1) : parsed.hostname;
    const port = parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port);
    const path = parsed.pathname + parsed.search;
    return { url, shown: shownUrl(url), secure, host, port, socketPath: undefined, path, authority: parsed.host };
  }
  if (protocol === "unix:") return local(url, decodeURIComponent(parsed.pathname), parsed.hash.slice(1));
  if (protocol === "http+unix:") return local(url, decodeURIComponent(parsed.host), parsed.pathname + parsed.search);
  throw new LocalError("NOT_SUPPORTED", `${protocol} URLs cannot be reached: use http:, https: or unix:`);
}

function local(url: string, socketPath: string, path: string): HttpTarget {
  if (!socketPath.startsWith("/")) {
    throw new LocalError("NOT_SUPPORTED", "A unix: URL needs an absolute path, like unix:///run/server.sock#/mcp");
  }
  const target = path === "" ? "/" : path;
  const shown = shownUrl(url);
  return { url, shown, secure: false, host: "localhost", port: 80, socketPath, path: target, authority: "localhost" };
}

/** The encoding of a body that has to be undone, from its header. */
export function encodingOf(header: string | undefined): string | undefined {
  return ["", "identity"].includes(header?.trim().toLowerCase() ?? "") ? undefined : header;
}

// The words for failures, the same however a request is sent.

export function notHttp(shown: string, tooLong: boolean, cause: unknown): LocalError {
  const what = tooLong ? `with more than ${HEADER_BYTES} bytes of headers` : "with something that is not HTTP";
  return new LocalError("INVALID_RESPONSE", `${shown} answered ${what}: is it the MCP endpoint?`, { cause });
}

export function otherProtocol(shown: string): LocalError {
  const what = `${shown} answered by changing to another protocol (HTTP 101): is it the MCP endpoint?`;
  return new LocalError("INVALID_RESPONSE", what);
}

/** Of a request without an answer. `connected`: something of it may have been sent. */
export function lostRequest(error: NodeJS.ErrnoException, shown: string, connected: boolean): LocalError {
  const { code = "", message } = error;
  if (error instanceof LocalError) return error;
  if (!connected) {
    const what = `${shown} cannot be reached: ${reason(code, message)}`;
    return new LocalError("UNREACHABLE", what, { cause: error });
  }
  const what = `the connection to ${shown} was lost before an answer came (${reason(code, message)})`;
  return new LocalError("OUTCOME_UNKNOWN", what, { cause: error });
}

export function cutAnswer(shown: string, cause: unknown): LocalError {
  return new LocalError("OUTCOME_UNKNOWN", `the connection to ${shown} was cut within the answer`, { cause });
}

export function tooLongAnswer(shown: string, maxBytes: number): LocalError {
  const what = `${shown} answered with more than ${maxBytes} bytes`;
  return new LocalError("LIMIT", `${what}. Ask for less, or raise limits.messageBytes.`);
}

export function notUtf8(shown: string): LocalError {
  return new LocalError("INVALID_RESPONSE", `${shown} answered with something that is not UTF-8`);
}

export function isClosedConnection({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNRESET" || code === "EPIPE";
}

function reason(code: string, message: string): string {
  if (code === "ECONNREFUSED")
    return "nothing listens there (ECONNREFUSED). Is the server running, and the port right?";
  if (code === "ENOTFOUND") return "its name is unknown (ENOTFOUND). Check the host in the URL";
  if (code === "ENOENT") return "there is no such socket file (ENOENT). Is the server running?";
  if (/CERT|SELF_SIGNED|ALTNAME/.test(code))
    return `its certificate is not trusted (${code}). Give its authority in the option ca`;
  return code === "" || message.includes(code) ? message : `${message} (${code})`;
}

// The connections of a requester: kept for the next request, bounded, and given up when they do not come about.

/** The worst of networks needs a few seconds; a firewall that drops packets would need minutes. */
export const CONNECT_MS = 10_000;
/** All requests a transport may have open, its posts and its standing stream, with room to spare. */
export const CONNECTIONS = 2_048;
/** A burst leaves this many connections for the next one. */
export const IDLE_CONNECTIONS = 64;
/** Below the 5 s after which Node's servers close: whoever sends on a connection just closed learns nothing. */
export const IDLE_MS = 4_000;
/** First probe of a silent connection: a peer that vanished is noticed within minutes. */
export const PROBE_MS = 30_000;

export function tooSlow(connectMs: number): LocalError {
  const what = `No connection came about within ${connectMs} ms: check host and port, and firewalls on the way`;
  return new LocalError("UNREACHABLE", what);
}
