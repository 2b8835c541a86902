// Streams that outlive their connection: resuming, polling, GET streams, and what is kept of them.
import { describe, expect, it } from "vitest";
import type { Server } from "../../src/server/server.js";
import { MemoryEventStore } from "../../src/http/server/resumable-stream.js";
import {
  call,
  events,
  gate,
  JSON_TYPES,
  messages,
  OpenStream,
  send,
  session,
  start,
  type TestSession,
  testServer,
} from "./http-fixture.js";

function stream(url: string, opened: TestSession, last?: string): OpenStream {
  const headers = {
    ...opened.headers,
    accept: "text/event-stream",
    ...(last === undefined ? {} : { "last-event-id": last }),
  };
  return new OpenStream(url, { headers });
}

function posted(url: string, opened: TestSession, message: unknown): OpenStream {
  return new OpenStream(url, {
    method: "POST",
    headers: { ...JSON_TYPES, ...opened.headers },
    body: JSON.stringify(message),
  });
}

/** A server whose tool reports once, waits to be told, and reports `more` times before it ends. */
function slowServer(more = 2): { server: Server; go(): void } {
  const server = testServer();
  const waiting = gate();
  server.tool("slow", {
    async run(_, ctx) {
      await ctx.progress(1, more + 1);
      await waiting.opened;
      for (let i = 0; i < more; i++) await ctx.progress(i + 2, more + 1);
      return "the end";
    },
  });
  return { server, go: () => waiting.open() };
}

describe.each(["2025-03-26", "2025-06-18", "2025-11-25"])("a stream cut in %s", (revision) => {
  it("is resumed without loss or duplicate, and the request goes on meanwhile", async () => {
    const { server, go } = slowServer();
    const { url } = await start(server);
    const opened = await session(url, revision);
    const first = posted(url, opened, call("slow", {}, 9, { progressToken: "p" }));
    await first.until(({ messages: got }) => got.length === 1);
    first.close();
    await first.ended;
    const last = events(first.text).at(-1)?.id as string;
    go();
    const rest = stream(url, opened, last);
    await rest.ended;
    expect(rest.messages.map((one) => one["method"] ?? one["id"])).toEqual([
      "notifications/progress",
      "notifications/progress",
      9,
    ]);
    const again = stream(url, opened, last);
    await again.ended;
    expect(again.text).toBe(rest.text);
  });
});

describe("resumption", () => {
  it("waits on a stream that still runs, and moves it to the newest connection", async () => {
    const { server, go } = slowServer();
    const { url } = await start(server);
    const opened = await session(url);
    const first = posted(url, opened, call("slow", {}, 1, { progressToken: "p" }));
    await first.until(({ messages: got }) => got.length === 1);
    const second = stream(url, opened, events(first.text).at(-1)?.id);
    await second.opened;
    await second.until(({ text }) => text.includes(": resumed"));
    go();
    await Promise.all([first.ended, second.ended]);
    expect(first.messages).toHaveLength(1);
    expect(second.messages).toHaveLength(3);
  });

  it("is refused for what is not kept, not of this session, or nothing at all", async () => {
    const { server, go } = slowServer(30);
    const { url } = await start(server, { sessions: { eventsKept: 5 } });
    const opened = await session(url);
    go();
    const whole = await opened.post(call("slow", {}, 1, { progressToken: "p" }));
    expect(messages(whole.text)).toHaveLength(32);
    const last = events(whole.text).at(-1)?.id as string;
    const before = (back: number): string => last.replace(/\d+$/, (number) => String(Number(number) - back));
    expect(
      (await send(url, { method: "GET", headers: { ...opened.headers, "last-event-id": before(5) } })).text.match(
        /data/g,
      ),
    ).toHaveLength(5);
    for (const lost of [before(6), "99-1", "x", "1-1-1", "../1"]) {
      const reply = await send(url, { method: "GET", headers: { ...opened.headers, "last-event-id": lost } });
      expect(reply.status).toBe(400);
    }
    const other = await session(url);
    expect((await send(url, { method: "GET", headers: { ...other.headers, "last-event-id": last } })).status).toBe(400);
  });

  it("lets a tool hang up and the client come back for the answer (2025-11-25)", async () => {
    const { url } = await start();
    const opened = await session(url);
    const reply = await opened.post(call("hang-up", {}, 1));
    expect(events(reply.text)).toEqual([{ id: "1-0", retry: "10", data: "" }]);
    const rest = stream(url, opened, "1-0");
    await rest.ended;
    expect(rest.messages).toMatchObject([{ id: 1, result: { content: [{ text: "hung up: true" }] } }]);
    const older = await session(url, "2025-06-18");
    expect(JSON.parse((await older.post(call("hang-up"))).text)).toMatchObject({
      result: { content: [{ text: "hung up: false" }] },
    });
  });
});

describe("GET streams", () => {
  it("carry what belongs to no request, each message on exactly one, up to a limit", async () => {
    const server = testServer();
    const { url } = await start(server, { sessions: { streams: 2 } });
    const opened = await session(url);
    const streams = [stream(url, opened), stream(url, opened)];
    await Promise.all(streams.map((each) => each.until(({ text }) => text !== "")));
    expect(
      (await send(url, { method: "GET", headers: { ...opened.headers, accept: "text/event-stream" } })).status,
    ).toBe(409);
    for (let i = 0; i < 5; i++) {
      server.log("error", i);
      server.tool(`more-${i}`, { run: () => i });
      await expect.poll(() => streams.flatMap((each) => each.messages).length).toBe(2 * i + 2);
    }
    const seen = streams.flatMap((each) => each.messages);
    expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(6);
    await send(url, { method: "DELETE", headers: opened.headers });
    await Promise.all(streams.map((each) => each.ended));
  });

  it("get what was said before there was one, and can be resumed", async () => {
    const server = testServer();
    const { url } = await start(server);
    const opened = await session(url);
    server.log("error", "early");
    const first = stream(url, opened);
    await first.until(({ messages: got }) => got.length === 1);
    first.close();
    await first.ended;
    const last = events(first.text).at(-1)?.id as string;
    await expect
      .poll(async () => {
        server.log("error", "missed");
        const second = stream(url, opened, last);
        await second.until(({ text }) => text.includes("data") || text.includes(": resumed"));
        second.close();
        await second.ended;
        return second.text.includes("missed");
      })
      .toBe(true);
  });

  it("need a client that reads them", async () => {
    const { url } = await start();
    const opened = await session(url);
    const refused = await send(url, { method: "GET", headers: { ...opened.headers, accept: "application/json" } });
    expect(refused.status).toBe(406);
  });
});

describe("the event store in memory", () => {
  const bounds = { eventsKept: 3, eventBytes: 100, allEventBytes: 150, eventsMs: 60_000 };

  it("keeps the newest of a session, in number and length", () => {
    const store = new MemoryEventStore(bounds);
    for (let sequence = 1; sequence <= 5; sequence++) store.append("a", 1, { sequence, text: "x" });
    expect(store.after("a", 1, 0).map(({ sequence }) => sequence)).toEqual([3, 4, 5]);
    store.append("a", 2, { sequence: 1, text: "y".repeat(99) });
    expect(store.after("a", 1, 0).map(({ sequence }) => sequence)).toEqual([5]);
    expect(store.after("a", 2, 0)).toHaveLength(1);
    store.append("a", 2, { sequence: 2, text: "z".repeat(500) });
    expect(store.after("a", 2, 0).map(({ sequence }) => sequence)).toEqual([2]);
  });

  it("gives up the session that began first when all together are too long", () => {
    const store = new MemoryEventStore(bounds);
    for (const name of ["a", "b", "c"]) store.append(name, 1, { sequence: 1, text: "x".repeat(60) });
    expect([store.after("a", 1, 0).length, store.after("b", 1, 0).length, store.after("c", 1, 0).length]).toEqual([
      0, 1, 1,
    ]);
    store.forget("b");
    store.append("d", 1, { sequence: 1, text: "x".repeat(60) });
    expect(store.after("c", 1, 0)).toHaveLength(1);
  });
});
