// What is sent to a process that listens and has not joined the others yet waits for its answer.
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { Share } from "../../src/http/server/exchange.js";
import { serveHttp } from "../../src/serve/http.js";
import { inMemory } from "../cluster/cluster-fixture.js";
import { gate, testServer } from "../http/http-fixture.js";

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "early", version: "1" } },
});
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A request of its own connection, sent as far as the system has taken it. */
async function posted(port: number) {
  const sent = httpRequest({ port, host: "127.0.0.1", path: "/mcp", method: "POST", headers: HEADERS, agent: false });
  const status = new Promise<number>((resolve, reject) => {
    sent.on("error", reject);
    sent.on("response", (response) => resolve(response.resume().statusCode ?? 0));
  });
  status.catch(() => undefined);
  await new Promise<void>((resolve) => sent.end(INITIALIZE, resolve));
  return { status, leave: () => sent.destroy() };
}

it("waits for the process to join, whoever else has left meanwhile, and is answered then", async () => {
  const port = await freePort();
  const [asked, joined] = [gate(), gate()];
  const share: Share = {
    async join() {
      asked.open();
      await joined.opened;
      return inMemory()(0).join();
    },
  };
  const serving = serveHttp(testServer({ report: () => undefined }), { port, share, signals: false });
  onTestFinished(async () => (await serving).close());
  await asked.opened;
  const early = [await posted(port), await posted(port), await posted(port)];
  early[1]?.leave();
  const left = await Promise.race([early[0]?.status, new Promise((resolve) => setImmediate(resolve, "waits"))]);
  expect(left).toBe("waits");
  joined.open();
  expect([await early[0]?.status, await early[2]?.status]).toEqual([200, 200]);
});

it("is not answered where the process cannot join", async () => {
  const port = await freePort();
  const [asked, failed] = [gate(), gate()];
  const share: Share = {
    async join() {
      asked.open();
      await failed.opened;
      throw new Error("no");
    },
  };
  const serving = serveHttp(testServer({ report: () => undefined }), { port, share, signals: false });
  serving.catch(() => undefined);
  await asked.opened;
  const early = await posted(port);
  failed.open();
  await expect(serving).rejects.toThrow("no");
  await expect(early.status).rejects.toThrow(/socket hang up|ECONNRESET/);
});
