// Mounts in Express: those that work, and those that find nothing and say what to write.
import type { AddressInfo } from "node:net";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { afterEach, describe, expect, it } from "vitest";
import { protectedResource, tokenAuthenticator, wellKnown } from "../../src/entries/auth.js";
import { type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type App = Record<"use" | "all" | "post", (...given: unknown[]) => unknown> & {
  listen(
    port: number,
    host: string,
    ready: () => void,
  ): { address(): AddressInfo; close(): void; closeAllConnections(): void };
};
type Wire = (app: App, handler: NodeHandler) => unknown;

async function mounted(
  options: NodeHandlerOptions,
  wire: Wire,
): Promise<{ readonly url: string; readonly lines: string[] }> {
  const lines: string[] = [];
  const handler = toNodeHandler(
    new Server({ name: "m", version: "1", report: (_level, text) => void lines.push(text) }),
    options,
  );
  const app = createMcpExpressApp() as unknown as App;
  wire(app, handler);
  const http = await new Promise<ReturnType<App["listen"]>>((resolve) => {
    const listening = app.listen(0, "127.0.0.1", () => resolve(listening));
  });
  closing.push(
    () => handler.close(),
    () => http.close(),
    () => http.closeAllConnections(),
  );
  return { url: `http://127.0.0.1:${http.address().port}`, lines };
}

const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const ping = async (url: string): Promise<number> => (await fetch(url, { method: "POST", headers, body: PING })).status;

const WRONG: readonly (readonly [string, NodeHandlerOptions, Wire, prefix: string])[] = [
  ["app.all(/api/mcp)", {}, (app, handler) => app.all("/api/mcp", handler), "/api"],
  ["app.post(/api/mcp)", {}, (app, handler) => app.post("/api/mcp", handler), "/api"],
  ["app.use(/api/mcp)", {}, (app, handler) => app.use("/api/mcp", handler), "/api"],
  ["app.use(/a/b/mcp)", {}, (app, handler) => app.use("/a/b/mcp", handler), "/a/b"],
  ["a prefix with the path", { pathPrefix: "/api/mcp" }, (app, handler) => app.use("/api/mcp", handler), "/api"],
  [
    "a prefix with the path, app.all",
    { pathPrefix: "/api/mcp" },
    (app, handler) => app.all("/api/mcp", handler),
    "/api",
  ],
  ["another prefix", { pathPrefix: "/v1" }, (app, handler) => app.all("/v2/mcp", handler), "/v2"],
  ["a path of its own", { path: "/tools" }, (app, handler) => app.all("/api/tools", handler), "/api"],
];

describe("a mount that finds nothing", () => {
  it.each(WRONG)("%s: says once what to write, and that works", async (_name, options, wire, prefix) => {
    const path = `${prefix}${options.path ?? "/mcp"}`;
    const { url, lines } = await mounted(options, wire);
    for (let times = 0; times < 3; times++) expect(await ping(url + path)).toBe(404);
    expect(lines).toEqual([expect.stringContaining(`pathPrefix: "${prefix}" })`)]);
    const mended = await mounted({ ...options, pathPrefix: prefix }, wire);
    expect(await ping(mended.url + path)).toBe(200);
    expect(mended.lines).toEqual([]);
  });

  it("says nothing of what others answer", async () => {
    const { url, lines } = await mounted({}, (app, handler) => app.use(handler));
    expect(await ping(`${url}/other/mcp`)).toBe(404);
    expect(await ping(`${url}/mcp`)).toBe(200);
    expect(lines).toEqual([]);
  });
});

describe("pages at the root, below a path", () => {
  const resource = protectedResource({
    resource: "https://mcp.example.com/api/mcp",
    authorizationServers: ["https://login.example.com"],
  });
  const authenticator = tokenAuthenticator(
    { verify: async () => ({ ok: false, status: 401, message: "no" }) as never },
    { resource },
  );
  const options: NodeHandlerOptions = {
    pathPrefix: "/api",
    authorization: { authenticator },
    pages: wellKnown(resource, { issuerMetadata: "off" }).pages,
  };
  const challenged = async (url: string): Promise<string> => {
    const challenge = (await fetch(`${url}/api/mcp`, { method: "POST" })).headers.get("www-authenticate") ?? "";
    return new URL(/resource_metadata="(.*?)"/.exec(challenge)?.[1] as string).pathname;
  };

  it("are not found, and it is said how they are", async () => {
    const { url, lines } = await mounted(options, (app, handler) => app.use("/api", handler));
    const page = await challenged(url);
    expect((await fetch(url + page)).status).toBe(404);
    await ping(`${url}/api/mcp`);
    expect(lines.filter((line) => line.includes('app.use("/.well-known", handler)'))).toHaveLength(1);
  });

  it.each<[string, Wire]>([
    ["mounted there too", (app, handler) => [app.use("/.well-known", handler), app.use("/api", handler)]],
    ["mounted once for all", (app, handler) => app.use(handler)],
  ])("are found where the handler is %s", async (_name, wire) => {
    const { url } = await mounted(options, wire);
    expect((await fetch(url + (await challenged(url)))).status).toBe(200);
  });
});
