// Serves programs that speak MCP on stdio over HTTP: one for each session, or one for all, their messages as they are.
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Transport } from "@secure-local/mcp/client";
import { asObject, type EditableMessage, type Outlet, PipedServer } from "./piped-server.js";
import { statelessVersion } from "./text-link.js";

export interface HttpBridgeOptions {
  /** Makes a link to a new program. */
  readonly link: () => Transport;
  /** One program for all sessions. */
  readonly shared: boolean;
  readonly host: string;
  readonly port: number;
  /** Undefined: whoever reaches it may call. */
  readonly token: string | undefined;
  /** Origins of web pages that may call. */
  readonly origins: readonly string[];
  /** Further values of Host that are served: the names of a proxy in front. */
  readonly publicHosts?: readonly string[];
  /** Longest message of a client. Default 16 MiB. */
  readonly messageBytes?: number | undefined;
  readonly say: (text: string) => void;
}

const MESSAGE_BYTES = 16 * 1024 * 1024;
/** Each may be a program of its own. */
const MOST_SESSIONS = 64;
/** A client that has left without a word keeps its program this long. */
const IDLE_MS = 30 * 60_000;
/** What a server says to a session that listens nowhere; older ones go first. */
const MOST_KEPT = 100;
/** Unread output from which a stream is given up. */
const MOST_UNREAD = 64 * 1024 * 1024;

/** What concerns every client of a server alike. */
const FOR_ALL = /^notifications\/(?:\w+\/list_changed|resources\/updated)$/;
const NOBODY = { code: -32601, message: "A server that several clients share can ask nobody" };

/** A conversation of one client. */
interface Session {
  readonly server: PipedServer;
  /** Where the answers to its requests go; the set itself stands for the client. */
  readonly outlets: Set<Outlet>;
  standing: ServerResponse | undefined;
  kept: EditableMessage[];
  seen: number;
}

export class HttpBridge {
  readonly #options: HttpBridgeOptions;
  readonly #http: Server;
  readonly #sessions: Map<string, Session> = new Map();
  readonly #starting: Map<string, Promise<PipedServer>> = new Map();
  readonly #sweep: NodeJS.Timeout;
  /** What the shared program answered to its first `initialize`. */
  #hello: Promise<EditableMessage> | undefined;

  constructor(options: HttpBridgeOptions) {
    this.#options = options;
    this.#http = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.#options.say(error instanceof Error ? error.message : String(error));
        if (!response.headersSent)
          refuse(response, 502, "The server cannot be started; the output of the bridge says why");
        else response.destroy();
      });
    });
    this.#sweep = setInterval(() => void this.#forgetIdle(), IDLE_MS / 10).unref();
  }

  /** Resolves to the URL. Rejects with the system's error. */
  async listen(): Promise<string> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#http.once("error", reject).listen(port, host, resolve);
    });
    const { port: real } = this.#http.address() as AddressInfo;
    return `http://${host.includes(":") ? `[${host}]` : host}:${real}/mcp`;
  }

  /** Ends every program. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    this.#sessions.clear();
    const servers = await Promise.allSettled(this.#starting.values());
    await Promise.all(servers.flatMap((each) => (each.status === "fulfilled" ? [each.value.close()] : [])));
    this.#http.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = this.#refusal(request);
    if (refusal !== undefined) return refuse(response, ...refusal);
    const { origin } = request.headers;
    if (origin !== undefined) allowPage(response, origin);
    if (request.method === "OPTIONS" && origin !== undefined) return void response.writeHead(204).end();
    if (!this.#knows(request)) {
      response.setHeader("www-authenticate", "Bearer");
      return refuse(response, 401, "Send Authorization: Bearer with the token that the bridge was started with");
    }
    if (new URL(request.url ?? "/", "http://x").pathname !== "/mcp") return refuse(response, 404, "Served at /mcp");
    const id = request.headers["mcp-session-id"];
    const session = typeof id === "string" ? this.#sessions.get(id) : undefined;
    if (id !== undefined && session === undefined) return refuse(response, 404, "There is no such session: begin anew");
    if (session !== undefined) session.seen = Date.now();
    if (request.method === "POST") return await this.#post(request, response, session);
    if (request.method === "GET" && session !== undefined) return stand(session, response);
    if (request.method === "DELETE" && session !== undefined) return await this.#end(id as string, response);
    response.setHeader("allow", "POST, GET, DELETE");
    refuse(response, 405, "GET and DELETE are for sessions");
  }

  /** Who may come in: judged by the head alone, like a page of another site, or a name that was made to lead here. */
  #refusal({ headers, socket }: IncomingMessage): readonly [number, string] | undefined {
    const { localPort } = socket;
    const names = ["localhost", "127.0.0.1", "[::1]", this.#options.host].map((name) => `${name}:${localPort}`);
    const given = headers.host?.toLowerCase() ?? "";
    if (!names.includes(given) && !this.#options.publicHosts?.includes(given))
      return [403, "This Host is not served here: name that of a proxy in front with --public-host"];
    const { origin } = headers;
    const site = headers["sec-fetch-site"];
    const allowed = origin !== undefined && this.#options.origins.includes(origin);
    if ((origin !== undefined || site === "cross-site" || site === "same-site") && !allowed)
      return [403, "This Origin may not call: add it with --origin"];
    return undefined;
  }

  #knows({ headers }: IncomingMessage): boolean {
    const { token } = this.#options;
    if (token === undefined) return true;
    const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
    const [, given = ""] = /^bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
    return timingSafeEqual(digest(given), digest(token));
  }

  async #post(request: IncomingMessage, response: ServerResponse, session: Session | undefined): Promise<void> {
    if (!/^application\/json *(?:;|$)/i.test(request.headers["content-type"] ?? ""))
      return refuse(response, 415, "Send Content-Type: application/json");
    const most = this.#options.messageBytes ?? MESSAGE_BYTES;
    const text = await bodyOf(request, most);
    if (text === undefined)
      return refuse(response, 413, `The message has more than ${most} bytes: --max-message-mb raises it`);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return refuse(response, 400, "The body is not JSON", -32700);
    }
    const messages = (Array.isArray(value) ? value : [value]).map(asObject);
    if (messages.length === 0 || messages.some(({ method, id }) => method === undefined && id === undefined))
      return refuse(response, 400, "The body is no message", -32600);
    const [first = {}] = messages;
    if (session === undefined && first["method"] === "initialize") return await this.#begin(first, response);
    const stateless = messages.every((each) => each["method"] === undefined || statelessVersion(each) !== undefined);
    if (session === undefined && !stateless)
      return refuse(response, 400, "Begin with initialize, and send Mcp-Session-Id after it");
    const spoken = session ?? {
      server: await this.#server(this.#options.shared ? "shared" : "stateless"),
      outlets: new Set<Outlet>(),
    };
    await relay(messages, response, { ...spoken, cancels: session === undefined, batch: Array.isArray(value) });
  }

  async #begin(message: EditableMessage, response: ServerResponse): Promise<void> {
    if (this.#sessions.size >= MOST_SESSIONS)
      return refuse(response, 503, `${MOST_SESSIONS} sessions are open already: end some`);
    const id = randomUUID();
    const { shared } = this.#options;
    const server = await this.#server(shared ? "shared" : id, id);
    const session: Session = { server, outlets: new Set(), standing: undefined, kept: [], seen: Date.now() };
    this.#sessions.set(id, session);
    response.setHeader("mcp-session-id", id);
    if (!shared) return await relay([message], response, { ...session, cancels: false, batch: false });
    this.#hello ??= new Promise((resolve) => {
      server.ask(message, { client: session.outlets, early: () => false, answer: resolve });
    });
    const { id: _first, ...hello } = await this.#hello;
    if (hello["error"] !== undefined) this.#hello = undefined;
    send(response, { ...hello, id: message["id"] });
  }

  /** The program of that name, started once. */
  #server(name: string, session?: string): Promise<PipedServer> {
    const known = this.#starting.get(name);
    if (known !== undefined) return known;
    const started = this.#start(name, session);
    this.#starting.set(name, started);
    return started;
  }

  async #start(name: string, session: string | undefined): Promise<PipedServer> {
    const { link, say, shared } = this.#options;
    const unasked = (message: EditableMessage): void => {
      const own = shared || session === undefined ? undefined : this.#sessions.get(session);
      if (own !== undefined) return speak(own, message);
      // Nobody knows whom of many clients it means, and a log line may hold what another one asked for.
      if (message["id"] !== undefined)
        return void server.tell({ jsonrpc: "2.0", id: message["id"], error: NOBODY }, () => false);
      if (!FOR_ALL.test(String(message["method"]))) return;
      for (const each of this.#sessions.values()) if (each.server === server) speak(each, message);
    };
    const alone = (client: object): boolean =>
      !shared || [...this.#sessions.values()].every((each) => each.outlets === client);
    const server = new PipedServer(link(), { unasked, noise: say, alone });
    const forget = (): void => {
      this.#starting.delete(name);
      for (const [id, each] of this.#sessions) if (each.server === server) this.#drop(id);
      if (name === "shared") this.#hello = undefined;
    };
    try {
      await server.open();
    } catch (error) {
      forget();
      throw error;
    }
    void server.ended.then(forget);
    return server;
  }

  async #end(id: string, response: ServerResponse): Promise<void> {
    const session = this.#sessions.get(id);
    this.#drop(id);
    if (!this.#options.shared) await session?.server.close();
    response.writeHead(204).end();
  }

  #drop(id: string): void {
    this.#sessions.get(id)?.standing?.end();
    this.#sessions.delete(id);
    if (!this.#options.shared) this.#starting.delete(id);
  }

  async #forgetIdle(): Promise<void> {
    for (const [id, session] of this.#sessions) {
      if (session.standing !== undefined || session.server.busy || Date.now() - session.seen < IDLE_MS) continue;
      this.#drop(id);
      if (!this.#options.shared) await session.server.close();
    }
  }
}

interface Spoken {
  readonly server: PipedServer;
  readonly outlets: Set<Outlet>;
  /** Whether leaving before the answer takes the request back. */
  readonly cancels: boolean;
  readonly batch: boolean;
}

/** The messages of one POST, and all that belongs to them until the last answer. */
async function relay(messages: readonly EditableMessage[], response: ServerResponse, spoken: Spoken): Promise<void> {
  const { server, outlets, cancels, batch } = spoken;
  const requests = messages.filter(({ id, method }) => id !== undefined && method !== undefined);
  for (const each of messages) if (!requests.includes(each)) await server.tell(each, (outlet) => outlets.has(outlet));
  if (requests.length === 0) return void response.writeHead(202).end();
  const answers: EditableMessage[] = [];
  const outlet: Outlet = {
    client: outlets,
    early: (message) => !response.destroyed && !response.writableEnded && event(response, message),
    answer(message) {
      answers.push(message);
      if (response.headersSent && !response.writableEnded) event(response, message);
      if (answers.length < requests.length) return;
      outlets.delete(outlet);
      if (response.headersSent) response.end();
      else send(response, batch ? answers : message);
    },
  };
  outlets.add(outlet);
  const cancel = requests.map((request) => server.ask(request, outlet));
  response.on("close", () => {
    if (answers.length < requests.length && cancels) for (const each of cancel) each();
  });
}

/** The stream on which a server may speak when nothing is under way. */
function stand(session: Session, response: ServerResponse): void {
  if (session.standing !== undefined) return refuse(response, 409, "This session has a stream already");
  session.standing = response;
  response.on("close", () => (session.standing = undefined));
  begin(response);
  response.flushHeaders();
  for (const message of session.kept.splice(0)) event(response, message);
}

function speak(session: Session, message: EditableMessage): void {
  if (session.standing !== undefined) return void event(session.standing, message);
  session.kept.push(message);
  if (session.kept.length > MOST_KEPT) session.kept.shift();
}

function begin(response: ServerResponse): void {
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
}

/** False for who does not read: nothing is kept without end. */
function event(response: ServerResponse, message: EditableMessage): boolean {
  if (!response.headersSent) begin(response);
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  if (response.writableLength <= MOST_UNREAD) return true;
  response.destroy();
  return false;
}

function send(response: ServerResponse, body: unknown): void {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
}

function refuse(response: ServerResponse, status: number, message: string, code = -32000): void {
  // What is left of a body is not read.
  response.setHeader("connection", "close");
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } }));
}

function allowPage(response: ServerResponse, origin: string): void {
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "origin");
  response.setHeader("access-control-allow-methods", "POST, GET, DELETE");
  response.setHeader(
    "access-control-allow-headers",
    "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id",
  );
  response.setHeader("access-control-expose-headers", "mcp-session-id, www-authenticate");
}

/** Undefined for one that is too long. */
async function bodyOf(request: IncomingMessage, most: number): Promise<string | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > most) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
