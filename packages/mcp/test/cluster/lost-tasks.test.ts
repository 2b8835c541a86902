// A task that runs nowhere any more: the process that made it is back under its name, without tasks or without that one.
import { expect, it, onTestFinished } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores } from "../../src/cluster/stores.js";
import { serveHttp } from "../../src/serve/http.js";
import { LeanServer } from "../../src/server/lean-server.js";
import { Server } from "../../src/server/server.js";
import { session } from "../http/http-fixture.js";
import { KEY } from "./cluster-fixture.js";

const ABOUT = { version: "1", report: false } as const;

function withTasks(name: string): Server {
  const server = new Server({ name, ...ABOUT });
  server.tool("work", { task: "optional", run: () => "worked" });
  return server;
}

it.each([
  ["a LeanServer", () => new LeanServer({ name: "back", ...ABOUT })],
  ["a Server that has not heard of it", () => withTasks("back")],
] as const)("is told not to exist through another process by %s", async (_, back) => {
  const stores = memoryStores();
  const now = new Date().toISOString();
  const times = { createdAt: now, lastUpdatedAt: now, ttlMs: 60_000 };
  await stores.tasks.put({ task: { taskId: "back.t", status: "working", ...times } });
  const urls: string[] = [];
  for (const [node, server] of [
    ["back", back()],
    ["other", withTasks("other")],
  ] as const) {
    const serving = await serveHttp(server, { signals: false, share: shareOver(stores, { key: KEY, node }) });
    onTestFinished(() => serving.close());
    urls.push(serving.url);
  }
  const { post } = await session(urls[1] as string, "2025-11-25");
  for (const [id, method] of ["tasks/result", "tasks/cancel"].entries()) {
    const { text } = await post({ jsonrpc: "2.0", id, method, params: { taskId: "back.t" } });
    const [, line = text] = /^data: (.*"id".*)$/m.exec(text) ?? [];
    expect([method, JSON.parse(line)]).toMatchObject([method, { error: { code: -32602 } }]);
  }
});
