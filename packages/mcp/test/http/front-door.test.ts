// The front door: hosts and origins that may come in, and everything else that may not, before anything is parsed.
import { mkdtempSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { Server } from "../../src/server/server.js";
import {
  call,
  type Json,
  JSON_TYPES,
  modern,
  modernHeaders,
  post,
  raw,
  send,
  session,
  start,
  startOnce,
  testServer,
} from "./http-fixture.js";

const MESSAGE = JSON.stringify(modern("tools/call", { name: "count" }));
const HEADERS = { ...JSON_TYPES, ...modernHeaders(JSON.parse(MESSAGE) as Json) };

/** Of the latest test: what reached a handler. */
let calls = 0;
beforeEach(() => (calls = 0));

function counting(): Server {
  const server = new Server({ name: "t", version: "1" });
  server.tool("count", { run: () => ++calls });
  return server;
}

const FOREIGN_HOSTS = [
  "evil.example",
  "evil.example:PORT",
  "localhost.evil.example:PORT",
  "evil-localhost:PORT",
  "localhost",
  "localhost:1",
  "localhost:PORT1",
  "localhost.:PORT",
  "127.0.0.1.:PORT",
  "127.0.0.1",
  "127.0.0.2:PORT",
  "127.1:PORT",
  "0x7f000001:PORT",
  "2130706433:PORT",
  "0.0.0.0:PORT",
  "[::1]",
  "[::ffff:127.0.0.1]:PORT",
  "::1:PORT",
  "[0:0:0:0:0:0:0:1]:PORT",
  "evil.example@localhost:PORT",
  "localhost:PORT@evil.example",
  "localhost:PORT, evil.example",
  "localhost:PORT#",
  "http://localhost:PORT",
  "192.168.0.1:PORT",
];

const FOREIGN_ORIGINS = [
  "http://evil.example",
  "https://evil.example",
  "http://evil.example:PORT",
  "https://localhost:PORT",
  "http://localhost",
  "http://localhost:1",
  "http://localhost:PORT1",
  "http://localhost.evil.example:PORT",
  "http://evil.example@localhost:PORT",
  "http://localhost:PORT/",
  "http://localhost:PORT, http://evil.example",
  "http://localhost.:PORT",
  "http://127.0.0.1",
  "http://[::1]",
  "http://[::ffff:127.0.0.1]:PORT",
  "http://192.168.0.1:PORT",
  "null",
  "file://",
  "chrome-extension://abcdef",
  "vscode-webview://abcdef",
  "",
];

const OWN = ["localhost:PORT", "127.0.0.1:PORT", "[::1]:PORT", "LOCALHOST:PORT"];

describe("a loopback endpoint", () => {
  const served = startOnce(counting());

  it.each(FOREIGN_HOSTS)("refuses Host %s", async (host) => {
    const { url } = served;
    const reply = await send(url, {
      headers: { ...HEADERS, host: host.replace("PORT", new URL(url).port) },
      body: MESSAGE,
    });
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.status).toBeLessThan(404);
    expect(calls).toBe(0);
  });

  it.each(FOREIGN_ORIGINS)("refuses Origin %s for every method", async (origin) => {
    const { url } = served;
    const named = { ...HEADERS, origin: origin.replace("PORT", new URL(url).port) };
    for (const method of ["POST", "GET", "DELETE", "OPTIONS"]) {
      const reply = await send(url, { method, headers: named, ...(method === "POST" ? { body: MESSAGE } : {}) });
      expect([method, reply.status, reply.headers["access-control-allow-origin"]]).toEqual([method, 403, undefined]);
    }
    expect(calls).toBe(0);
  });

  it.each(OWN)("lets Host %s and its origin in", async (host) => {
    const { url } = served;
    const own = host.replace("PORT", new URL(url).port);
    expect((await send(url, { headers: { ...HEADERS, host: own }, body: MESSAGE })).status).toBe(200);
    expect(
      (await send(url, { headers: { ...HEADERS, host: own, origin: `http://${own}` }, body: MESSAGE })).status,
    ).toBe(200);
    expect(calls).toBe(2);
  });

  it.each(["cross-site", "same-site"])("refuses a browser's %s request without Origin", async (site) => {
    const { url } = served;
    expect((await send(url, { headers: { ...HEADERS, "sec-fetch-site": site }, body: MESSAGE })).status).toBe(403);
    expect(calls).toBe(0);
  });

  it.each([
    undefined,
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain; application/json",
    "application/json, text/plain",
    "application/jsonp",
    "application/json; charset=utf-16",
    "application/json;charset=latin1",
  ])("refuses content type %s with 415", async (type) => {
    const { url } = served;
    const { "content-type": _, ...others } = HEADERS;
    const headers = type === undefined ? others : { ...others, "content-type": type };
    expect((await send(url, { headers, body: MESSAGE })).status).toBe(415);
    expect(calls).toBe(0);
  });

  it.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
    "application/json ; x=y",
  ])("takes content type %s", async (type) => {
    const { url } = served;
    expect((await send(url, { headers: { ...HEADERS, "content-type": type }, body: MESSAGE })).status).toBe(200);
  });

  it("refuses a packed body", async () => {
    const { url } = served;
    expect((await send(url, { headers: { ...HEADERS, "content-encoding": "gzip" }, body: MESSAGE })).status).toBe(415);
  });
});

it("lists of one's own are as exact", async () => {
  const { url } = await start(testServer(), { allowedHosts: ["mcp.example"], allowedOrigins: ["https://app.example"] });
  const status = async (headers: Record<string, string>): Promise<number> =>
    (await post(url, modern("tools/list"), { ...modernHeaders(modern("tools/list")), ...headers })).status;
  expect(await status({ host: "mcp.example" })).toBe(200);
  expect(await status({ host: "mcp.example", origin: "https://app.example" })).toBe(200);
  expect(await status({ host: new URL(url).host })).toBe(403);
  expect(await status({ host: "mcp.example", origin: "https://app.example:8443" })).toBe(403);
});

it("the body may be as long as the limit and no longer, announced or not", async () => {
  const server = new Server({ name: "t", version: "1", limits: { messageBytes: 1_000 } });
  server.tool("count", { run: () => 1 });
  const { url } = await start(server);
  const padded = (length: number): string => MESSAGE.padEnd(length, " ");
  expect((await send(url, { headers: HEADERS, body: padded(1_000) })).status).toBe(200);
  expect((await send(url, { headers: HEADERS, body: padded(1_001) })).status).toBe(413);
  const head = Object.entries(HEADERS)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const opening = `POST /mcp HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${head}Transfer-Encoding: chunked\r\n\r\n`;
  const { text, ended } = await raw(url, `${opening}${(1_500).toString(16)}\r\n${padded(1_500)}\r\n0\r\n\r\n`);
  expect(text).toMatch(/^HTTP\/1\.1 413 /);
  expect(ended).toBe(true);
});

it("a body that is not UTF-8 is a parse error", async () => {
  const { url } = await start();
  const opened = await session(url);
  const head = Object.entries({ ...JSON_TYPES, ...opened.headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const body = Buffer.concat([
    Buffer.from(JSON.stringify(call("echo", { text: "@" })).replace("@", "")),
    Buffer.from([0xff]),
  ]);
  const opening = Buffer.from(
    `POST /mcp HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${head}Content-Length: ${body.length}\r\n\r\n`,
  );
  const { text } = await raw(url, Buffer.concat([opening, body]), { enough: (got) => got.includes("}") });
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toContain("-32700");
});

it("a socket file takes the place of a port", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-http-"));
  const socketPath = join(folder, "s");
  const { url } = await start(testServer(), { socketPath });
  expect(url).toBe(`http+unix://${encodeURIComponent(socketPath)}/mcp`);
  const message = modern("tools/list");
  const status = await new Promise((resolve, reject) => {
    const request = httpRequest(
      { socketPath, path: "/mcp", method: "POST", headers: { ...JSON_TYPES, ...modernHeaders(message) } },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    request.on("error", reject);
    request.end(JSON.stringify(message));
  });
  expect(status).toBe(200);
});

it("other paths are not found, other methods not allowed", async () => {
  const { url } = await start();
  expect((await send(url.replace("/mcp", "/"), { headers: HEADERS, body: MESSAGE })).status).toBe(404);
  expect((await send(`${url}/`, { headers: HEADERS, body: MESSAGE })).status).toBe(404);
  expect(
    (
      await send(`${url}?x=1`, {
        headers: { ...JSON_TYPES, ...modernHeaders(modern("tools/list")) },
        body: JSON.stringify(modern("tools/list")),
      })
    ).status,
  ).toBe(200);
  for (const method of ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"]) {
    expect([method, (await send(url, { method })).status]).toEqual([method, 405]);
  }
});

it("CORS is answered where it is wanted, for listed origins and known headers", async () => {
  const origin = "https://app.example";
  const { url } = await start(testServer(), { cors: true, allowedOrigins: [origin] });
  const asked = {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "Content-Type, Mcp-Param-Region, X-Other, Mcp-Session-Id",
  };
  const preflight = await send(url, { method: "OPTIONS", headers: asked });
  expect([preflight.status, preflight.headers["access-control-allow-origin"]]).toEqual([204, origin]);
  expect(preflight.headers["access-control-allow-headers"]).toBe("content-type, mcp-param-region, mcp-session-id");
  const reply = await post(url, modern("tools/list"), { ...modernHeaders(modern("tools/list")), origin });
  expect(reply.headers).toMatchObject({ "access-control-allow-origin": origin, vary: "origin" });
  expect(reply.headers["access-control-expose-headers"]).toContain("mcp-session-id");
  expect((await send(url, { method: "OPTIONS", headers: { ...asked, origin: "https://other.example" } })).status).toBe(
    403,
  );
});
