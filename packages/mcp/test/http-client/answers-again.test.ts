// An answer to a question that did not arrive is posted again: whoever has asked waits for it. Nothing else is.
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "../../src/serve/connect.js";
import { serveHttp } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { nodeRequester } from "../../src/node/http-requester.js";
import type { HttpClientLimits } from "../../src/http/client/http-caller.js";
import { sseTransport } from "../../src/http/client/sse-transport.js";
import { streamableHttpTransport } from "../../src/http/client/streamable-http-transport.js";
import { byHand, driven, notification, type Seen, type TestLink } from "./transport-fixture.js";

const ANSWER = { text: '{"jsonrpc":"2.0","id":1,"result":{}}', kind: "response" } as const;
const LINKS = { "Streamable HTTP": streamableHttpTransport, "HTTP+SSE": sseTransport };
/** What may be otherwise in a moment, and what may not. */
const PASSING = [429, 502, 503, 504, "cut"] as const;
const LASTING = [400, 401, 403, 413, 500] as const;
type Fate = (typeof PASSING | typeof LASTING)[number];

/** A link to a server by hand that gives its posts these fates, one after the other, and then takes what comes. */
async function linked(
  make: (typeof LINKS)[keyof typeof LINKS],
  fates: readonly Fate[],
  limits: Partial<HttpClientLimits> = {},
) {
  const left = [...fates];
  const posts: Seen[] = [];
  const { url } = await byHand((seen) => {
    const { method, response } = seen;
    if (method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("event: endpoint\ndata: /posts\n\n");
      return;
    }
    posts.push(seen);
    const fate = left.shift();
    if (fate === "cut") response.destroy();
    else response.writeHead(fate ?? 202).end();
  });
  const made: TestLink = await driven(make({ url, requester: nodeRequester(), ownsRequester: true, limits }));
  return { posts, link: made.link };
}

describe.each(Object.entries(LINKS))("over %s", (_name, make) => {
  it.each(PASSING)("an answer that met %s is posted again, as it was", async (fate) => {
    const { posts, link } = await linked(make, [fate, fate]);
    void link.send(ANSWER);
    await expect.poll(() => posts.map(({ body }) => body)).toEqual([ANSWER.text, ANSWER.text, ANSWER.text]);
    expect(link.troubles?.() ?? "").toBe("");
  });

  it("as long as the server is away, such as while a store of its processes is", async () => {
    const { posts, link } = await linked(make, [503, 503, 502, 503]);
    void link.send(ANSWER);
    await expect.poll(() => posts.length, { timeout: 10_000 }).toBe(5);
    expect(link.troubles?.() ?? "").toBe("");
  });

  it("until its time is over, and then it is said", async () => {
    const { posts, link } = await linked(make, Array<Fate>(20).fill(502), { answerMs: 500 });
    void link.send(ANSWER);
    await expect.poll(() => link.troubles?.()).toMatch(/response was not delivered: .*502/);
    expect(posts.length).toBeLessThan(5);
  });

  it("holds up nothing else meanwhile", async () => {
    const { posts, link } = await linked(make, [503, 503, 503], { posts: 1 });
    void link.send(ANSWER);
    await expect.poll(() => posts.length).toBe(1);
    await link.send(notification("notifications/cancelled"));
    expect(posts.length).toBeLessThan(4);
    await link.close();
  });

  it.each(LASTING)("an answer that met %i is not", async (fate) => {
    const { posts, link } = await linked(make, [fate]);
    void link.send(ANSWER);
    await expect.poll(() => link.troubles?.()).toMatch(/response was not delivered/);
    expect(posts).toHaveLength(1);
  });

  it("a notification is not, whatever it met", async () => {
    const { posts, link } = await linked(make, [502]);
    await link.send(notification("notifications/cancelled"));
    expect(posts).toHaveLength(1);
  });

  it("nor is an answer whose link was closed meanwhile", async () => {
    const { posts, link } = await linked(make, [502]);
    void link.send(ANSWER);
    await expect.poll(() => posts.length).toBe(1);
    await link.close();
    expect(posts).toHaveLength(1);
  });
});

it.each([
  ["is refused for the moment", 503],
  ["is held", undefined],
])("a session goes on while an answer %s", async (_, status) => {
  const server = new Server({ name: "held", version: "1.0.0", report: false });
  server.tool("ask", {
    run: async (_args, ctx) => (await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } })).action,
  });
  server.tool("now", { run: () => "now" });
  const serving = await serveHttp(server, { signals: false, limits: { drainMs: 50 } });
  onTestFinished(() => serving.close());
  // What answers a question goes no further.
  let held = 0;
  const before = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      if (body.includes('"action"')) {
        held++;
        if (status !== undefined) response.writeHead(status).end();
        return;
      }
      const { port } = new URL(serving.url);
      const headers = { ...request.headers, host: `127.0.0.1:${port}` };
      const onward = httpRequest({ port, path: "/mcp", method: request.method, headers }, (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(response);
      });
      onward.on("error", () => response.destroy());
      response.on("close", () => onward.destroy());
      onward.end(body);
    });
  });
  await once(before.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    before.closeAllConnections();
    before.close();
  });
  const { port } = before.address() as AddressInfo;
  const client = await connect(`http://127.0.0.1:${port}/mcp`, {
    revision: "2025-11-25",
    elicit: () => ({ action: "accept" as const, content: { sure: true } }),
  });
  onTestFinished(() => client.close());
  const asking = client.call("ask").catch((error: unknown) => error);
  await expect.poll(() => held).toBeGreaterThan(0);
  expect((await client.call("now")).content).toMatchObject([{ text: "now" }]);
  await client.close();
  await asking;
});
