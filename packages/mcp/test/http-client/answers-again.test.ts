// An answer to a question that did not arrive is posted again: whoever has asked waits for it. Nothing else is.
import { describe, expect, it } from "vitest";
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
    await link.send(ANSWER);
    expect(posts.map(({ body }) => body)).toEqual([ANSWER.text, ANSWER.text, ANSWER.text]);
    expect(link.troubles?.() ?? "").toBe("");
  });

  it("as long as the server is away, such as while a store of its processes is", async () => {
    const { posts, link } = await linked(make, [503, 503, 502, 503]);
    await link.send(ANSWER);
    expect(posts).toHaveLength(5);
    expect(link.troubles?.() ?? "").toBe("");
  });

  it("until its time is over, and then it is said", async () => {
    const { posts, link } = await linked(make, Array<Fate>(20).fill(502), { answerMs: 500 });
    await link.send(ANSWER);
    expect(posts.length).toBeLessThan(5);
    expect(link.troubles?.()).toMatch(/response was not delivered: .*502/);
  });

  it("holds up nothing else meanwhile", async () => {
    const { posts, link } = await linked(make, [503, 503, 503], { posts: 1 });
    const answered = link.send(ANSWER);
    await expect.poll(() => posts.length).toBe(1);
    await link.send(notification("notifications/cancelled"));
    expect(posts.length).toBeLessThan(4);
    await link.close();
    await answered;
  });

  it.each(LASTING)("an answer that met %i is not", async (fate) => {
    const { posts, link } = await linked(make, [fate]);
    await link.send(ANSWER);
    expect(posts).toHaveLength(1);
  });

  it("a notification is not, whatever it met", async () => {
    const { posts, link } = await linked(make, [502]);
    await link.send(notification("notifications/cancelled"));
    expect(posts).toHaveLength(1);
  });

  it("nor is an answer whose link was closed meanwhile", async () => {
    const { posts, link } = await linked(make, [502]);
    const sent = link.send(ANSWER);
    await expect.poll(() => posts.length).toBe(1);
    await link.close();
    await sent;
    expect(posts).toHaveLength(1);
  });
});
