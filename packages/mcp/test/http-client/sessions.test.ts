// Sessions, authorization, limits and the end of a Streamable HTTP link.
import { describe, expect, it } from "vitest";
import type { AuthorizedResponse, HttpAuthorizer } from "../../src/jsonrpc/transport.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import { nodeRequester } from "../../src/node/http-requester.js";
import { streamableHttpTransport } from "../../src/http/client/streamable-http-transport.js";
import { gate, start } from "../http/http-fixture.js";
import { byHand, linkTo, notification, replyJson, type Seen } from "./transport-fixture.js";

/** Opens sessions s1, s2… and serves what `serve` does not. */
function sessions(serve: (seen: Seen) => boolean): ReturnType<typeof byHand> {
  let opened = 0;
  return byHand((seen) => {
    if (serve(seen)) return;
    if (seen.message["method"] === "initialize") replyJson(seen, {}, { "mcp-session-id": `s${++opened}` });
    else if (seen.method !== "POST") seen.response.writeHead(405).end();
    else if (seen.message["id"] === undefined) seen.response.writeHead(202).end();
    else replyJson(seen);
  });
}

describe("a session", () => {
  it("is named in every later request, and ended by DELETE", async () => {
    const { url, seen } = await sessions(() => false);
    const { ask, handshake, link } = await linkTo(url);
    await handshake();
    await ask("tools/list", {}, { "mcp-protocol-version": "2025-11-25" });
    await link.close();
    await link.close();
    const said = seen.map(({ method, headers }) => [method, headers["mcp-session-id"]]);
    expect(said).toEqual([
      ["POST", undefined],
      ["POST", "s1"],
      ["GET", "s1"],
      ["POST", "s1"],
      ["DELETE", "s1"],
    ]);
    expect(seen.at(-1)?.headers["mcp-protocol-version"]).toBe("2025-11-25");
  });

  it("that the server has forgotten costs no request: each is known not to have run", async () => {
    let forgotten = false;
    const { url, seen } = await sessions(({ method, headers, response }) => {
      if (!forgotten || headers["mcp-session-id"] !== "s1" || method !== "POST") return false;
      response
        .writeHead(404, { "content-type": "application/json" })
        .end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}');
      return true;
    });
    const { ask, handshake, link } = await linkTo(url);
    await handshake();
    forgotten = true;
    const both = await Promise.all([ask("tools/call"), ask("tools/call")]);
    for (const { error } of both) expect(error).toMatchObject({ code: "SESSION_EXPIRED" });
    await handshake();
    expect((await ask("tools/call")).message).toBeDefined();
    expect(seen.at(-1)?.headers["mcp-session-id"]).toBe("s2");
    expect(link.troubles?.()).toContain("forgotten the session");
  });

  it("survives a method that the server does not know, whatever its status", async () => {
    const { url } = await sessions(({ message, response }) => {
      if (message["method"] !== "odd") return false;
      const error = { code: -32601, message: "Method not found" };
      response.writeHead(404).end(JSON.stringify({ jsonrpc: "2.0", id: message["id"], error }));
      return true;
    });
    const { ask, handshake } = await linkTo(url);
    await handshake();
    expect((await ask("odd")).message).toMatchObject({ error: { code: -32601 } });
    expect((await ask("tools/list")).message).toBeDefined();
  });

  it.each(["a b", "é", "x".repeat(2_000)])("cannot have the id %j", async (id) => {
    const { url } = await byHand((seen) => replyJson(seen, {}, { "mcp-session-id": id }));
    const { ask } = await linkTo(url);
    expect((await ask("initialize")).error).toMatchObject({ code: "INVALID_RESPONSE" });
  });

  it("is of no concern to the stateless era", async () => {
    const { url, seen } = await byHand((one) => replyJson(one, {}, { "mcp-session-id": "s" }));
    const { ask, link } = await linkTo(url);
    await ask("server/discover");
    link.established?.({ era: "stateless", version: "2026-07-28" });
    await ask("tools/list");
    await link.close();
    expect(seen.map(({ method, headers }) => [method, headers["mcp-session-id"]])).toEqual([
      ["POST", undefined],
      ["POST", undefined],
    ]);
  });

  it("is left to itself by a server that does not answer DELETE", async () => {
    const { url } = await sessions(({ method }) => method === "DELETE");
    const { handshake, link, sink } = await linkTo(url, { limits: { closeMs: 20 } });
    await handshake();
    await link.close();
    expect(sink.ends).toEqual([undefined]);
  });
});

describe("an authorizer", () => {
  function authorizer(retry: (response: AuthorizedResponse) => boolean): HttpAuthorizer & { readonly told: number[] } {
    const told: number[] = [];
    let token = 0;
    return {
      told,
      headers: () => Promise.resolve({ authorization: `Bearer ${++token}` }),
      challenged(response) {
        told.push(response.status);
        expect(response.sent).toEqual({ authorization: `Bearer ${token}` });
        expect(response.header("www-authenticate")).toBe("Bearer a, DPoP b");
        return Promise.resolve(retry(response));
      },
      answered: ({ status }) => void told.push(status),
    };
  }

  const challenge = ["www-authenticate", "Bearer a", "www-authenticate", "DPoP b"];

  it("has the request sent again, on the same connection", async () => {
    const ports = new Set<unknown>();
    const { url, seen } = await byHand((one) => {
      ports.add(one.response.socket?.remotePort);
      if (one.headers.authorization === "Bearer 3") replyJson(one);
      else one.response.writeHead(seen.length === 1 ? 401 : 403, challenge).end("{}");
    });
    const auth = authorizer(() => true);
    const { ask } = await linkTo(url, { authorizer: auth });
    expect((await ask("ping")).message).toBeDefined();
    expect(auth.told).toEqual([401, 403, 200]);
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
    expect(ports.size).toBe(1);
  });

  it("is not asked for ever, and may leave the response to the caller", async () => {
    const { url, seen } = await byHand(({ response }) => response.writeHead(401, challenge).end());
    const stubborn = await linkTo(url, { authorizer: authorizer(() => true) });
    expect((await stubborn.ask("ping")).error).toMatchObject({ code: "UNAUTHORIZED" });
    expect(seen).toHaveLength(6);
    const modest = await linkTo(url, { authorizer: authorizer(() => false) });
    expect((await modest.ask("ping")).error).toMatchObject({ code: "UNAUTHORIZED" });
    expect(seen).toHaveLength(7);
  });

  it("that fails leaves no reply behind, whose connection would keep the process", async () => {
    const closed = gate();
    const { url } = await byHand(({ response }) => {
      response.socket?.on("close", () => closed.open());
      // Never ended: only who lets go of the reply ends the connection.
      response.writeHead(401).write("{");
    });
    const error = new LocalError("UNAUTHORIZED", "Nobody is there to log in");
    const { ask } = await linkTo(url, {
      authorizer: { headers: () => Promise.resolve({}), challenged: () => Promise.reject(error) },
    });
    expect((await ask("ping")).error).toBe(error);
    await closed.opened;
  });

  it("may fail with words of its own", async () => {
    const { url } = await byHand((one) => replyJson(one));
    const error = new LocalError("UNAUTHORIZED", "Nobody logged in");
    const { ask } = await linkTo(url, {
      authorizer: { headers: () => Promise.reject(error), challenged: () => Promise.resolve(false) },
    });
    expect((await ask("ping")).error).toBe(error);
  });
});

describe("a link", () => {
  it("refuses URLs and headers that cannot be meant", () => {
    const requester = nodeRequester();
    const made =
      (url: string, headers = {}) =>
      (): unknown =>
        streamableHttpTransport({ url, requester, headers });
    expect(made("not a url")).toThrow("is not a URL");
    expect(made("ftp://host/")).toThrow("not a URL for HTTP");
    expect(made("http://user:secret@host/")).toThrow(/^(?!.*secret).*user or password/);
    for (const name of ["content-length", "Transfer-Encoding", "a b", ""]) {
      expect(made("http://host/", { [name]: "1" })).toThrow(TypeError);
    }
    expect(made("http://host/", { x: "a\r\nb: c" })).toThrow(TypeError);
    requester.close();
  });

  it("sends its own headers with every request, and no protocol header but once", async () => {
    const { url, seen } = await sessions(() => false);
    const { handshake, ask } = await linkTo(url, { headers: { "X-Key": "k", Accept: "text/html" } });
    await handshake();
    await ask("tools/list", {}, { "mcp-protocol-version": "2025-11-25" });
    for (const { headers } of seen) expect(headers["x-key"]).toBe("k");
    expect(seen[0]?.headers["accept"]).toBe("application/json, text/event-stream");
    expect(seen[0]?.headers["content-type"]).toBe("application/json");
  });

  it("has a bounded number of requests waiting", async () => {
    const { url } = await byHand(() => undefined);
    const { ask, link, sink } = await linkTo(url, { limits: { requests: 2 } });
    void ask("a");
    void ask("b");
    expect((await ask("c")).error).toMatchObject({ code: "LIMIT" });
    await link.close();
    expect(sink.losses).toHaveLength(1);
    expect((await ask("d")).error).toMatchObject({ code: "CLOSED" });
  });

  it("posts a bounded number of messages at once, in order, and gives up those nobody takes", async () => {
    const held: Seen[] = [];
    const full = gate();
    const { url } = await byHand((one) => {
      held.push(one);
      if (held.length === 2) full.open();
      if (held.length > 2) one.response.writeHead(202).end();
    });
    // Long enough for the first two to arrive on a machine that does much else.
    const { link } = await linkTo(url, { limits: { posts: 2, waitingPosts: 2, postMs: 500 } });
    const sent = ["a", "b", "c", "d", "e"].map((name) => link.send(notification(name)));
    await sent.at(-1);
    expect(link.troubles?.()).toContain("e was dropped");
    await full.opened;
    for (const each of sent) await each;
    expect(link.troubles?.()).toContain("did not accept it within 500 ms");
    expect(new Set(held.map(({ message }) => message["method"]))).toEqual(new Set(["a", "b", "c", "d"]));
  });

  it("leaves no connection behind", async () => {
    const serving = await start();
    const { handshake, ask, link } = await linkTo(serving.url);
    await handshake();
    await Promise.all([ask("tools/list"), ask("tools/list"), ask("ping")]);
    await link.close();
    while (serving.stats().connections > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(serving.stats().connections).toBe(0);
  });
});

describe("a link that is closed or left while somebody is still being authorized", () => {
  it("sends nothing afterwards, and does not wait", async () => {
    const waiting: (() => void)[] = [];
    let opened = false;
    const asked = gate();
    const authorizer: HttpAuthorizer = {
      headers: () =>
        opened
          ? new Promise((resolve) => {
              waiting.push(() => resolve({}));
              asked.open();
            })
          : Promise.resolve({}),
      challenged: () => Promise.resolve(false),
    };
    const { url, seen } = await sessions(() => false);
    const { ask, handshake, link, sink } = await linkTo(url, { authorizer, limits: { closeMs: 20 } });
    await handshake();
    await ask("tools/list");
    opened = true;
    void ask("tools/call");
    await asked.opened;
    const before = seen.length;
    await link.close();
    for (const go of waiting) go();
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toHaveLength(before);
    expect(sink.losses).toEqual([]);
  });
});
