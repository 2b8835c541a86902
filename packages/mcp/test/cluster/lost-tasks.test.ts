// A task that runs nowhere any more: the process that made it is back under its name, without tasks or without that one.
import { expect, it, onTestFinished, vi } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { LEASE_MS, memoryStores } from "../../src/cluster/stores.js";
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

it.each(["tasks/result", "tasks/cancel"])(
  "is waited for by %s until it is known that its process is lost, or who has it",
  async (method) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    vi.advanceTimersByTime(1);
    const stores = memoryStores();
    const now = new Date().toISOString();
    const times = { createdAt: now, lastUpdatedAt: now, ttlMs: 60_000 };
    await stores.tasks.put({ task: { taskId: "lost.t", status: "working", ...times } });
    const share = shareOver(stores, { key: KEY, node: "other" });
    const serving = await serveHttp(withTasks("other"), { signals: false, share });
    onTestFinished(() => serving.close());
    const { post } = await session(serving.url, "2025-11-25");
    for (let passed = 0; passed <= LEASE_MS; passed += 1_000) await vi.advanceTimersByTimeAsync(1_000);
    // It has been killed just now: nobody listens there, and its lease goes on for a while.
    await stores.beat("lost", "tcp://127.0.0.1:1");
    await vi.advanceTimersByTimeAsync(1_000);
    let reply = "";
    void post({ jsonrpc: "2.0", id: 1, method, params: { taskId: "lost.t" } }).then(({ text }) => (reply = text));
    await expect.poll(async () => (await vi.advanceTimersByTimeAsync(200), reply)).not.toBe("");
    expect(reply).toContain(
      method === "tasks/result" ? '"outcome":"unknown"' : "The task has ended already: it is failed",
    );
  },
);
