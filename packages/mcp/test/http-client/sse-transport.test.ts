// The HTTP+SSE link: the endpoint it is told, answers on the stream, and the end of the stream as its end.
import { describe, expect, it } from "vitest";
import { nodeRequester } from "../../src/node/http-requester.js";
import { fetchRequester } from "../../src/http/client/fetch-requester.js";
import { sseTransport } from "../../src/http/client/sse-transport.js";
import { start } from "../http/http-fixture.js";
import { answer, byHand, driven, NotingSink, notification, type Seen } from "./transport-fixture.js";

const EVENTS = { "content-type": "text/event-stream" };
const requester = nodeRequester;

function failure(url: string, limits = {}): Promise<unknown> {
  const link = sseTransport({ url, requester: requester(), ownsRequester: true, limits });
  return Promise.resolve(link.start(new NotingSink())).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe.each([
  ["node:http", nodeRequester],
  ["fetch", () => fetchRequester()],
])("with %s", (_, make) => {
  it("talks to our own server and ends with it", async () => {
    const serving = await start(undefined, { sse: true });
    const url = serving.url.replace(/\/mcp$/, "/sse");
    const { ask, link, sink } = await driven(sseTransport({ url, requester: make(), ownsRequester: true }));
    const clientInfo = { name: "t", version: "1" };
    const opened = await ask("initialize", { protocolVersion: "2024-11-05", capabilities: {}, clientInfo });
    expect(opened.message).toMatchObject({ result: { protocolVersion: "2024-11-05" } });
    await link.send(notification("notifications/initialized"));
    const echoed = await ask("tools/call", { name: "echo", arguments: { text: "hi" } });
    expect(JSON.stringify(echoed.message)).toContain("hi");
    expect(sink.ends).toEqual([]);
    await serving.close();
    await sink.until(({ ends }) => ends.length > 0);
    expect(sink.ends[0]).toMatchObject({ code: "CLOSED" });
    expect((await ask("ping")).error).toMatchObject({ code: "CLOSED" });
  });
});

describe("the endpoint", () => {
  it.each([
    "http://example.com/messages",
    "https://127.0.0.1/messages",
    "//evil.example/messages",
    "javascript:alert(1)",
    "http://[bad",
    "http://user:pass@SAME/messages",
  ])("is not %s", async (endpoint) => {
    const { url, seen } = await byHand(({ response, headers }) =>
      response
        .writeHead(200, EVENTS)
        .write(`event: endpoint\ndata: ${endpoint.replace("SAME", String(headers["host"]))}\n\n`),
    );
    expect(await failure(url)).toMatchObject({ code: "INVALID_RESPONSE" });
    expect(seen).toHaveLength(1);
  });

  it.each([
    ["/messages?sessionId=1", "/messages?sessionId=1"],
    ["messages", "/messages"],
    ["?s=1", "/mcp?s=1"],
  ])("may be written as %s", async (endpoint, path) => {
    const { url, seen } = await byHand(({ method, response }) => {
      if (method === "GET") response.writeHead(200, EVENTS).write(`event: endpoint\r\ndata: ${endpoint}\r\n\r\n`);
      else response.writeHead(202).end("Accepted");
    });
    const { link } = await driven(sseTransport({ url, requester: requester(), ownsRequester: true }));
    await link.send(notification("n"));
    expect(seen[1]).toMatchObject({ method: "POST", path });
  });

  it("has to come in time, and before the end", async () => {
    const silent = await byHand(({ response }) => response.writeHead(200, EVENTS).write(": wait\n\n"));
    expect(await failure(silent.url, { openMs: 30 })).toMatchObject({ code: "TIMEOUT" });
    const mute = await byHand(() => undefined);
    expect(await failure(mute.url, { openMs: 30 })).toMatchObject({ code: "TIMEOUT" });
    const ended = await byHand(({ response }) => response.writeHead(200, EVENTS).end());
    expect(await failure(ended.url)).toMatchObject({ code: "CLOSED" });
  });

  it("comes as an event stream with status 200, or the error says what came instead", async () => {
    const html = await byHand(({ response }) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"));
    expect(await failure(html.url)).toMatchObject({
      code: "INVALID_RESPONSE",
      message: expect.stringContaining("text/html"),
    });
    const none = await byHand(({ response }) => response.writeHead(404).end("no"));
    expect(await failure(none.url)).toMatchObject({ code: "HTTP_STATUS", status: 404 });
  });
});

describe("messages", () => {
  /** Serves `post` for what is posted to a stream kept open in `stream`. */
  async function served(post: (seen: Seen, stream: Seen["response"]) => void) {
    let stream: Seen["response"] | undefined;
    return byHand((seen) => {
      if (seen.method === "GET") (stream = seen.response).writeHead(200, EVENTS).write("event: endpoint\ndata: /m\n\n");
      else post(seen, stream as Seen["response"]);
    });
  }

  it("are refused with their status, or with the server's own error", async () => {
    const { url } = await served(({ message, response }) => {
      const error = JSON.stringify({ jsonrpc: "2.0", id: message["id"], error: { code: -32600, message: "no" } });
      response.writeHead(400).end(message["method"] === "own" ? error : "no session");
    });
    const { ask, sink } = await driven(sseTransport({ url, requester: requester(), ownsRequester: true }));
    expect((await ask("other")).error).toMatchObject({ code: "HTTP_STATUS", status: 400 });
    expect((await ask("own")).message).toMatchObject({ error: { code: -32600 } });
    expect(sink.losses).toHaveLength(1);
  });

  it("may be answered in the body, or before they are accepted", async () => {
    const { url } = await served((seen, stream) => {
      if (seen.message["method"] === "body") seen.response.writeHead(200).end(answer(seen));
      else stream.write(`data: ${answer(seen)}\n\n`, () => seen.response.writeHead(202).end());
    });
    const { ask, sink } = await driven(sseTransport({ url, requester: requester(), ownsRequester: true }));
    expect((await ask("body")).message).toBeDefined();
    expect((await ask("stream")).message).toBeDefined();
    expect(sink.losses).toEqual([]);
  });

  it("that nobody waits for are ended", async () => {
    let closed = (): void => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    let came = (): void => undefined;
    const arrived = new Promise<void>((resolve) => (came = resolve));
    const { url } = await served(({ response }) => {
      response.on("close", () => closed());
      came();
    });
    const { ask, link, sink } = await driven(sseTransport({ url, requester: requester(), ownsRequester: true }));
    void ask("slow");
    await arrived;
    expect(link.forget?.(1)).toBe(false);
    await gone;
    expect(sink.losses).toEqual([]);
  });
});
