// A call is sent once: whatever a server answers instead of a result, it may have done what it was asked.
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, expect, it } from "vitest";
import type { ClientOptions } from "../../src/client/options.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { texts } from "../interop-client/features.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

type Era = "sessions" | "none";

/** What a server answers a call with that it has done, and does not say so. */
interface Refusal {
  readonly era: Era;
  readonly status: number;
  readonly error?: JsonObject;
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "404 and nothing": { era: "sessions", status: 404 },
  "404 and an error": { era: "sessions", status: 404, error: { code: -32001, message: "Session not found" } },
  "404 and an error of a version": { era: "sessions", status: 404, error: { code: -32022, message: "no" } },
  "another version": {
    era: "none",
    status: 400,
    error: { code: -32022, message: "no", data: { supported: ["2026-07-28"] } },
  },
  "another header": { era: "none", status: 400, error: { code: -32020, message: "no" } },
  "404 without sessions": { era: "none", status: 404 },
};

const OPENED: Readonly<Record<string, ClientOptions>> = { "by default": {}, "without reconnect": { reconnect: false } };

/** A server that refuses each call of a tag that `refuses`, after it has done it. */
class Careless {
  readonly done: string[] = [];
  readonly opened: string[] = [];
  readonly #refusal: Refusal;
  #known = new Set<string>();

  constructor(refusal: Refusal) {
    this.#refusal = refusal;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(text) as { id?: number; method: string; params?: JsonObject };
    if (id === undefined) return void response.writeHead(202).end();
    const { era, status, error } = this.#refusal;
    const session = String(request.headers["mcp-session-id"] ?? "");
    const { tag } = (params?.["arguments"] ?? {}) as { tag?: string };
    if (method === "tools/call") this.done.push(String(tag));
    // It is told its arguments in headers, also over a connection that has not read its list.
    if (method === "tools/call" && era === "none") expect(request.headers["mcp-param-tag"]).toBe(tag);
    const forgot = era === "sessions" && method !== "initialize" && !this.#known.has(session);
    if ((method === "tools/call" && tag?.startsWith("refuse") === true) || (forgot && method !== "server/discover")) {
      this.#known = new Set();
      response.writeHead(status, { "content-type": "application/json" });
      return void response.end(error === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", id, error }));
    }
    const headers: Record<string, string> = { "content-type": "application/json" };
    const result = this.#result(method, String(tag), headers);
    const said = result === undefined ? { error: { code: -32601, message: "no" } } : { result };
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
  }

  #result(method: string, tag: string, headers: Record<string, string>): JsonObject | undefined {
    const { era } = this.#refusal;
    const capabilities = { tools: {} };
    const hints = era === "none" ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
    if (method === "initialize" && era === "sessions") {
      this.#known.add((headers["mcp-session-id"] = `session-${this.opened.push(method)}`));
      return { protocolVersion: "2025-06-18", capabilities, serverInfo: { name: "careless", version: "1" } };
    }
    if (method === "server/discover" && era === "none") {
      this.opened.push(method);
      return { ...hints, supportedVersions: ["2026-07-28"], capabilities };
    }
    const properties = { tag: { type: "string", "x-mcp-header": "Tag" } };
    if (method === "tools/list")
      return { ...hints, tools: [{ name: "say", inputSchema: { type: "object", properties } }] };
    return method === "tools/call" ? { ...hints, content: [{ type: "text", text: `said ${tag}` }] } : undefined;
  }
}

/** Calls of which some are refused, in an order of their own for each seed; several are under way at once. */
function* turns(seed: number, count: number): Generator<readonly string[]> {
  let state = seed;
  const next = (below: number): number => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
  for (let turn = 0; turn < count; turn++)
    yield Array.from({ length: 1 + next(3) }, (_, at) => `${next(3) === 0 ? "refuse" : "serve"} ${turn}.${at}`);
}

it.each(Object.keys(REFUSALS).flatMap((what) => Object.keys(OPENED).map((how) => [what, how] as const)))(
  "a call that is answered with %s has been sent once, and the next is served, by a client %s",
  async (what, how) => {
    const server = new Careless(REFUSALS[what] as Refusal);
    const url = await stage.listen((request, response) => void server.answer(request, response));
    const gateway = stage.gateway({ report: false });
    await gateway.mount("up", open(url, OPENED[how]));
    const client = await stage.client(gateway);
    const say = (tag: string): Promise<string> =>
      client.call("up__say", { tag }).then(texts, (error: unknown) => String(error));
    for (const seed of [1, 7, 42])
      for (const tags of turns(seed, 4)) {
        const said = await Promise.all(tags.map((tag) => say(`${tag} of ${seed}`)));
        for (const [at, tag] of tags.entries())
          if (tag.startsWith("refuse")) expect(said[at]).not.toContain("said refuse");
        // Alone, so that no other call takes its session away.
        const after = `serve after ${tags[0]} of ${seed}`;
        expect(await say(after)).toBe(`said ${after}`);
      }
    expect(server.done.filter((tag, at) => server.done.indexOf(tag) !== at)).toEqual([]);
    expect(server.done.some((tag) => tag.startsWith("refuse"))).toBe(true);
  },
);
