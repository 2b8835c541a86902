// Authorizes requests in the name of the user at this machine, with what a program on Node usually wants.
import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type AuthorizationCodeOptions,
  oauth,
  OAUTH_MEMBERS,
  type OpenRedirect,
  type Redirect,
} from "../auth/client/authorization-code.js";
import type { AuthorizerOptions, TokenAuthorizer } from "../auth/client/token-authorizer.js";
import { checkMembers } from "../auth/authenticator.js";
import { guardedFetch } from "./guarded-fetch.js";
import { tokenFile } from "./token-file.js";
import { LocalError } from "../jsonrpc/errors.js";
import { startTimer } from "../jsonrpc/outgoing.js";

/** Options of `userAuthorization`: the server, the user's consent, and the file that tokens are kept in. */
export interface UserAuthorizationOptions extends AuthorizerOptions, Omit<AuthorizationCodeOptions, "redirect"> {
  /** Where tokens are kept between runs: see `tokenFile`. Default: `store`, or nowhere. */
  readonly file?: string;
  /** Default: `browserRedirect()`. */
  readonly redirect?: Redirect;
}

/** `oauth` with `guardedFetch`, a `tokenFile` and the browser. Throws RangeError for options that can lead nowhere. */
export function userAuthorization(options: UserAuthorizationOptions): TokenAuthorizer {
  checkMembers("userAuthorization(options)", options, { ...OAUTH_MEMBERS, file: "text" });
  const { file, ...rest } = options;
  const { serverUrl, allowHosts = [], preRegistered, redirect = browserRedirect() } = rest;
  const trusted = preRegistered === undefined ? [serverUrl] : [serverUrl, preRegistered.issuer];
  const store = file === undefined ? {} : { store: tokenFile(file) };
  return oauth({ fetch: guardedFetch({ trusted, allowHosts }), ...store, ...rest, redirect });
}

// Opens a web page in the user's browser, without a shell and without anything but web pages.

/** On which platform, and how programs are started; for tests. */
export interface OpenBrowserOptions {
  /** Default: that of this machine. */
  readonly platform?: NodeJS.Platform;
  /** Starts the program. Default: as a process of its own that outlives this one. Rejects when it cannot be started. */
  readonly start?: (command: string, args: readonly string[]) => Promise<void>;
}

/** Each is given the URL as its last argument and hands it to whatever the user has set up for web pages. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
const OTHER_OPENER = ["xdg-open"] as const;

/** Longest wait for the opener to fail. */
const GRACE_MS = 3_000;

/** Characters that are text to every opener and every script one of them may be. */
const PLAIN = /[^A-Za-z0-9\-._~:/?#[\]@!&*+,;=%]/g;

/** Rejects with `AUTH_BROWSER` for other URLs than http(s), and where no browser can be started. */
export async function openBrowser(url: string, options: OpenBrowserOptions = {}): Promise<void> {
  const { platform = process.platform, start = startDetached } = options;
  const [command, ...args] = OPENERS[platform] ?? OTHER_OPENER;
  const page = checkPage(url);
  try {
    await start(command, [...args, page]);
  } catch (error) {
    throw new LocalError(
      "AUTH_BROWSER",
      `No browser could be opened by ${command}: show the user the address (option show), or have them paste the answer (pastedRedirect)`,
      {
        cause: error,
      },
    );
  }
}

function checkPage(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" || url?.protocol === "http:") {
    return url.href.replaceAll(PLAIN, (character) => escape(character));
  }
  throw new LocalError("AUTH_BROWSER", "Only http and https pages are opened in the browser; this address was not");
}

/** What a URL still spells plainly is one byte; the rest was escaped when it was parsed. */
function escape(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** An opener that fails does so at once; one that waits for its browser to be closed has succeeded. */
function startDetached(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { shell: false, detached: true, stdio: "ignore", windowsHide: true });
    let grace: NodeJS.Timeout | undefined;
    child.on("spawn", () => {
      child.unref();
      grace = setTimeout(resolve, GRACE_MS);
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      clearTimeout(grace);
      if (code === 0) resolve();
      else reject(new Error(`${command} ended with status ${code ?? "none"}`));
    });
  });
}

// Waits on this machine for the browser to come back from the authorization server (RFC 8252 §7.3).

interface ListenerOptions {
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
      this.#timer = startTimer(() => {
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

// Takes the user to the authorization server by their browser, or by an address they open and an answer they paste.

/** How a browser is opened and how long its answer is waited for, in milliseconds. */
export interface BrowserRedirectOptions {
  /** Opens the page. Default: `openBrowser`. */
  readonly open?: (url: string) => Promise<void>;
  /** Told of the URL when no browser can be opened, so that the user can open it. Default: the authorization fails then. */
  readonly show?: (url: string) => void;
  /** Longest wait for the user, in milliseconds. Default: 5 minutes. */
  readonly timeoutMs?: number;
  /** Path of the redirect URI. Default: "/callback". */
  readonly path?: string;
}

/** How a person is shown the address and pastes the answer, where there is no browser. */
export interface PastedRedirectOptions {
  /** Shows the user the URL to open anywhere. */
  readonly show: (url: string) => void;
  /** What the user pastes: the address their browser ended at, or its query. */
  readonly read: () => Promise<string>;
  /** Where the browser ends, though nobody listens. Default: "http://127.0.0.1:33418/callback". */
  readonly uri?: string;
  /** Longest wait for the user, in milliseconds. Default: 5 minutes. */
  readonly timeoutMs?: number;
}

const USER_MS = 5 * 60_000;
const PASTED_URI = "http://127.0.0.1:33418/callback";

/** For a user at this machine: listens on the loopback interface while their browser is away. */
export function browserRedirect(options: BrowserRedirectOptions = {}): Redirect {
  const { open = openBrowser, show, timeoutMs = USER_MS, path } = options;
  return {
    async open(preferred) {
      const listener = await listenForRedirect({
        ...(path === undefined ? {} : { path }),
        preferredPort: portOf(preferred),
      });
      return {
        uri: listener.uri,
        close: () => listener.close(),
        async authorize(url) {
          const answer = listener.answer(new URL(url).searchParams.get("state") ?? "", timeoutMs);
          // Whoever fails to open the page has no answer to wait for.
          answer.catch(() => undefined);
          await open(url).catch((error: unknown) => {
            if (show === undefined) throw error;
            show(url);
          });
          return answer;
        },
      };
    },
  };
}

/** For a user whose browser is on another machine. */
export function pastedRedirect(options: PastedRedirectOptions): Redirect {
  const { show, read, uri = PASTED_URI, timeoutMs = USER_MS } = options;
  const opened: OpenRedirect = {
    uri,
    close: () => Promise.resolve(),
    async authorize(url) {
      show(url);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        const error = new LocalError("TIMEOUT", `Nothing was pasted within ${timeoutMs} ms: start again`);
        timer = startTimer(() => reject(error), timeoutMs);
      });
      try {
        return await Promise.race([read(), late]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
  return { open: () => Promise.resolve(opened) };
}

/** The port to have again, where the client registered with one of this machine. */
function portOf(uri: string | undefined): number {
  if (uri === undefined || !URL.canParse(uri)) return 0;
  const { hostname, port } = new URL(uri);
  return hostname === "127.0.0.1" && port !== "" ? Number(port) : 0;
}
