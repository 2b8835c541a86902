// Handles: unguessable names for values, that only their owner can use and that do not live for ever.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HandleError, handles, type HandleOptions, Server } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";

const HOUR = 3_600_000;
const ada = { principal: "ada" };
const bob = { principal: "bob" };
const nobody = { principal: undefined };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

function baskets(options: Partial<HandleOptions> = {}): ReturnType<typeof handles<string[]>> {
  return handles<string[]>({ kind: "basket", prefix: "bsk_", ttlMs: 24 * HOUR, ...options });
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(HandleError);
    return `${(error as HandleError).code}: ${(error as HandleError).message}`;
  }
  return "nothing was thrown";
}

describe("a handle", () => {
  it("is a prefix and 256 bits, and no two are equal", () => {
    const store = baskets();
    const ids = Array.from({ length: 1_000 }, () => store.create(ada, []));
    for (const id of ids) expect(id).toMatch(/^bsk_[A-Za-z0-9_-]{43}$/);
    expect(new Set(ids).size).toBe(1_000);
  });

  it("gives the very value it was made for", () => {
    const store = baskets();
    const value = ["apple"];
    expect(store.get(ada, store.create(ada, value))).toBe(value);
    const secret = store.create(nobody, value);
    expect(store.get(nobody, secret)).toBe(value);
  });

  it("unknown, expired, deleted and foreign looks the same", () => {
    const store = baskets();
    const hers = store.create(ada, []);
    const deleted = store.create(ada, []);
    store.delete(ada, deleted);
    const words = [
      ...["", "bsk_", "__proto__", hers.slice(0, -1), `${hers} `, deleted].map((id) =>
        codeOf(() => store.get(ada, id)),
      ),
      ...[bob, nobody, { principal: "" }].map((user) => codeOf(() => store.get(user, hers))),
      codeOf(() => store.delete(bob, hers)),
    ];
    expect(store.get(ada, hers)).toEqual([]);
    vi.advanceTimersByTime(24 * HOUR);
    words.push(codeOf(() => store.get(ada, hers)));
    expect(new Set(words)).toEqual(
      new Set([
        "GONE: No such basket: the id is unknown, has expired, or belongs to someone else. " +
          "Create a new basket and use its id.",
      ]),
    );
  });

  it("lives on while its owner uses it, and not because somebody else tries", () => {
    const store = baskets();
    const used = store.create(ada, []);
    const tried = store.create(ada, []);
    for (let day = 0; day < 3; day++) {
      vi.advanceTimersByTime(23 * HOUR);
      store.get(ada, used);
      codeOf(() => store.get(bob, tried));
    }
    expect(store.get(ada, used)).toEqual([]);
    expect(codeOf(() => store.get(ada, tried))).toMatch(/^GONE/);
  });
});

describe("a store", () => {
  it("has room for so many of everybody and of each, and what expires makes room", () => {
    const store = baskets({ most: 3, mostPerPrincipal: 2 });
    const first = store.create(ada, []);
    store.create(ada, []);
    expect(codeOf(() => store.create(ada, []))).toBe(
      "FULL: There is no room for another basket: use one you have, or try again later.",
    );
    store.create(bob, []);
    expect(codeOf(() => store.create(nobody, []))).toMatch(/^FULL/);
    store.delete(ada, first);
    store.create(nobody, []);
    expect(codeOf(() => store.create(bob, []))).toMatch(/^FULL/);
    vi.advanceTimersByTime(24 * HOUR);
    for (const user of [ada, ada, bob]) store.create(user, []);
  });

  it("never holds more than its bounds, whatever is done", () => {
    const step = fc.record({ user: fc.constantFrom(ada, bob, nobody), what: fc.nat(3), which: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const store = handles<number>({ kind: "x", ttlMs: 10, most: 5, mostPerPrincipal: 2 });
        const made: { id: string; user: typeof nobody | typeof ada; until: number }[] = [];
        const live = (): typeof made => made.filter(({ until }) => until > Date.now());
        for (const { user, what, which } of steps) {
          if (what === 0) vi.advanceTimersByTime(which);
          const known = made[which];
          const usable = known !== undefined && known.user === user && known.until > Date.now();
          if (what === 1) {
            const full = live().length >= 5 || live().filter((each) => each.user === user).length >= 2;
            if (full) expect(codeOf(() => store.create(user, 1))).toMatch(/^FULL/);
            else made.push({ id: store.create(user, 1), user, until: Date.now() + 10 });
          }
          if (what === 2 && usable) {
            expect(store.get(user, known.id)).toBe(1);
            known.until = Date.now() + 10;
          } else if (what === 3 && usable) {
            store.delete(user, known.id);
            known.until = 0;
          } else if (what > 1) expect(codeOf(() => store.get(user, known?.id ?? ""))).toMatch(/^GONE/);
        }
      }),
    );
  });

  it("says how long it keeps things", () => {
    const life = (ttlMs: number): string => baskets({ ttlMs }).retention;
    expect(life(24 * HOUR)).toBe("Every basket expires after 24 hours of inactivity, or when the server restarts.");
    expect(life(HOUR)).toContain("after 1 hour of");
    expect(life(90 * 60_000)).toContain("after 90 minutes of");
    expect(life(1_500)).toContain("after 1500 milliseconds of");
    expect(handles({ kind: "order" }).retention).toContain("Every order expires after 24 hours");
  });

  it.each([
    { ttlMs: 0 },
    { ttlMs: Number.POSITIVE_INFINITY },
    { most: 1.5 },
    { mostPerPrincipal: -1 },
    { prefix: "a b" },
  ])("refuses %o", (options) => {
    expect(() => baskets(options)).toThrow(RangeError);
  });
});

it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])(
  "in %s a handle that is gone is a result the model can act on, and the log hears nothing",
  async (revision) => {
    vi.useRealTimers();
    const store = baskets();
    const reports: string[] = [];
    const server = new Server({ name: "s", version: "1", report: (_level, message) => reports.push(message) });
    const input = { type: "object", properties: { id: { type: "string" } }, required: ["id"] } as const;
    server.tool("make", { output: { type: "string" }, run: (_args, ctx) => store.create(ctx, ["apple"]) });
    server.tool("show", { input, run: ({ id }, ctx) => store.get(ctx, id).join() });
    server.tool("later", { input, run: async ({ id }, ctx) => (await Promise.resolve(store)).get(ctx, id).join() });
    const hers = await connect(server, { revision, principal: "ada" });
    const his = await connect(server, { revision, principal: "bob" });
    const made = (await hers.request("tools/call", { name: "make" })) as { content: [{ text: string }] };
    const args = { id: JSON.parse(made.content[0].text) as string };
    for (const name of ["show", "later"]) {
      expect(await hers.request("tools/call", { name, arguments: args })).toMatchObject({
        content: [{ text: "apple" }],
      });
      expect(await his.request("tools/call", { name, arguments: args })).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining("belongs to someone else") as string }],
      });
    }
    expect(reports).toEqual([]);
  },
);
