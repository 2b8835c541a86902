// A process that is told to end lets go of each of its sessions between two calls: whoever is asked then takes the session over.
import { expect, it, onTestFinished } from "vitest";
import { memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import { shareOver } from "../../src/cluster/member.js";
import { localEnd } from "../../src/serve/http.js";
import { PARTS_AT_HAND } from "../../src/http/server/handshake-requests.js";
import { httpEndpoint } from "../../src/http/server/http-endpoint.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import type { OnSession } from "../../src/server/session.js";
import { Server } from "../../src/server/server.js";
import {
  call,
  events,
  gate,
  JSON_TYPES,
  type Json,
  modern,
  OpenStream,
  post,
  postModern,
  type Reply,
  session,
} from "../http/http-fixture.js";
import { KEY, startCluster, type Cluster } from "./cluster-fixture.js";
import { withOwn } from "./faulty-stores.js";

/** A client that takes no streams: its calls need the process that has the session. */
const NO_STREAMS = { accept: "application/json" };
const LEVEL = { jsonrpc: "2.0", id: 7, method: "logging/setLevel", params: { level: "error" } };
/** A drain that has to end calls lasts so long. */
const DRAIN_MS = 20_000;

interface LettingGo {
  readonly members: Cluster["members"];
  readonly urls: readonly string[];
  readonly servers: Cluster["servers"];
  /** Which member ran each call of `where` and `chain`. */
  readonly ran: number[];
  /** Which member has begun a call of `hang`. */
  readonly hanging: number[];
  /** Lets what hangs end. */
  free(): void;
  /** Ends the last call of `chain`. */
  endChain(): void;
}

interface Starting {
  readonly count?: number;
  readonly stores?: SharedStores;
  readonly drainMs?: number;
  /** What each member does with a new session. */
  readonly onSession?: (member: number) => OnSession;
}

async function started(starting: Starting = {}): Promise<LettingGo> {
  const { count = 2, stores = memoryStores(), drainMs = DRAIN_MS, onSession = () => () => undefined } = starting;
  const [ran, hanging]: [number[], number[]] = [[], []];
  const freed = gate();
  let before: (() => void) | undefined;
  const server = (member: number): Server => {
    const made = new Server({ name: "letting-go", version: "1.0.0", report: false, onSession: onSession(member) });
    made.tool("probe", { run: () => `probe ${member}` });
    made.tool("where", { run: () => (ran.push(member), `at ${member}`) });
    made.tool("hang", { task: "optional", run: () => (hanging.push(member), freed.opened.then(() => "ended")) });
    // Each ends as soon as the next one begins, wherever that is: one of them runs at every moment.
    const chain = (): Promise<string> => {
      ran.push(member);
      before?.();
      const mine = gate();
      before = () => mine.open();
      return mine.opened.then(() => `at ${member}`);
    };
    made.tool("chain", { run: chain });
    made.tool("ask", {
      task: "optional",
      run: async (_, ctx) => {
        hanging.push(member);
        return (await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } })).action;
      },
    });
    return made;
  };
  const shareOf = (member: number): ReturnType<typeof shareOver> => shareOver(stores, { key: KEY, node: `m${member}` });
  const { members, servers } = await startCluster({ count, server, shareOf, limits: { drainMs } });
  const endChain = (): void => before?.();
  onTestFinished(() => (endChain(), freed.open()));
  return { members, servers, urls: members.map(({ url }) => url), ran, hanging, free: () => freed.open(), endChain };
}

/** Begins a call that hangs, in a session of its own, so that the process it runs at does not end. */
async function occupied({ urls, hanging }: LettingGo, member = 0): Promise<{ readonly answer: Promise<Reply> }> {
  const own = await session(urls[member] ?? "");
  const answer = own.post(call("hang"));
  await expect.poll(() => hanging).toContain(member);
  return { answer };
}

/** Tells a member to end. Resolves once it has begun to, with its end. */
async function leaving({ members, urls }: LettingGo, member = 0): Promise<{ readonly closed: Promise<void> }> {
  const closed = members[member]?.close() ?? Promise.resolve();
  const probe = modern("tools/call", { name: "probe", arguments: {} });
  await expect.poll(async () => (await postModern(urls[member] ?? "", probe)).text).not.toContain(`probe ${member}`);
  return { closed };
}

/** A stream that is open is cut at the end of a drain; of one that ended in time there is nothing left. */
async function ended({ closed }: { readonly closed: Promise<void> }): Promise<void> {
  const began = performance.now();
  await closed;
  expect(performance.now() - began).toBeLessThan(DRAIN_MS / 2);
}

it.each([
  ["it is asked for there", 0],
  ["it is asked for elsewhere", 1],
])("goes on in another process while other calls run, where %s", async (_, at) => {
  const all = await started();
  const other = await occupied(all);
  const { headers } = await session(all.urls[0] ?? "");
  const end = await leaving(all);
  const asked = (message: Json): Promise<Reply> => post(all.urls[at] ?? "", message, { ...headers, ...NO_STREAMS });
  expect((await asked(LEVEL)).status).toBe(200);
  expect((await asked(call("where"))).text).toContain("at 1");
  expect(all.ran).toEqual([1]);
  all.free();
  expect((await other.answer).text).toContain("ended");
  await ended(end);
  expect((await post(all.urls[1] ?? "", call("where"), { ...headers, ...NO_STREAMS })).text).toContain("at 1");
});

it("has what still comes for a session with calls under way served by others, each once", async () => {
  const all = await started();
  const other = await occupied(all);
  const own = await session(all.urls[0] ?? "");
  const answers = [own.post(call("chain", {}, 1))];
  await expect.poll(() => all.ran).toHaveLength(1);
  const end = await leaving(all);
  for (let id = 2; id < 6; id++) {
    answers.push(own.post(call("chain", {}, id)));
    await expect.poll(() => all.ran).toHaveLength(id);
  }
  expect(all.ran).toEqual([0, 1, 1, 1, 1]);
  // The last of them ends once another begins: calls of the session run at every moment.
  all.free();
  expect((await other.answer).text).toContain("ended");
  const last = post(all.urls[1] ?? "", call("chain", {}, 6), own.headers);
  await ended(end);
  const texts = (await Promise.all(answers)).map(({ text }) => /at \d/.exec(text)?.[0]);
  expect(texts).toEqual(["at 0", "at 1", "at 1", "at 1", "at 1"]);
  all.endChain();
  expect((await last).text).toContain("at 1");
});

it("has a call wait that needs the process of its session, until another has that", async () => {
  const all = await started();
  const other = await occupied(all);
  const own = await session(all.urls[0] ?? "");
  const running = own.post(call("chain", {}, 1));
  await expect.poll(() => all.ran).toHaveLength(1);
  const end = await leaving(all);
  const waiting = all.urls.map((url) => post(url, call("where", {}, 2), { ...own.headers, ...NO_STREAMS }));
  // What came behind them is served: they wait, and nothing else does.
  for (const url of all.urls) expect((await post(url, LEVEL, own.headers)).status).toBe(200);
  expect(all.ran).toEqual([0]);
  all.endChain();
  expect((await running).text).toContain("at 0");
  for (const reply of await Promise.all(waiting)) expect(reply.text).toContain("at 1");
  expect(all.ran).toEqual([0, 1, 1]);
  all.free();
  expect((await other.answer).text).toContain("ended");
  await ended(end);
});

it("keeps a session while a task of it runs, whose questions its client answers here, and has new tasks wait", async () => {
  const all = await started();
  const own = await session(all.urls[0] ?? "", "2025-11-25", { capabilities: { elicitation: {} } });
  const begin = (id: number): Promise<Reply> => {
    const message = call("ask", {}, id) as { params: Json };
    return own.post({ ...message, params: { ...message.params, task: { ttl: 60_000 } } });
  };
  const { taskId } = /"taskId":"(?<taskId>[^"]+)"/.exec((await begin(1)).text)?.groups ?? {};
  const end = await leaving(all);
  const next = begin(2);
  const stream = new OpenStream(all.urls[1] ?? "", {
    method: "POST",
    headers: { ...JSON_TYPES, ...own.headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 3, method: "tasks/result", params: { taskId } }),
  });
  const said = async (accepts: (message: Json) => boolean): Promise<Json> =>
    (await stream.until(({ messages }) => messages.some(accepts))).messages.find(accepts) ?? {};
  const asked = await said(({ method }) => method === "elicitation/create");
  await own.post({ jsonrpc: "2.0", id: asked["id"], result: { action: "decline" } });
  expect(JSON.stringify(await said(({ id }) => id === 3))).toContain("decline");
  expect((await next).text).toMatch(/"taskId":"m1\./);
  expect(all.hanging).toEqual([0, 1]);
  await ended(end);
});

it("has the stream of a session opened again in another process, wherever its client comes back", async () => {
  const all = await started();
  const other = await occupied(all);
  const own = await session(all.urls[0] ?? "");
  const opened = (more: Readonly<Record<string, string>> = {}): OpenStream => {
    const stream = new OpenStream(all.urls[0] ?? "", {
      headers: { accept: "text/event-stream", ...own.headers, ...more },
    });
    onTestFinished(() => stream.close());
    return stream;
  };
  let count = 0;
  /** The list of tools is another one: every session is told. */
  const changed = async (member: number, stream: OpenStream): Promise<unknown> => {
    const before = stream.messages.length;
    all.servers[member]?.tool(`new-${member}-${count++}`, { run: () => "new" });
    return stream.until(({ messages }) => messages.length > before);
  };
  const first = opened();
  await first.opened;
  await changed(0, first);
  const end = await leaving(all);
  // It is still heard: nothing has come for the session.
  await changed(1, first);
  expect((await own.post(LEVEL)).status).toBe(200);
  await first.ended;
  const again = opened({ "last-event-id": events(first.text).at(-1)?.id ?? "" });
  await again.opened;
  expect(again.status).toBe(200);
  await changed(1, again);
  expect(again.messages).toMatchObject([{ method: "notifications/tools/list_changed" }]);
  all.free();
  await other.answer;
  await ended(end);
});

it("keeps a session that others cannot read yet", async () => {
  const stores = memoryStores();
  const written = gate();
  let slow = false;
  const put: SharedStores["sessions"]["put"] = async (...record) => {
    if (slow) await written.opened;
    return stores.sessions.put(...record);
  };
  const all = await started({ stores: withOwn(stores, { sessions: withOwn(stores.sessions, { put }) }) });
  const other = await occupied(all);
  const own = await session(all.urls[0] ?? "");
  slow = true;
  await own.post(LEVEL);
  const end = await leaving(all);
  expect((await own.post(call("where"), NO_STREAMS)).text).toContain("at 0");
  written.open();
  await expect.poll(async () => (await own.post(call("where"), NO_STREAMS)).text).toContain("at 1");
  all.free();
  await other.answer;
  await ended(end);
});

it("keeps a session to which something was asked outside of its calls", async () => {
  const heard: string[] = [];
  const schema = { sure: { type: "boolean" } } as const;
  const onSession =
    (member: number): OnSession =>
    async (live) =>
      void heard.push(`${(await live.elicit({ message: "?", schema })).action} at ${member}`);
  const all = await started({ onSession });
  const own = await session(all.urls[0] ?? "", "2025-11-25", { capabilities: { elicitation: {} } });
  const stream = new OpenStream(all.urls[0] ?? "", { headers: { accept: "text/event-stream", ...own.headers } });
  onTestFinished(() => stream.close());
  const isQuestion = ({ method }: Json): boolean => method === "elicitation/create";
  await stream.until(({ messages }) => messages.some(isQuestion));
  const other = await occupied(all);
  const end = await leaving(all);
  await own.post(LEVEL);
  await own.post({ jsonrpc: "2.0", id: stream.messages.find(isQuestion)?.["id"], result: { action: "decline" } });
  await expect.poll(() => heard).toEqual(["decline at 0"]);
  expect((await own.post(call("where"))).text).toContain("at 1");
  all.free();
  await other.answer;
  await ended(end);
});

it("keeps its sessions where what is shared is away", async () => {
  const stores = memoryStores();
  let away = false;
  const beat: SharedStores["beat"] = (...self) =>
    away ? Promise.reject(new LocalError("UNREACHABLE", "away")) : stores.beat(...self);
  const all = await started({ stores: withOwn(stores, { beat }) });
  const other = await occupied(all);
  const own = await session(all.urls[0] ?? "");
  // It has to know that the other one is there.
  await post(all.urls[0] ?? "", LEVEL, (await session(all.urls[1] ?? "")).headers);
  away = true;
  const end = await leaving(all);
  expect((await own.post(call("where"), NO_STREAMS)).text).toContain("at 0");
  all.free();
  await other.answer;
  await ended(end);
});

it("gives what is new to none that is ending too", async () => {
  const all = await started({ count: 3 });
  const others = [await occupied(all, 0), await occupied(all, 1)];
  const ends = [await leaving(all, 0), await leaving(all, 1)];
  for (let n = 0; n < 10; n++) {
    const own = await session(all.urls[n % 2] ?? "");
    expect(own.id).toMatch(/^m2\./);
    expect((await own.post(call("where"))).text).toContain("at 2");
  }
  all.free();
  for (const { answer } of others) await answer;
  for (const end of ends) await ended(end);
});

it("refuses a call that has waited until the end, which so did not run", async () => {
  const all = await started({ drainMs: 500 });
  const own = await session(all.urls[0] ?? "");
  const running = own.post(call("hang", {}, 1));
  running.catch(() => undefined);
  await expect.poll(() => all.hanging).toHaveLength(1);
  const { closed } = await leaving(all);
  expect((await own.post(call("where", {}, 2), NO_STREAMS)).text).toContain("shutting down and has not served this");
  await closed;
  expect(all.ran).toEqual([]);
});

it("an answer that comes late to a question of the process before answers none of the process that goes on", async () => {
  const all = await started({ drainMs: 50 });
  const own = await session(all.urls[0] ?? "", "2025-11-25", { capabilities: { elicitation: {} } });
  const asking = async (member: number): Promise<{ readonly id: unknown; readonly stream: OpenStream }> => {
    const headers = { ...JSON_TYPES, ...own.headers };
    const stream = new OpenStream(all.urls[member] ?? "", {
      ...{ method: "POST", headers, body: JSON.stringify(call("ask")) },
    });
    onTestFinished(() => stream.close());
    const isQuestion = ({ method }: Json): boolean => method === "elicitation/create";
    await stream.until(({ messages }) => messages.some(isQuestion));
    return { id: stream.messages.find(isQuestion)?.["id"], stream };
  };
  const before = await asking(0);
  await all.members[0]?.close();
  // It takes the session over with the first request that needs it.
  expect((await post(all.urls[1] ?? "", LEVEL, own.headers)).status).toBe(200);
  const { id, stream } = await asking(1);
  const answer = (to: unknown, action: string): Promise<Reply> =>
    post(all.urls[1] ?? "", { jsonrpc: "2.0", id: to, result: { action } }, own.headers);
  await answer(before.id, "decline");
  await answer(id, "cancel");
  await stream.ended;
  expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "cancel" }] } });
});

it("a process whose sessions have ended goes on with none that comes later, which nothing would end", async () => {
  const server = new Server({ name: "ending", version: "1.0.0", report: false });
  const endpoint = httpEndpoint(server, {}, { hosts: undefined, origins: [], parts: PARTS_AT_HAND });
  const clientInfo = { name: "t", version: "1" };
  const facts = { params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }, moved: 1 };
  localEnd(endpoint).adopt("before", undefined, facts);
  expect(localEnd(endpoint).holds("before")).toBe(true);
  await endpoint.close();
  localEnd(endpoint).adopt("after", undefined, facts);
  expect(localEnd(endpoint).holds("after")).toBe(false);
});
