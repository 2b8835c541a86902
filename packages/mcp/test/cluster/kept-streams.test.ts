// What was sent on streams is kept for all processes: who comes back after a process was killed gets all of it, once and in order.
import { describe, expect, it, onTestFinished } from "vitest";
import {
  call,
  events,
  JSON_TYPES,
  type Json,
  messages,
  OpenStream,
  type Reply,
  send,
  session,
  type SseEvent,
  type TestSession,
} from "../http/http-fixture.js";
import { type Processes, startProcesses } from "./process-fixture.js";
import { hasRedis } from "./redis-fixture.js";

const LONG = { timeout: 60_000 };
const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25"];
const MESSAGES_OF = (all: readonly SseEvent[]): readonly SseEvent[] => all.filter(({ data }) => data !== "");

/** A call whose stream stays open. */
function streamed({ url }: Processes, { headers }: TestSession, message: unknown): OpenStream {
  const stream = new OpenStream(url, {
    method: "POST",
    headers: { ...JSON_TYPES, ...headers },
    body: JSON.stringify(message),
  });
  onTestFinished(() => stream.close());
  return stream;
}

function tell(id: string, count: number, more: Json = { then: "hang" }): Json {
  return call("tell", { id, count, ...more }, id);
}

function back({ url }: Processes, { headers }: TestSession, last: string): Promise<Reply> {
  return send(url, { method: "GET", headers: { ...headers, accept: "text/event-stream", "last-event-id": last } });
}

/** The id of an event by its place among the messages. */
function idAt(all: readonly SseEvent[], at: number): string {
  return MESSAGES_OF(all)[at]?.id as string;
}

/** How often Redis was asked to keep something of a stream. */
function appended({ redis }: Processes): number {
  return Number(/cmdstat_xadd:calls=(\d+)/.exec(redis.cli("info", "commandstats"))?.[1] ?? 0);
}

/** A session of process 0 whose log messages are let through, and that process `at` serves too. */
async function loud(
  processes: Processes,
  { revision = "2025-11-25", headers = {}, at = 0 } = {},
): Promise<TestSession> {
  processes.to(0);
  const opened = await session(processes.url, revision, { headers });
  await opened.post({ jsonrpc: "2.0", id: "level", method: "logging/setLevel", params: { level: "debug" } });
  processes.to(at);
  const mark = at === 0 ? /^\d/ : new RegExp(`^m${at}\\.`);
  // What others know of a session is on its way to them when it was answered.
  const first = async (): Promise<string> =>
    idAt(events((await opened.post(tell("warm", 1, { then: "end" }))).text), 0) ?? "";
  await expect.poll(first, LONG).toMatch(mark);
  return opened;
}

describe.runIf(hasRedis)("a stream whose process was killed", () => {
  // Served by the session's own process, and by another one from its facts.
  it.each(REVISIONS.flatMap((revision) => [0, 1].map((member) => [revision, member] as const)))(
    "goes on elsewhere after any event, and says that its call's outcome is not known (%s, process %i)",
    LONG,
    async (revision, member) => {
      const processes = await startProcesses();
      const opened = await loud(processes, { revision, at: member });
      const stream = streamed(processes, opened, tell("x", 10));
      await stream.until(({ messages: got }) => got.length === 10);
      const seen = MESSAGES_OF(events(stream.text));
      await processes.kill(member);
      await stream.ended;
      processes.to(...[0, 1, 2].filter((each) => each !== member));
      const ends = new Set<string>();
      for (let at = 0; at < 10; at++) {
        const rest = events((await back(processes, opened, seen[at]?.id as string)).text);
        expect(rest.slice(0, -1)).toEqual(seen.slice(at + 1));
        ends.add(JSON.stringify(rest.at(-1)));
      }
      expect(ends.size).toBe(1);
      const [end] = [...ends].map((text) => JSON.parse(text) as SseEvent);
      expect(JSON.parse(end?.data ?? "")).toMatchObject({
        id: "x",
        error: {
          code: -32603,
          data: { outcome: "unknown" },
          message: expect.stringContaining("is not known") as string,
        },
      });
      // Whoever has seen the end gets nothing more.
      expect(events((await back(processes, opened, end?.id as string)).text)).toEqual([]);
      expect(processes.effects().filter((each) => each === "x")).toHaveLength(1);
    },
  );

  it("gives the end of a call that had ended, to all who come back at once the same", LONG, async () => {
    const processes = await startProcesses();
    const opened = await loud(processes, { at: 1 });
    const whole = MESSAGES_OF(events((await opened.post(tell("x", 5, { then: "end" }))).text));
    expect(whole).toHaveLength(6);
    await processes.kill(1);
    processes.to(0, 2);
    for (let at = 0; at < whole.length; at++)
      expect(events((await back(processes, opened, whole[at]?.id as string)).text)).toEqual(whole.slice(at + 1));
    processes.to(2);
    const hanging = streamed(processes, opened, tell("y", 3));
    await hanging.until(({ messages: got }) => got.length === 3);
    const last = idAt(events(hanging.text), 1);
    await processes.kill(2);
    processes.to(0);
    const all = await Promise.all(Array.from({ length: 5 }, () => back(processes, opened, last)));
    expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    expect(messages(all[0]?.text ?? "").map(({ id }) => id)).toEqual([undefined, "y"]);
  });

  it("of a batch answers each of its requests", LONG, async () => {
    const processes = await startProcesses(2);
    const opened = await loud(processes, { revision: "2025-03-26" });
    const stream = streamed(processes, opened, [tell("a", 1), call("echo", { text: "b" }, "b"), tell("c", 1)]);
    await stream.until(({ messages: got }) => got.length === 2);
    await processes.kill(0);
    processes.to(1);
    const rest = messages((await back(processes, opened, idAt(events(stream.text), 0))).text);
    expect((rest.at(-1) as unknown as Json[]).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  it(
    "is not given to another session, another person, or for an id that was made up; a cut-off one is refused whole",
    LONG,
    async () => {
      const processes = await startProcesses(2, () => ({ SESSIONS: JSON.stringify({ eventsKept: 4 }) }));
      const ada = await loud(processes, { headers: { "x-who": "ada" } });
      const other = await loud(processes, { headers: { "x-who": "ada" } });
      const stream = streamed(processes, ada, tell("x", 9));
      const its = streamed(processes, other, tell("y", 9));
      for (const each of [stream, its]) await each.until(({ messages: got }) => got.length === 9);
      const seen = MESSAGES_OF(events(stream.text));
      await processes.kill(0);
      processes.to(1);
      const last = seen[7]?.id as string;
      const eve = { ...ada, headers: { ...ada.headers, "x-who": "eve" } };
      expect((await back(processes, eve, last)).status).toBe(404);
      expect((await back(processes, other, last)).status).toBe(404);
      expect(
        (
          await back(
            processes,
            ada,
            last.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")),
          )
        ).status,
      ).toBe(404);
      const cut = await back(processes, ada, seen[1]?.id as string);
      expect([cut.status, messages(cut.text)]).toEqual([404, []]);
      expect(messages((await back(processes, ada, last)).text)).toHaveLength(2);
    },
  );

  it("that belongs to no request goes on with what was missed, and with what comes", LONG, async () => {
    const processes = await startProcesses(2);
    const opened = await loud(processes);
    await opened.post({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "test://a" } });
    const standing = new OpenStream(processes.url, { headers: { ...opened.headers, accept: "text/event-stream" } });
    onTestFinished(() => standing.close());
    await standing.opened;
    for (let n = 1; n <= 3; n++) {
      processes.children[0]?.send("changed");
      await standing.until(({ messages: got }) => got.length === n);
    }
    const seen = MESSAGES_OF(events(standing.text));
    await processes.kill(0);
    processes.to(1);
    const again = new OpenStream(processes.url, {
      headers: { ...opened.headers, accept: "text/event-stream", "last-event-id": seen[0]?.id as string },
    });
    onTestFinished(() => again.close());
    await again.until(({ messages: got }) => got.length === 2);
    expect(MESSAGES_OF(events(again.text))).toEqual(seen.slice(1));
    processes.children[1]?.send("changed");
    await again.until(({ messages: got }) => got.length === 3);
  });
});

describe.runIf(hasRedis)("keeping streams", () => {
  it("costs no command for a call that is answered without one, and few for what is told at once", LONG, async () => {
    const processes = await startProcesses(2);
    const opened = await loud(processes);
    const before = appended(processes);
    processes.to(0, 1);
    for (let n = 0; n < 20; n++) await opened.post(call("echo", { text: "x" }, n));
    expect(appended(processes)).toBe(before);
    processes.to(0);
    const told = messages((await opened.post(tell("x", 50, { then: "end", at: "once" }))).text);
    expect(told).toHaveLength(51);
    expect(appended(processes) - before).toBeLessThanOrEqual(4);
  });

  it("shows nothing of the events in Redis, and nothing for ever", LONG, async () => {
    const processes = await startProcesses(1);
    const opened = await loud(processes);
    await opened.post(tell("SECRET", 5, { then: "end" }));
    const { redis } = processes;
    const keys = redis.cli("--scan", "--pattern", "*:e*}:*").split("\n").filter(Boolean);
    expect(keys).toHaveLength(2);
    const text = redis.cli("xrange", keys[0] as string, "-", "+");
    expect(text.length).toBeGreaterThan(300);
    expect(text).not.toMatch(/SECRET|told|jsonrpc/);
    expect(keys[0]).not.toContain(opened.id);
    expect(Number(redis.cli("pttl", keys[0] as string))).toBeGreaterThan(0);
  });

  it("stops while Redis is away, and streams go on", LONG, async () => {
    const processes = await startProcesses(2);
    const opened = await loud(processes);
    processes.redis.pause();
    const told = messages((await opened.post(tell("x", 20, { then: "end" }))).text);
    processes.redis.resume();
    expect(told).toHaveLength(21);
  });

  it(
    "contradicts nobody: a process that was held up, and taken for gone, ends the stream without an answer",
    LONG,
    async () => {
      const processes = await startProcesses(2);
      const opened = await loud(processes, { at: 1 });
      const stream = streamed(processes, opened, call("tell-on-change", { id: "x" }, "x"));
      await stream.until(({ messages: got }) => got.length === 1);
      processes.children[1]?.kill("SIGSTOP");
      processes.to(0);
      const last = events(stream.text).at(-1)?.id as string;
      const poll = async (): Promise<number> => (await back(processes, opened, last)).status;
      await expect.poll(poll, { timeout: 30_000 }).toBe(200);
      processes.children[1]?.kill("SIGCONT");
      processes.children[1]?.send("changed");
      await stream.ended;
      expect(messages(stream.text).filter(({ id }) => id === "x")).toEqual([]);
    },
  );

  it("takes no piece that was moved to another stream or another place in its own", LONG, async () => {
    const processes = await startProcesses(2);
    const opened = await loud(processes);
    const streams = ["x", "y"].map((id) => streamed(processes, opened, tell(id, 3)));
    for (const each of streams) await each.until(({ messages: got }) => got.length === 3);
    const last = idAt(events(streams[0]?.text ?? ""), 0);
    await processes.kill(0);
    const { redis } = processes;
    // Each takes the place of the one before it.
    const keys = redis.cli("--scan", "--pattern", "*:e*}:*").split("\n");
    for (const key of keys) redis.cli("copy", key, `${key}x`);
    for (const [at, key] of keys.entries()) redis.cli("copy", `${keys.at(at - 1)}x`, key, "replace");
    processes.to(1);
    expect((await back(processes, opened, last)).status).toBe(404);
  });
});
