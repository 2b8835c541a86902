// A process whose lease ended, and which does not hear that it had: its sessions are another's all the same, and it lets go of them.
import { expect, it, onTestFinished, vi } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { type BusListener, LEASE_MS, memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import { Server } from "../../src/server/server.js";
import { call, JSON_TYPES, OpenStream, post, session } from "../http/http-fixture.js";
import { KEY, startCluster } from "./cluster-fixture.js";
import { withOwn } from "./faulty-stores.js";

const LEVEL = { jsonrpc: "2.0", id: 7, method: "logging/setLevel", params: { level: "error" } };
const NO_STREAMS = { accept: "application/json" };

/** What goes wrong when a process that was cut off from the store says again that it is there. */
const WRONGS = ["the reply is lost", "its sessions cannot be asked for"] as const;

it.each(WRONGS)("does not go on with sessions that another process took over, where %s", async (wrong) => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  // Nothing has happened yet at the time 0.
  vi.advanceTimersByTime(1);
  const stores = memoryStores();
  const state: { now: "there" | "away" | "wrong" } = { now: "there" };
  const failed = (): Promise<never> => Promise.reject(new LocalError("UNREACHABLE", "away"));
  /** Once, and then it is there. */
  const once = (): Promise<never> => ((state.now = "there"), failed());
  const beat: SharedStores["beat"] = async (...self) => {
    if (state.now === "away") return failed();
    const said = await stores.beat(...self);
    return state.now === "wrong" && wrong === WRONGS[0] ? once() : said;
  };
  const touch: SharedStores["sessions"]["touch"] = (...given) =>
    state.now === "wrong" ? once() : stores.sessions.touch(...given);
  const faulty = withOwn(stores, { beat, sessions: withOwn(stores.sessions, { touch }) });
  const server = (member: number): Server => {
    const made = new Server({ name: "lapsed", version: "1.0.0", report: false });
    made.tool("where", { run: () => `at ${member}` });
    made.tool("ask", {
      run: async (_, ctx) => (await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } })).action,
    });
    return made;
  };
  const shareOf = (member: number): ReturnType<typeof shareOver> =>
    shareOver(member === 0 ? faulty : stores, { key: KEY, node: `m${member}` });
  const { members } = await startCluster({ count: 2, server, shareOf });
  const [first, second] = members.map(({ url }) => url) as [string, string];
  const own = await session(first, "2025-06-18", { capabilities: { elicitation: {} } });

  state.now = "away";
  for (let passed = 0; passed <= LEASE_MS; passed += 1_000) await vi.advanceTimersByTimeAsync(1_000);
  expect((await post(second, LEVEL, own.headers)).status).toBe(200);
  state.now = "wrong";
  for (let n = 0; n < 3; n++) await vi.advanceTimersByTimeAsync(1_000);

  expect((await post(first, call("where"), { ...own.headers, ...NO_STREAMS })).text).toContain("at 1");
  // What it asks there is answered wherever the answer comes.
  const stream = new OpenStream(first, {
    method: "POST",
    headers: { ...JSON_TYPES, ...own.headers },
    body: JSON.stringify(call("ask", {}, 2)),
  });
  onTestFinished(() => stream.close());
  await stream.until(({ messages }) => messages.length > 0);
  await post(second, { jsonrpc: "2.0", id: stream.messages[0]?.["id"], result: { action: "decline" } }, own.headers);
  await stream.ended;
  expect(stream.text).toContain("decline");
});

it("keeps its sessions for the others once more where the store has come back empty, asking for all of them at once", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1);
  const stores = memoryStores();
  let isAway = false;
  const beat: SharedStores["beat"] = (...self) =>
    isAway ? Promise.reject(new LocalError("UNREACHABLE", "away")) : stores.beat(...self);
  let kept = stores.sessions;
  let [asked, most] = [0, 0];
  const sessions: SharedStores["sessions"] = {
    put: (...given) => kept.put(...given),
    async get(...given) {
      most = Math.max(most, ++asked);
      const found = await kept.get(...given);
      asked--;
      return found;
    },
    claim: (...given) => kept.claim(...given),
    touch: (...given) => kept.touch(...given),
    delete: (...given) => kept.delete(...given),
  };
  const shared = withOwn(stores, { beat, sessions });
  const server = (): Server => new Server({ name: "emptied", version: "1.0.0", report: false });
  const shareOf = (member: number): ReturnType<typeof shareOver> => shareOver(shared, { key: KEY, node: `m${member}` });
  const { members } = await startCluster({ count: 1, server, shareOf });
  const own = await session(members[0]?.url ?? "");
  const more = [await session(members[0]?.url ?? ""), await session(members[0]?.url ?? "")];
  await post(members[0]?.url ?? "", LEVEL, own.headers);
  const before = await sessions.get(own.id);

  isAway = true;
  kept = memoryStores().sessions;
  for (let passed = 0; passed <= LEASE_MS; passed += 1_000) await vi.advanceTimersByTimeAsync(1_000);
  isAway = false;
  for (let n = 0; n < 3; n++) await vi.advanceTimersByTimeAsync(1_000);
  expect(before?.text).toContain('"level":');
  expect(await sessions.get(own.id)).toEqual(before);
  expect(most).toBe(1 + more.length);
});

it("takes no answer for what another process asked that has its session, as long as it is cut off", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1);
  const stores = memoryStores();
  let isAway = false;
  const cut = withOwn(stores, {
    beat: (...self) => (isAway ? Promise.reject(new LocalError("UNREACHABLE", "away")) : stores.beat(...self)),
    bus: withOwn(stores.bus, {
      listen: ({ hear, missed }, name) =>
        stores.bus.listen({ missed, hear: (from, text) => isAway || hear(from, text) }, name),
    }),
  });
  const server = (): Server => {
    const made = new Server({ name: "cut", version: "1.0.0", report: false });
    made.tool("ask", {
      run: async (_, ctx) => (await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } })).action,
    });
    return made;
  };
  const shareOf = (member: number): ReturnType<typeof shareOver> =>
    shareOver(member === 0 ? cut : stores, { key: KEY, node: `m${member}` });
  const { members } = await startCluster({ count: 2, server, shareOf });
  const [first, second] = members.map(({ url }) => url) as [string, string];
  const own = await session(first, "2025-06-18", { capabilities: { elicitation: {} } });

  isAway = true;
  for (let passed = 0; passed <= LEASE_MS; passed += 1_000) await vi.advanceTimersByTimeAsync(1_000);
  expect((await post(second, LEVEL, own.headers)).status).toBe(200);
  const stream = new OpenStream(second, {
    method: "POST",
    headers: { ...JSON_TYPES, ...own.headers },
    body: JSON.stringify(call("ask")),
  });
  onTestFinished(() => stream.close());
  await stream.until(({ messages }) => messages.length > 0);
  const answer = { jsonrpc: "2.0", id: stream.messages[0]?.["id"], result: { action: "decline" } };
  const early = await post(first, answer, own.headers);
  expect([early.status, early.text]).toEqual([503, expect.stringContaining("answer again")]);
  isAway = false;
  for (let n = 0; n < 3; n++) await vi.advanceTimersByTimeAsync(1_000);
  expect((await post(first, answer, own.headers)).status).toBe(202);
  await stream.ended;
  expect(stream.text).toContain("decline");
});

/** How a process that has come back hears that another one took over what is its own, by a view of the directory from before. */
const HEARINGS = ["at once", "late, as it could not be told", "not at all, as the bus had a gap"] as const;

it.each(HEARINGS)("lets go of what is taken over once it is back already, and hears of it %s", async (hearing) => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1);
  const stores = memoryStores();
  let isAway = false;
  const away = withOwn(stores, {
    beat: (...self) => (isAway ? Promise.reject(new LocalError("UNREACHABLE", "away")) : stores.beat(...self)),
  });
  // What was true when the first one was away is what the second one goes by.
  let before: Awaited<ReturnType<SharedStores["beat"]>> | undefined;
  let isUnheard = false;
  const listeners: BusListener[] = [];
  const late = withOwn(stores, {
    beat: async (...self) => before ?? (await stores.beat(...self)),
    bus: withOwn(stores.bus, {
      publish: async (...said) => {
        if (!isUnheard) return stores.bus.publish(...said);
        if (hearing === HEARINGS[1]) throw new LocalError("UNREACHABLE", "away");
      },
    }),
  });
  const first = withOwn(away, {
    bus: withOwn(stores.bus, {
      listen: (listener, name) => (listeners.push(listener), stores.bus.listen(listener, name)),
    }),
  });
  const server = (member: number): Server => {
    const made = new Server({ name: "back", version: "1.0.0", report: false });
    made.tool("where", { run: () => `at ${member}` });
    return made;
  };
  const { members } = await startCluster({
    count: 2,
    server,
    shareOf: (member) => shareOver(member === 0 ? first : late, { key: KEY, node: `m${member}` }),
  });
  const [one, two] = members.map(({ url }) => url) as [string, string];
  const own = await session(one, "2025-06-18");

  isAway = true;
  for (let passed = 0; passed <= LEASE_MS; passed += 1_000) await vi.advanceTimersByTimeAsync(1_000);
  before = await stores.beat("m1", "tcp://127.0.0.1:1");
  expect([...before.nodes.keys()]).toEqual(["m1"]);
  isAway = false;
  await vi.advanceTimersByTimeAsync(1_000);
  isUnheard = hearing !== HEARINGS[0];
  expect((await post(two, LEVEL, own.headers)).status).toBe(200);
  before = undefined;
  isUnheard = false;
  if (hearing === HEARINGS[2]) for (const each of listeners) each.missed();
  for (let n = 0; n < 3; n++) await vi.advanceTimersByTimeAsync(1_000);
  expect((await post(one, call("where"), { ...own.headers, ...NO_STREAMS })).text).toContain("at 1");
});
