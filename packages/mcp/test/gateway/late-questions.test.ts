// A question on the stream of a call that was cancelled meanwhile is put to nobody: not within another call, nor to whoever asked nothing.
import type { ServerResponse } from "node:http";
import { afterEach, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { JsonObject, RequestId } from "../../src/jsonrpc/message.js";
import { texts } from "../interop-client/features.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const QUESTIONS: Readonly<Record<string, JsonObject>> = {
  "elicitation/create": { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } },
  "sampling/createMessage": { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 1 },
  "roots/list": {},
};

/** Answers a call when another one comes, and asks on the stream of one that is cancelled, as a server does that has not heard of it. */
async function crossing(method: string): Promise<{
  readonly url: string;
  readonly answered: unknown[];
  readonly calls: ReadonlyMap<RequestId, ServerResponse>;
}> {
  const calls = new Map<RequestId, ServerResponse>();
  const log = { calls, url: "", answered: [] as unknown[], asked: 0 };
  const send = (response: ServerResponse, message: object): void =>
    void response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  log.url = await stage.listen((request, response) => {
    void (async () => {
      let text = "";
      for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
      if (request.method !== "POST") return void response.writeHead(405).end();
      const { id, method: asked, params = {}, ...rest } = JSON.parse(text) as JsonObject & { params?: JsonObject };
      if (asked === "notifications/cancelled") {
        const stream = calls.get(params["requestId"] as RequestId) as ServerResponse;
        send(stream, { id: `late-${++log.asked}`, method, params: QUESTIONS[method] });
        // It goes on, as a call does that cannot be stopped.
        send(stream, { id: `ping-${log.asked}`, method: "ping" });
      }
      if (asked === undefined) log.answered.push({ id, ...rest });
      if (id === undefined || asked === undefined) return void response.writeHead(202).end();
      if (asked === "tools/call") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        if ((params["arguments"] as JsonObject)["end"] === true) {
          for (const [each, stream] of [...calls, [id, response] as const])
            send(stream, { id: each, result: { content: [{ type: "text", text: "done" }] } });
          return;
        }
        calls.set(id as RequestId, response);
        return response.flushHeaders();
      }
      const results: Readonly<Record<string, object>> = {
        initialize: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "x", version: "1" },
        },
        "tools/list": { tools: [{ name: "wait", inputSchema: { type: "object" } }] },
      };
      const result = results[asked as string];
      const said = result === undefined ? { error: { code: -32601, message: "no" } } : { result };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
    })();
  });
  return log;
}

/** Where the one who is asked stands. */
const WAYS: Record<string, (url: string, options: ClientOptions) => Promise<Client>> = {
  "by a client": (url, options) => stage.client(url, { ...options, revision: "2025-11-25" }),
  "through a gateway, by one with sessions": async (url, options) => {
    const gateway = stage.gateway({ report: false });
    await gateway.mount("up", open(url), { prefix: "" });
    return stage.client(await stage.serve(gateway), { ...options, revision: "2025-11-25" });
  },
  "through a gateway, by one without": async (url, options) => {
    const gateway = stage.gateway({ report: false });
    await gateway.mount("up", open(url), { prefix: "" });
    return stage.client(await stage.serve(gateway), { ...options, revision: "2026-07-28" });
  },
};

it.each(Object.keys(WAYS).flatMap((way) => Object.keys(QUESTIONS).map((method) => ({ way, method }))))(
  "$method that crosses the cancelling of its call is put to nobody: called $way",
  async ({ way, method }) => {
    const server = await crossing(method);
    const put: string[] = [];
    const options: ClientOptions = {
      elicit: () => (put.push("elicit"), { action: "cancel" }),
      sample: () => void put.push("sample"),
      roots: () => (put.push("roots"), []),
    };
    const client = await (WAYS[way] as (typeof WAYS)[string])(server.url, options);
    const stop = new AbortController();
    const other = client.call("wait", {}, { answers: options });
    const left = client.call("wait", {}, { answers: options, signal: stop.signal }).catch((error: unknown) => error);
    await expect.poll(() => server.calls.size).toBe(2);
    stop.abort();
    await expect.poll(() => server.answered.length).toBeGreaterThan(0);
    expect(await left).toMatchObject({ code: "CANCELLED" });
    expect(texts(await client.call("wait", { end: true }))).toBe("done");
    expect(texts(await other)).toBe("done");
    expect(put).toEqual([]);
    // The server hears that nobody answers, and that the client is there.
    await expect.poll(() => server.answered.length).toBe(2);
    expect(server.answered).toContainEqual({ id: "ping-1", jsonrpc: "2.0", result: {} });
    expect(server.answered).toContainEqual(
      expect.objectContaining({ id: "late-1", error: expect.anything() as object }),
    );
  },
);
