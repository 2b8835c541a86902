// Reads a URL into what node:http needs to reach it: TCP, TLS, or a Unix socket.
import { LocalError } from "../jsonrpc/local-error.js";
import { shownUrl } from "../transport/http-client/http-errors.js";

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
export function targetOf(url: string): HttpTarget {
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
