// The console's own HTTP listener: on 127.0.0.1 only, with the page from memory, the API behind the sign-in, and who
// may open it.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname, join } from "node:path";
import type { ApiFault } from "@secure-local/console/api";

// Who may use the console: a one-time code from the terminal becomes a cookie and a key, and every request is looked at first.

/** Milliseconds a code may be used for: a person clicks at once, or asks for another. */
const CODE_MS = 10 * 60_000;
/** Milliseconds a browser stays signed in. */
const SESSION_MS = 12 * 60 * 60_000;
/** Browsers signed in at once; a person has two or three. The oldest one gives way. */
const MAX_SESSIONS = 16;
/** Codes that count at once: a person opens one, and asks for another when the first went to another browser. */
const MAX_CODES = 4;
/**
 * Bytes of a code: 128 bits are not guessed in ten minutes by whoever tries as often as this machine can. So wrong codes are not
 * counted: another user of this machine, who can reach the port, would void those of the owner by them.
 */
const CODE_BYTES = 16;
const COOKIE = "mcp-secure-local-console";
/** Set by the page's own script on each request: no form, image or link of another page can. */
export const KEY_HEADER = "x-console-key";

/** A refusal: the status, what happened, and what to do. */
interface Refused {
  readonly status: number;
  readonly error: string;
  readonly advice: string;
}

const SIGN_IN: Refused = {
  status: 401,
  error: "This page is not signed in, or the console was started again.",
  advice: "Press Enter in the terminal where mcp-secure-local console runs, and open the address it prints.",
};

interface Session {
  readonly key: Buffer;
  readonly ends: number;
}

/**
 * A browser needs two things: the cookie, which no script can read, and the key, which pages of other ports, to whom the
 * browser sends the same cookie, do not have. Both are void when the console ends.
 */
export class ConsoleAccess {
  readonly #host: string;
  readonly #now: () => number;
  /** By the digest of the cookie. */
  readonly #sessions = new Map<string, Session>();
  readonly #cookie: string;
  /** The newest last. */
  #codes: readonly { readonly digest: Buffer; readonly ends: number }[] = [];

  /** @param host `127.0.0.1:PORT`, the only `Host` that is answered. */
  constructor(host: string, now: () => number = Date.now) {
    this.#host = host;
    // Cookies know no ports: without one in its name, two consoles would sign each other's browser out.
    this.#cookie = `${COOKIE}-${host.slice(host.lastIndexOf(":") + 1)}`;
    this.#now = now;
  }

  /** A new code, for one sign-in within ten minutes. Of those given out before the newest three still count. */
  newCode(): string {
    const code = randomBytes(CODE_BYTES).toString("base64url");
    this.#codes = [...this.#codes.slice(1 - MAX_CODES), { digest: digest(code), ends: this.#now() + CODE_MS }];
    return code;
  }

  /** Why a request is not looked at any further; undefined when it comes from our page, or asks for the page itself. */
  objection({ headers, rawHeaders, method, url }: IncomingMessage): Refused | undefined {
    // Of two hosts Node tells the first; whoever sends two hopes that somebody reads the other.
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
    if (headers.host !== this.#host || hosts !== 1)
      return { status: 421, error: "This address is not the console's.", advice: `Open http://${this.#host}/ itself.` };
    const site = headers["sec-fetch-site"];
    // A link may lead a person here, as `console --open` does: the page by itself holds nothing, and nobody frames it.
    const { "sec-fetch-mode": mode, "sec-fetch-dest": destination } = headers;
    const led = method === "GET" && url === "/" && mode === "navigate" && destination === "document";
    const foreign = site !== undefined && site !== "same-origin" && site !== "none" && !led;
    const origin = headers.origin;
    const other = origin !== undefined && origin !== `http://${this.#host}`;
    const reads = method === "GET" || method === "HEAD";
    if (other || foreign || (!reads && origin === undefined))
      return {
        status: 403,
        error: "Pages of other origins may not use the console.",
        advice: "Use the console's own page.",
      };
    return undefined;
  }

  /** Takes a code once. Undefined when it is none of the newest, was used, or is too old: then the others count as before. */
  signIn(code: string): { readonly cookie: string; readonly key: string } | undefined {
    const given = digest(code);
    const open = this.#codes.filter(({ ends }) => ends >= this.#now());
    this.#codes = open.filter((each) => !timingSafeEqual(each.digest, given));
    if (this.#codes.length === open.length) return undefined;
    const cookie = randomBytes(32).toString("base64url");
    const key = randomBytes(32).toString("base64url");
    const oldest = this.#sessions.keys().next().value;
    if (this.#sessions.size >= MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    this.#sessions.set(digest(cookie).toString("hex"), { key: digest(key), ends: this.#now() + SESSION_MS });
    const seconds = SESSION_MS / 1_000;
    return { cookie: `${this.#cookie}=${cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}`, key };
  }

  /** Why a request may not see or do anything; undefined for a browser that is signed in. */
  refusal({ headers }: IncomingMessage): Refused | undefined {
    const key = headers[KEY_HEADER];
    if (typeof key !== "string") return SIGN_IN;
    const given = digest(key);
    // Who else sets a cookie of this name, as a page of another port may, must not lock the person out.
    const isSignedIn = cookiesOf(headers.cookie ?? "", this.#cookie).some((cookie) => {
      const session = this.#sessions.get(digest(cookie).toString("hex"));
      return session !== undefined && session.ends >= this.#now() && timingSafeEqual(session.key, given);
    });
    return isSignedIn ? undefined : SIGN_IN;
  }
}

/** Cookies of the name that are tried: more than other programs of this machine set by accident. */
const MAX_COOKIES = 32;

function cookiesOf(header: string, name: string): string[] {
  const found = header.split(/; */).filter((pair) => pair.startsWith(`${name}=`));
  return found.slice(0, MAX_COOKIES).map((pair) => pair.slice(name.length + 1));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

const ADDRESS = "127.0.0.1";
/** Bytes of a request's body: a policy file, with room to spare. */
const MAX_BODY = 1024 * 1024;
/** Connections at once: the streams and requests of a few tabs. */
const MAX_CONNECTIONS = 64;
/** Places kept free for who comes next: several may come before one that was ended is gone. */
const SPARE = 8;
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;

/** Sent with everything. Nothing but our own script, style and API can be reached, and nobody can frame or measure it. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A request of a signed-in page. */
export interface ApiRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query: URLSearchParams;
  /** What was sent, for POST. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Aborted when the page has gone. */
  readonly signal: AbortSignal;
}

/** An answer: a value as JSON, text to be kept as a file, or lines as they come. */
export type ApiAnswer =
  | { readonly json: unknown }
  | { readonly file: string; readonly lines: AsyncIterable<string> }
  | { readonly stream: AsyncIterable<string> };

/** A fault that the person at the page can do something about. */
export class ConsoleFault extends Error {
  readonly status: number;
  readonly advice: string;

  constructor(status: number, error: string, advice: string) {
    super(error);
    this.status = status;
    this.advice = advice;
  }
}

export type Api = (request: ApiRequest) => Promise<ApiAnswer>;

export interface ConsoleListenerOptions {
  readonly api: Api;
  /** The folder with the built page. */
  readonly assets: string;
  /** 0: any free port. */
  readonly port: number;
  /** Told what nobody expected. */
  readonly report: (error: unknown) => void;
}

interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  readonly brotli: Buffer | undefined;
}

export class ConsoleListener {
  readonly #options: ConsoleListenerOptions;
  readonly #assets: ReadonlyMap<string, Asset>;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  /** Of them those that wait for no answer, the one that does so longest first. */
  readonly #idle = new Set<Socket>();
  #access = new ConsoleAccess("");
  #origin = "";

  constructor(options: ConsoleListenerOptions) {
    this.#options = options;
    this.#assets = readAssets(options.assets);
    this.#server = createServer(
      { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, insecureHTTPParser: false, requireHostHeader: true },
      (request, response) => {
        this.#idle.delete(request.socket);
        response.once("close", () => this.#open.has(request.socket) && this.#idle.add(request.socket));
        void this.#serve(request, response);
      },
    );
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("connection", (socket) => this.#enter(socket));
  }

  /** Whoever fills all places and asks nothing is to keep nobody out: the oldest that waits for no answer gives up its place. */
  #enter(socket: Socket): void {
    if (this.#open.size >= MAX_CONNECTIONS - SPARE) this.#idle.values().next().value?.destroy();
    this.#open.add(socket);
    this.#idle.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#idle.delete(socket);
    });
  }

  /** Resolves once it listens. @throws the system's error when it cannot */
  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.port, ADDRESS, resolve);
    });
    const host = `${ADDRESS}:${(this.#server.address() as AddressInfo).port}`;
    this.#origin = `http://${host}`;
    this.#access = new ConsoleAccess(host);
  }

  /** An address that signs in one browser, once, within ten minutes. The newest four count. */
  address(): string {
    return `${this.#origin}/#code=${this.#access.newCode()}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    try {
      await this.#route(request, response);
    } catch (error) {
      if (error instanceof ConsoleFault)
        return refuse(response, { status: error.status, error: error.message, advice: error.advice });
      this.#options.report(error);
      refuse(response, {
        status: 500,
        error: "The console failed at this.",
        advice: "Look at the terminal where it runs; what happened is written there.",
      });
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const objection = this.#access.objection(request);
    if (objection !== undefined) return refuse(response, objection);
    const { method = "" } = request;
    // A path is taken as it was sent: dots and escapes lead nowhere.
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    if (!path.startsWith("/api/")) return this.#asset(request, response, path);
    if (method !== "GET" && method !== "POST")
      return refuse(response, { status: 405, error: `${method} is not understood.`, advice: "Use GET or POST." });
    const body = method === "POST" ? await readBody(request) : {};
    if (path === "/api/sign-in") return this.#signIn(response, method, body);
    const refusal = this.#access.refusal(request);
    if (refusal !== undefined) return refuse(response, refusal);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const answer = await this.#options.api({
      method,
      path,
      query: new URLSearchParams(query),
      body,
      signal: gone.signal,
    });
    await send(response, answer);
  }

  #asset({ method, headers }: IncomingMessage, response: ServerResponse, path: string): void {
    const asset = this.#assets.get(path === "/" ? "/index.html" : path);
    if (method !== "GET" && method !== "HEAD")
      return refuse(response, { status: 405, error: `${method} is not understood here.`, advice: "Use GET." });
    if (asset === undefined)
      return refuse(response, { status: 404, error: "There is no such page.", advice: "Open / instead." });
    response.setHeader("content-type", asset.type);
    // Their names have no version: another version of the program would be shown the old page.
    response.setHeader("cache-control", "no-cache");
    const brotli = asset.brotli !== undefined && /\bbr\b/.test(headers["accept-encoding"] ?? "");
    if (brotli) response.setHeader("content-encoding", "br");
    response.setHeader("vary", "accept-encoding");
    response.end(method === "HEAD" ? undefined : brotli ? asset.brotli : asset.plain);
  }

  #signIn(response: ServerResponse, method: string, { code }: Readonly<Record<string, unknown>>): void {
    const signed = method === "POST" && typeof code === "string" ? this.#access.signIn(code) : undefined;
    if (signed === undefined)
      return refuse(response, {
        status: 401,
        error:
          "This is none of the codes that count: it is wrong, was used already, is older than ten minutes, or four newer ones were given out.",
        advice: "Press Enter in the terminal where mcp-secure-local console runs, and open the address it prints.",
      });
    response.setHeader("set-cookie", signed.cookie);
    json(response, 200, { key: signed.key });
  }
}

function readAssets(folder: string): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  const names = readdirSync(folder);
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const brotli = names.includes(`${name}.br`) ? readFileSync(join(folder, `${name}.br`)) : undefined;
    assets.set(`/${name}`, { type, plain: readFileSync(join(folder, name)), brotli });
  }
  return assets;
}

/** @throws ConsoleFault for anything but a JSON object of bearable size */
async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  if (request.headers["content-type"] !== "application/json")
    throw new ConsoleFault(415, "The request is not JSON.", "Send content-type: application/json.");
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_BODY) throw new ConsoleFault(413, `The request is longer than ${MAX_BODY} bytes.`, "Send less.");
    pieces.push(piece);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(pieces).toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new ConsoleFault(400, "The request is no JSON object.", "Send one.");
}

async function send(response: ServerResponse, answer: ApiAnswer): Promise<void> {
  if ("json" in answer) return json(response, 200, answer.json);
  response.setHeader("cache-control", "no-store");
  const isFile = "file" in answer;
  response.setHeader("content-type", isFile ? "application/x-ndjson" : "application/x-ndjson; charset=utf-8");
  if (isFile) response.setHeader("content-disposition", `attachment; filename="${answer.file}"`);
  response.flushHeaders();
  for await (const line of isFile ? answer.lines : answer.stream) {
    if (response.destroyed) return;
    // A page that reads slower than we write is waited for.
    if (!response.write(`${line}\n`)) await drained(response);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once("drain", resolve);
    response.once("close", resolve);
  });
}

function refuse(response: ServerResponse, { status, error, advice }: Refused): void {
  const fault: ApiFault = { error, advice };
  // What was not read of the request is not waited for.
  if (!response.headersSent) response.setHeader("connection", "close");
  json(response, status, fault);
}

function json(response: ServerResponse, status: number, value: unknown): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(value));
}
