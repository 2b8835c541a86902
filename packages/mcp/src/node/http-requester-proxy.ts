// The way through an HTTP proxy: absolute URLs for plain HTTP, a tunnel for TLS.
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { LocalError } from "../jsonrpc/local-error.js";
import { quote, shownUrl } from "../transport/http-client/http-errors.js";

export interface Proxy {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** The URL, fit to be shown. */
  readonly shown: string;
  /** Headers that are the proxy's own. */
  readonly headers: readonly string[];
}

/** Throws a LocalError INVALID_URL for what is no http: or https: URL. */
export function proxyOf(url: string | URL): Proxy {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new LocalError("INVALID_URL", "The proxy is not a URL: write it like http://host:8080");
  }
  const { protocol, username, password, hostname } = parsed;
  if (protocol !== "http:" && protocol !== "https:") {
    throw new LocalError("INVALID_URL", `A proxy is reached by http: or https:, not by ${quote(protocol)}`);
  }
  const secure = protocol === "https:";
  const who = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const headers = who === ":" ? [] : ["proxy-authorization", `Basic ${Buffer.from(who).toString("base64")}`];
  const port = parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port);
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return { secure, host, port, shown: shownUrl(parsed.origin), headers };
}

/** A connection through `proxy` to `authority` (host and port). Calls `done` once; never later than `connectMs`. */
export function tunnel(
  proxy: Proxy,
  to: { readonly authority: string; readonly connectMs: number },
  done: (error: LocalError | undefined, socket?: Socket) => void,
): void {
  const { authority, connectMs } = to;
  const request = (proxy.secure ? httpsRequest : httpRequest)({
    method: "CONNECT",
    host: proxy.host,
    port: proxy.port,
    path: authority,
    agent: false,
    headers: ["host", authority, ...proxy.headers],
  });
  const timer = setTimeout(() => request.destroy(new Error(`it did not answer within ${connectMs} ms`)), connectMs);
  request.on("connect", (response, socket, head) => {
    clearTimeout(timer);
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode <= 299 && head.length === 0) return done(undefined, socket);
    socket.destroy();
    const hint = statusCode === 407 ? ": put user and password into the proxy's URL" : "";
    const what = `The proxy ${proxy.shown} does not connect to ${authority} (HTTP ${statusCode})${hint}`;
    done(new LocalError("UNREACHABLE", what));
  });
  request.on("error", (cause) => {
    clearTimeout(timer);
    done(new LocalError("UNREACHABLE", `The proxy ${proxy.shown} cannot be used: ${cause.message}`, { cause }));
  });
  request.end();
}
