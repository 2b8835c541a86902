// Waits on this machine for the browser to come back from the authorization server (RFC 8252 §7.3).
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { LocalError } from "../jsonrpc/local-error.js";

export interface ListenerOptions {
  /** Path of the redirect URI. Default: "/callback". */
  readonly path?: string;
  /** Port to try first; any other is taken when it is in use. Default: the system's choice. */
  readonly preferredPort?: number;
}

export interface RedirectListener {
  readonly uri: string;
  /** The URL of the first request that has this state; all others are refused. Rejects with `TIMEOUT`. Called once. */
  answer(state: string, timeoutMs: number): Promise<string>;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** A browser opens a few connections; others have no business here. */
const MAX_CONNECTIONS = 16;
/** Longest time for a request to arrive. */
const REQUEST_MS = 5_000;
/** Longest request line and headers: codes of real servers stay under 4 KiB. */
const HEADER_BYTES = 16 * 1024;

/** Nothing of the request is in it. */
const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Authorization</title><p>You can close this window and go back to the program.</p></html>`;
const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  connection: "close",
};

/** Listens on the loopback interface only. Rejects with `AUTH_REDIRECT` where that is not possible. */
export async function listenForRedirect(options: ListenerOptions = {}): Promise<RedirectListener> {
  const { path = "/callback", preferredPort = 0 } = options;
  const server = createServer({ maxHeaderSize: HEADER_BYTES, requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS });
  server.maxConnections = MAX_CONNECTIONS;
  const port = await bind(server, preferredPort);
  return new Listener(server, port, path);
}

class Listener implements RedirectListener {
  readonly uri: string;
  readonly #server: Server;
  readonly #host: string;
  readonly #path: string;
  #expected: { readonly state: string; readonly take: (url: string) => void } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(server: Server, port: number, path: string) {
    this.#server = server;
    this.#host = `${HOST}:${port}`;
    this.#path = path;
    this.uri = `http://${this.#host}${path}`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const status = this.#judge(request);
      const page = status === 200 ? PAGE : "";
      response.writeHead(status, { ...PAGE_HEADERS, "content-length": page.length }).end(page);
      request.resume();
    });
  }

  answer(state: string, timeoutMs: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#timer = setTimeout(() => {
        this.#expected = undefined;
        reject(new LocalError("TIMEOUT", `Nobody came back from the browser within ${timeoutMs} ms: start again`));
      }, timeoutMs);
      this.#expected = { state, take: resolve };
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#expected = undefined;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
      // The page is on its way to the browser; whoever only keeps a connection open does not keep us.
      setTimeout(() => this.#server.closeAllConnections(), 100).unref();
    });
  }

  /** Another name for this machine in `Host` would mean a page that had its name point here. */
  #judge({ method, url = "", headers }: IncomingMessage): number {
    if (headers.host !== this.#host) return 421;
    const at = url.indexOf("?");
    if (at === -1 || url.slice(0, at) !== this.#path) return 404;
    if (method !== "GET") return 405;
    const states = new URLSearchParams(url.slice(at + 1)).getAll("state");
    const expected = this.#expected;
    if (expected === undefined || states.length !== 1 || states[0] !== expected.state) return 400;
    this.#expected = undefined;
    clearTimeout(this.#timer);
    expected.take(`http://${this.#host}${url}`);
    return 200;
  }
}

async function bind(server: Server, preferred: number): Promise<number> {
  const listen = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host: HOST, port, exclusive: true }, () => {
        server.off("error", reject);
        resolve((server.address() as AddressInfo).port);
      });
    });
  try {
    if (preferred !== 0) return await listen(preferred);
  } catch {
    // In use: the client registers the other port.
  }
  try {
    return await listen(0);
  } catch (error) {
    throw new LocalError("AUTH_REDIRECT", `No port of ${HOST} can be listened on: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
