// Sessions end by themselves: when nobody uses them, and when they are too old, whoever uses them.
import { beforeEach, afterEach, describe, expect, it, vi } from "vitest";
import { MemoryEventStore } from "../../src/http/server/resumable-stream.js";
import { DEFAULT_HTTP_LIMITS, DEFAULT_SESSION_LIMITS } from "../../src/http/server/http-limits.js";
import { withLimits } from "../../src/jsonrpc/limits.js";
import { HttpSession, newSessionId, SessionTable } from "../../src/http/server/http-session.js";
import { StreamKeeper } from "../../src/http/server/event-stream.js";
import type { ServerConversation } from "../../src/server/conversation.js";

const LIMITS = { ...DEFAULT_SESSION_LIMITS, idleMs: 60_000, absoluteMs: 600_000 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function opened(table: SessionTable): { session: HttpSession; conversation: { active: number; closed: number } } {
  const settings = {
    limits: LIMITS,
    store: new MemoryEventStore(LIMITS),
    keeper: new StreamKeeper(DEFAULT_HTTP_LIMITS),
    answers: "auto" as const,
  };
  const session = new HttpSession(newSessionId(), "ada", settings);
  const conversation = {
    polling: true,
    active: 0,
    closed: 0,
    deliver: () => undefined,
    restore: () => undefined,
    facts: () => ({}),
    ping: async () => true,
    close: async () => {
      conversation.closed++;
    },
  };
  session.conversation = conversation as unknown as ServerConversation;
  expect(table.reserve()).toBe(true);
  table.add(session);
  return { session, conversation };
}

describe("a session", () => {
  it("ends here when another process goes on with it, and no other does", async () => {
    const table = new SessionTable(LIMITS);
    const [given, kept] = [opened(table), opened(table)];
    table.handOver("of nobody");
    table.handOver(given.session.id);
    await vi.advanceTimersByTimeAsync(0);
    expect([given, kept].map(({ session }) => table.get(session.id) !== undefined)).toEqual([false, true]);
    expect([given, kept].map(({ conversation }) => conversation.closed)).toEqual([1, 0]);
  });

  it("ends when it was idle for too long, and not while it is used", async () => {
    const table = new SessionTable(LIMITS);
    const idle = opened(table);
    const used = opened(table);
    used.conversation.active = 1;
    await vi.advanceTimersByTimeAsync(80_000);
    expect(table.find(idle.session.id, "ada")).toBeUndefined();
    expect(table.find(used.session.id, "ada")).toBe(used.session);
    expect([idle.conversation.closed, used.conversation.closed]).toEqual([1, 0]);
    used.conversation.active = 0;
    await vi.advanceTimersByTimeAsync(80_000);
    expect(table.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends when it is too old, however busy", async () => {
    const table = new SessionTable(LIMITS);
    const { session, conversation } = opened(table);
    conversation.active = 1;
    await vi.advanceTimersByTimeAsync(590_000);
    expect(table.find(session.id, "ada")).toBeDefined();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(table.find(session.id, "ada")).toBeUndefined();
    expect(session.closed).toBe(true);
  });
});

it("has no more sessions than it may, those being opened among them", () => {
  const table = new SessionTable({ ...LIMITS, max: 3 });
  const first = opened(table);
  expect([table.reserve(), table.reserve(), table.reserve()]).toEqual([true, true, false]);
  table.release();
  expect([table.reserve(), table.reserve()]).toEqual([true, false]);
  void table.end(first.session);
  expect([table.reserve(), table.reserve()]).toEqual([true, false]);
});

it("ids are 256 bits in characters that are safe in headers and queries", () => {
  const ids = new Set(Array.from({ length: 1_000 }, newSessionId));
  expect(ids.size).toBe(1_000);
  for (const id of ids) expect(id).toMatch(/^[\w-]{43}$/);
});

it("limits must be positive integers", () => {
  expect(() => withLimits(LIMITS, { max: 0 })).toThrow('limit "max" must be a positive integer, not 0');
  expect(withLimits(LIMITS, { max: 3 }).max).toBe(3);
});
