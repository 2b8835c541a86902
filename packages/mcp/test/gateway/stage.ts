// What the cases of a gateway are played on: servers over HTTP that answer by the letter, and requests without a session written by hand.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import { Gateway } from "../../src/gateway/gateway.js";
import type { RpcError } from "../../src/jsonrpc/errors.js";
import type { JsonObject, RequestId } from "../../src/jsonrpc/message.js";
import { connect } from "../../src/serve/connect-node.js";
import { serveHttp, type ServeHttpOptions } from "../../src/serve/http.js";
import type { ServerOptions } from "../../src/server/lean-server.js";
import type { Server } from "../../src/server/server.js";

const NEWEST = "2026-07-28";
const MIO = "io.modelcontextprotocol/";

/** One message that a server by the letter was sent. */
export interface Asked {
  readonly method: string;
  readonly params: JsonObject;
  readonly headers: IncomingMessage["headers"];
}

/** What a method is answered with; undefined: that there is none. Throws an RpcError for one. */
export type Answers = Readonly<Record<string, (asked: Asked) => JsonObject | undefined>>;

const KEPT = { ttlMs: 0, cacheScope: "private" };
const USUAL: Answers = {
  "server/discover": () => ({ supportedVersions: [NEWEST], capabilities: { tools: {} }, ...KEPT }),
  "tools/list": () => ({ tools: [{ name: "read", inputSchema: { type: "object" } }], ...KEPT }),
  "tools/call": () => ({ content: [{ type: "text", text: "read" }] }),
};

/** The rest of the answer to a request; what a case throws is an error. */
function saidTo(about: Asked, answer: Answers[string] | undefined): object {
  try {
    const result = answer?.(about);
    if (result !== undefined) return { result: { resultType: "complete", ...result } };
    return { error: { code: -32601, message: `no ${about.method}` } };
  } catch (error) {
    const { code, message } = error as RpcError;
    return { error: { code, message } };
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return text;
}

export class Stage {
  readonly #closing: (() => Promise<unknown>)[] = [];
  #ids = 0;

  /** Closes what was opened, the latest first. */
  async close(): Promise<void> {
    for (const each of this.#closing.splice(0).reverse()) await each();
  }

  /** Has something closed with the rest. */
  later(closing: () => Promise<unknown>): void {
    this.#closing.push(closing);
  }

  gateway(options: Partial<ServerOptions> = {}): Gateway {
    const gateway = new Gateway({ name: "gateway", version: "1.0.0", ...options });
    this.later(() => gateway.unmountAll());
    return gateway;
  }

  /** Its address, served over HTTP. */
  async serve(server: Server, options: ServeHttpOptions = {}): Promise<string> {
    const serving = await serveHttp(server, { signals: false, limits: { drainMs: 1 }, ...options });
    this.later(() => serving.close());
    return serving.url;
  }

  async client(target: string | Server, options: ClientOptions = {}): Promise<Client> {
    const client = await connect(target, { verdicts: false, ...options });
    this.later(() => client.close());
    return client;
  }

  /** A bare HTTP server; its address. */
  async listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.later(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  }

  /** A server of 2026-07-28 that answers by the letter what the case wants, and keeps what it was asked. */
  async strange(answers: Answers): Promise<{ readonly url: string; readonly asked: Asked[] }> {
    const asked: Asked[] = [];
    const url = await this.listen((request, response) => {
      void textOf(request).then((text) => {
        const { id, method, params = {} } = JSON.parse(text) as { id?: unknown; method: string; params?: JsonObject };
        const about = { method, params, headers: request.headers };
        asked.push(about);
        if (id === undefined) return void response.writeHead(202).end();
        const said = saidTo(about, answers[method] ?? USUAL[method]);
        response.writeHead(200, { "content-type": "application/json" });
        return void response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
      });
    });
    return { url, asked };
  }

  /** The answer to a request without a session, sent as it stands here. */
  async post(
    url: string,
    method: string,
    params: JsonObject,
    headers: Readonly<Record<string, string>> = {},
    signal: AbortSignal | null = null,
  ): Promise<{
    readonly status: number;
    readonly result?: JsonObject;
    readonly error?: { code: number; message: string };
  }> {
    const name = params["name"] ?? params["uri"];
    const _meta = {
      [`${MIO}protocolVersion`]: NEWEST,
      [`${MIO}clientInfo`]: { name: "by hand", version: "1" },
      [`${MIO}clientCapabilities`]: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      ...(params["_meta"] as JsonObject | undefined),
    };
    const id: RequestId = ++this.#ids;
    const response = await fetch(url, {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": NEWEST,
        "mcp-method": method,
        ...(typeof name === "string" ? { "mcp-name": name } : {}),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }),
    });
    const text = await response.text();
    const json = text.startsWith("{")
      ? text
      : (text.split("\n").findLast((line) => line.includes(`"id":${id}`)) ?? "{}").slice(5);
    return { status: response.status, ...(JSON.parse(json) as object) };
  }
}

/** How a mount opens a server at an address. */
export const open =
  (url: string, more: ClientOptions = {}) =>
  (options: ClientOptions): Promise<Client> =>
    connect(url, { ...options, ...more, verdicts: false });
