// Documents beside the endpoint, and what an endpoint tells of its load.
import { describe, expect, it } from "vitest";
import { call, OpenStream, post, send, session, start, testServer } from "./http-fixture.js";

const KEY = { authorization: "Bearer key" };

function authenticate(request: { header(name: string): string | undefined }): string | { status: number } {
  return request.header("authorization") === KEY.authorization ? "ada" : { status: 401 };
}

describe("pages", () => {
  const pages = {
    "/open": { open: true, respond: () => ({ status: 200, headers: { "content-type": "text/plain" }, body: "all" }) },
    "/late": { respond: async ({ query }: { query: string }) => ({ status: 203, body: query }) },
  };

  it("are served at their paths, behind the front door and, unless open, behind authenticate", async () => {
    const { url } = await start(testServer(), { pages, authenticate });
    const open = new URL("/open", url).href;
    const late = new URL("/late?a=1", url).href;
    expect(await send(open, { method: "GET" })).toMatchObject({ status: 200, text: "all" });
    expect(await send(open, { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    expect(await send(late, { method: "GET" })).toMatchObject({ status: 401 });
    expect(await send(late, { method: "GET", headers: KEY })).toMatchObject({ status: 203, text: "a=1" });
    expect(await send(open)).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
    expect(await send(open, { method: "GET", headers: { host: "evil.example" } })).toMatchObject({ status: 403 });
    expect(await send(open, { method: "GET", headers: { origin: "https://evil.example" } })).toMatchObject({
      status: 403,
    });
  });

  it("are missed by a slash at the end of a path, which is told", async () => {
    const { url } = await start(testServer(), { pages });
    const told = async (path: string): Promise<unknown> => {
      const { status, text } = await send(new URL(path, url).href, { method: "GET" });
      return [status, text.includes("leave out the slash at its end")];
    };
    expect([await told("/open/"), await told("/mcp/")]).toEqual([
      [404, true],
      [404, true],
    ]);
    expect([await told("/other/"), await told("/other")]).toEqual([
      [404, false],
      [404, false],
    ]);
    // Elsewhere the path of the endpoint is named.
    expect((await send(new URL("/", url).href)).text).toBe("Not found: use /mcp");
  });

  it("cannot take the path of the endpoint", async () => {
    await expect(start(testServer(), { pages: { "/mcp": pages["/open"] } })).rejects.toMatchObject({
      code: "BAD_PATH",
    });
  });

  it.each(["open", "", "/a b", "/a?b", "/a#b", "/\u00e4"])("are not served at %j, which is no path", async (path) => {
    await expect(start(testServer(), { pages: { [path]: pages["/open"] } })).rejects.toMatchObject({
      code: "BAD_PATH",
      message: expect.stringContaining(`"${path}" is no path`),
    });
  });
});

describe("stats", () => {
  it("count sessions, streams, connections and bytes", async () => {
    const serving = await start();
    expect(serving.stats()).toEqual({ sessions: 0, streams: 0, connections: 0, bytesIn: 0, bytesOut: 0 });
    const open = await session(serving.url);
    const stream = new OpenStream(serving.url, { headers: { accept: "text/event-stream", ...open.headers } });
    await stream.opened;
    const { status, text } = await open.post(call("echo", { text: "x".repeat(1_000) }));
    expect(status).toBe(200);
    const stats = serving.stats();
    expect(stats).toMatchObject({ sessions: 1, streams: 1 });
    expect(stats.connections).toBeGreaterThanOrEqual(1);
    expect(stats.bytesIn).toBeGreaterThan(1_000);
    expect(stats.bytesOut).toBeGreaterThan(text.length);
    expect((await post(serving.url, { jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(200);
    expect(serving.stats().bytesIn).toBeGreaterThan(stats.bytesIn);
  });
});
