// A server over HTTP for tests, and requests to it as scripts make them.
import { type IncomingMessage, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { serveHttp, type HttpServing, type ServeHttpOptions } from "../../src/serve/http.js";
import type { ServerOptions } from "../../src/server/lean-server.js";
import { Server } from "../../src/server/server.js";

export const STATELESS = "2026-07-28";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export type Json = Record<string, unknown>;

/** A promise with its ends outside. */
export function gate<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A server with the tools the tests call. */
export function testServer(options: Pick<ServerOptions, "report"> = {}): Server {
  const server = new Server({ name: "http-test", version: "1.0.0", ...options });
  const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
  server.tool("echo", { input: text, run: ({ text: said }) => said });
  server.tool("who", { run: (_, ctx) => ctx.principal ?? "nobody" });
  server.tool("steps", {
    async run(_, ctx) {
      await ctx.progress(1, 2);
      await ctx.progress(2, 2);
      return "done";
    },
  });
  server.tool("region", {
    input: {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        count: { type: "integer", "x-mcp-header": "Count" },
        sure: { type: "boolean", "x-mcp-header": "Sure" },
        place: { type: "object", properties: { city: { type: "string", "x-mcp-header": "City" } } },
      },
    },
    run: (args) => JSON.stringify(args),
  });
  server.tool("ask", {
    async run(_, ctx) {
      const answer = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
      return answer.action;
    },
  });
  server.tool("hang-up", {
    async run(_, ctx) {
      const hung = ctx.hangUp(10);
      return `hung up: ${hung}`;
    },
  });
  server.prompt("hello", { run: () => "Hello" });
  server.resource("test://a", { name: "a", read: () => "A" });
  return server;
}

export async function start(server: Server = testServer(), options: ServeHttpOptions = {}): Promise<HttpServing> {
  const serving = await serve(server, options);
  onTestFinished(() => serving.close());
  return serving;
}

/** The same once for all tests around it: for those that leave nothing behind which the next would see. */
export function startOnce(server: Server = testServer(), options: ServeHttpOptions = {}): { readonly url: string } {
  let serving: HttpServing | undefined;
  beforeAll(async () => {
    serving = await serve(server, options);
  });
  afterAll(() => serving?.close());
  return {
    get url() {
      return (serving as HttpServing).url;
    },
  };
}

function serve(server: Server, options: ServeHttpOptions): Promise<HttpServing> {
  return serveHttp(server, { signals: false, limits: { drainMs: 200 }, ...options });
}

/** One request on a connection of its own; headers go out exactly as given. */
export function send(
  url: string,
  options: {
    readonly method?: string;
    readonly headers?: Record<string, string | string[]>;
    readonly body?: string;
  } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { method = "POST", headers = {}, body } = options;
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

export const JSON_TYPES = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export function post(url: string, message: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  return send(url, { headers: { ...JSON_TYPES, ...headers }, body });
}

/** A request of 2026-07-28 with its envelope. */
export function modern(method: string, params: Json = {}, meta: Json = {}, id: number | string = 1): Json {
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
    ...meta,
  };
  return { jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope } };
}

/** The headers that belong to a request of 2026-07-28. */
export function modernHeaders(message: Json, extra: Record<string, string> = {}): Record<string, string> {
  const params = (message["params"] ?? {}) as Json;
  const name = params["name"] ?? params["uri"];
  return {
    "mcp-protocol-version": STATELESS,
    "mcp-method": message["method"] as string,
    ...(typeof name === "string" ? { "mcp-name": name } : {}),
    ...extra,
  };
}

export async function postModern(url: string, message: Json, extra: Record<string, string> = {}): Promise<Reply> {
  return post(url, message, modernHeaders(message, extra));
}

export interface TestSession {
  readonly id: string;
  readonly headers: Record<string, string>;
  post(message: unknown, headers?: Record<string, string>): Promise<Reply>;
}

/** Opens a session in a revision of the handshake era. */
export async function session(
  url: string,
  revision = "2025-11-25",
  options: { readonly capabilities?: Json; readonly headers?: Record<string, string> } = {},
): Promise<TestSession> {
  const params = {
    protocolVersion: revision,
    capabilities: options.capabilities ?? {},
    clientInfo: { name: "t", version: "1" },
  };
  const reply = await post(url, { jsonrpc: "2.0", id: 0, method: "initialize", params }, options.headers);
  const id = String(reply.headers["mcp-session-id"]);
  const versioned = revision >= "2025-06-18" ? { "mcp-protocol-version": revision } : {};
  const headers = { "mcp-session-id": id, ...versioned, ...options.headers };
  await post(url, { jsonrpc: "2.0", method: "notifications/initialized" }, headers);
  return { id, headers, post: (message, more = {}) => post(url, message, { ...headers, ...more }) };
}

export function call(name: string, args: Json = {}, id: number | string = 1, meta?: Json): Json {
  return {
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
  };
}

export interface SseEvent {
  readonly id?: string;
  readonly event?: string;
  readonly retry?: string;
  readonly data?: string;
}

/** Reads the events of a whole or partial stream. Comments are left out. */
export function events(text: string): SseEvent[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .map((block) => {
      const lines = block.split("\n").filter((line) => !line.startsWith(":"));
      return Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trimStart()]),
      );
    })
    .filter((one) => Object.keys(one).length > 0);
}

export function messages(text: string): Json[] {
  return events(text)
    .filter((one) => one.data !== undefined && one.data !== "")
    .map((one) => JSON.parse(one.data as string) as Json);
}

/** A stream kept open: what came so far, and what is still to come. */
export class OpenStream {
  text = "";
  status = 0;
  headers: Reply["headers"] = {};
  readonly ended: Promise<void>;
  readonly opened: Promise<void>;
  readonly #request: ReturnType<typeof httpRequest>;
  readonly #waiting = new Set<() => void>();
  #response: IncomingMessage | undefined;

  constructor(
    url: string,
    options: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
  ) {
    const end = gate();
    const open = gate();
    this.ended = end.opened;
    this.opened = open.opened;
    this.#request = httpRequest(
      url,
      { method: options.method ?? "GET", headers: options.headers ?? {}, agent: false },
      (response) => {
        this.status = response.statusCode ?? 0;
        this.headers = response.headers;
        open.open();
        this.#response = response;
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          this.text += chunk;
          for (const look of this.#waiting) look();
        });
        response.on("close", () => end.open());
        response.on("error", () => end.open());
      },
    );
    this.#request.on("error", () => {
      open.open();
      end.open();
    });
    this.#request.end(options.body);
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.#response?.pause();
  }

  get messages(): Json[] {
    return messages(this.text);
  }

  /** Resolves when `accepts` holds for what came so far. */
  async until(accepts: (stream: this) => boolean): Promise<this> {
    while (!accepts(this)) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
    return this;
  }

  close(): void {
    this.#request.destroy();
  }
}

/** Sends bytes as they are. Resolves with all that came back once the server ended the connection, or `enough` holds. */
export function raw(
  url: string,
  bytes: string | Buffer,
  options: {
    readonly enough?: (text: string) => boolean;
    /** Says with the last byte that no more will come. */
    readonly end?: boolean;
  } = {},
): Promise<{ readonly text: string; readonly ended: boolean }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      if (options.end === true) socket.end(bytes);
      else socket.write(bytes);
    });
    let text = "";
    const finish = (ended: boolean): void => {
      resolve({ text, ended });
      socket.destroy();
    };
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (options.enough?.(text) === true) finish(false);
    });
    socket.on("close", () => finish(true));
    socket.on("error", () => undefined);
  });
}

/** Statuses of all replies in what came back on one connection. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}
