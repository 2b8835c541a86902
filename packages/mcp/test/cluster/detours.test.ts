// Processes that reach Redis and not each other: letters carry what the relay does, and a socket does as soon as there is one.
import { spawn } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/serve/connect.js";
import { call, events, JSON_TYPES, messages, OpenStream, session, type TestSession } from "../http/http-fixture.js";
import { type Processes, startProcesses } from "./process-fixture.js";
import { hasRedis } from "./redis-fixture.js";

const LONG = { timeout: 60_000 };
/** Whoever takes no streams is served by the process of its session alone. */
const NO_STREAMS = { accept: "application/json" };

async function apart(count: number): Promise<Processes> {
  const processes = await startProcesses(count, () => ({}), { cables: true });
  for (const way of processes.ways) way.cut();
  return processes;
}

function textOf({ text }: { readonly text: string }): unknown {
  return (JSON.parse(text) as { result?: { content: { text: string }[] } }).result?.content[0]?.text;
}

function streamed({ url }: Processes, { headers }: TestSession, more: object): OpenStream {
  const stream = new OpenStream(url, {
    ...more,
    headers: { ...JSON_TYPES, ...headers, ...("headers" in more ? (more.headers as object) : {}) },
  });
  onTestFinished(() => stream.close());
  return stream;
}

describe.runIf(hasRedis)("processes that cannot connect to each other", () => {
  it.each(["2025-11-25", "2026-07-28"])(
    "answer each other's questions and end each other's tasks in %s",
    LONG,
    async (revision) => {
      const processes = await apart(3);
      const asking = await connect(processes.url, {
        revision,
        verdicts: false,
        elicit: () => ({ action: "accept", content: { sure: true } }),
      });
      onTestFinished(() => asking.close());
      for (let n = 0; n < 6; n++) {
        const { content } = await asking.call("ask", { id: String(n) });
        expect(content).toEqual([{ type: "text", text: "accept" }]);
      }
      expect(processes.effects()).toEqual([..."012345"]);
      processes.to(0);
      const job = await asking.callTask("job");
      processes.to(1);
      await job.cancel();
      await expect.poll(async () => (await job.status()).status, LONG).toBe("cancelled");
    },
  );

  it("serve a session's own requests once each, in their order, however long the answer", LONG, async () => {
    const processes = await apart(2);
    processes.to(0);
    const opened = await session(processes.url);
    processes.to(1);
    for (let n = 0; n < 30; n++) {
      expect(textOf(await opened.post(call("node", {}, n), NO_STREAMS))).toBe("m0");
      await opened.post(call("once", { id: `in turn ${n}` }, `t${n}`), NO_STREAMS);
    }
    const many = Array.from({ length: 50 }, (_, n) =>
      opened.post(call("once", { id: `at once ${n}` }, `o${n}`), NO_STREAMS),
    );
    expect(new Set((await Promise.all(many)).map(textOf)).size).toBe(50);
    const done = processes.effects();
    expect(done.slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, n) => `in turn ${n}`));
    expect(done.slice(30).toSorted()).toEqual(Array.from({ length: 50 }, (_, n) => `at once ${n}`).toSorted());
    expect(textOf(await opened.post(call("long", {}, "long"), NO_STREAMS))).toBe("é🙂".repeat(700_000));
    const gone = await fetch(processes.url, { method: "DELETE", headers: opened.headers });
    expect(gone.status).toBe(204);
    processes.to(0);
    expect((await opened.post(call("node"))).status).toBe(404);
  });

  it("resume each other's streams, and cancel each other's calls", LONG, async () => {
    const processes = await apart(2);
    processes.to(0);
    const opened = await session(processes.url);
    await opened.post({ jsonrpc: "2.0", id: "level", method: "logging/setLevel", params: { level: "debug" } });
    const message = call("tell-on-change", { id: "x" }, "x");
    const first = streamed(processes, opened, { method: "POST", body: JSON.stringify(message) });
    await first.until(({ messages: got }) => got.length === 1);
    const last = events(first.text)[0]?.id as string;
    first.close();
    processes.to(1);
    const again = streamed(processes, opened, { headers: { accept: "text/event-stream", "last-event-id": last } });
    await again.until(({ messages: got }) => got.length === 1);
    processes.children[0]?.send("changed");
    await again.ended;
    expect(messages(again.text).map(({ id, params }) => id ?? (params as { data?: unknown }).data)).toEqual([
      "begun",
      "x",
    ]);
    processes.to(0);
    const waiting = opened.post(call("hang", { id: "y" }, "y"), NO_STREAMS);
    await expect.poll(() => processes.effects(), LONG).toContain("y");
    processes.to(1);
    await opened.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "y" } });
    expect((await waiting).status).toBe(200);
  });

  it("go back to sockets once there are some, and read no letters any more", LONG, async () => {
    const processes = await apart(2);
    processes.to(0);
    const opened = await session(processes.url);
    processes.to(1);
    const letters = (): number =>
      Number(/cmdstat_xtrim:calls=(\d+)/.exec(processes.redis.cli("info", "commandstats"))?.[1] ?? 0);
    const node = async (): Promise<unknown> => textOf(await opened.post(call("node"), NO_STREAMS));
    expect(await node()).toBe("m0");
    expect(letters()).toBeGreaterThan(0);
    for (const way of processes.ways) way.mend();
    const back = async (): Promise<number> => {
      await node();
      return processes.ways[0]?.open ?? 0;
    };
    await expect.poll(back, LONG).toBe(1);
    const before = letters();
    for (let n = 0; n < 20; n++) expect(await node()).toBe("m0");
    // Heartbeats of the way that was used before, at most.
    expect(letters() - before).toBeLessThan(10);
  });

  it("say so when the one that serves is killed, and go on with its session", LONG, async () => {
    const processes = await apart(2);
    processes.to(0);
    const opened = await session(processes.url);
    processes.to(1);
    const hanging = opened.post(call("hang", { id: "x" }, "x"), NO_STREAMS);
    await expect.poll(() => processes.effects(), LONG).toEqual(["x"]);
    await processes.kill(0);
    const { status, text } = await hanging;
    expect([status, JSON.parse(text)]).toMatchObject([502, { id: "x", error: { data: { outcome: "unknown" } } }]);
    expect(textOf(await opened.post(call("node"), NO_STREAMS))).toBe("m1");
    expect(processes.effects()).toEqual(["x"]);
  });

  it("show nothing of it in Redis, and leave nothing there for ever", LONG, async () => {
    const processes = await apart(2);
    const monitor = spawn("redis-cli", ["-u", processes.redis.url, "monitor"]);
    onTestFinished(() => void monitor.kill());
    let seen = "";
    monitor.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString("latin1")));
    await expect.poll(() => seen).toContain("OK");
    processes.to(0);
    const opened = await session(processes.url);
    processes.to(1);
    expect(textOf(await opened.post(call("echo", { text: "SECRET" }), NO_STREAMS))).toBe("SECRET");
    await expect.poll(() => seen).toMatch(/"xadd" "[^"]*mail:m1"/i);
    expect(seen).not.toMatch(/SECRET|jsonrpc|nobody/);
    expect(seen).not.toContain(opened.id);
    for (const key of processes.redis.cli("--scan", "--pattern", "*mail*").split("\n").filter(Boolean))
      expect(Number(processes.redis.cli("pttl", key))).not.toBe(-1);
  });
});
