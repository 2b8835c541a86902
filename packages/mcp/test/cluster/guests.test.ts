// Sessions of one process that others serve from their facts: what runs where, what finds its way back, and what ends with the session.
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/serve/connect.js";
import {
  call,
  events,
  gate,
  JSON_TYPES,
  messages,
  OpenStream,
  post,
  type Reply,
  send,
  session,
  testServer,
} from "../http/http-fixture.js";
import { startCluster } from "./cluster-fixture.js";

/** Three processes whose tools say where they run, and one that waits until it is told to go on, or that it is given up. */
function named() {
  const waits = gate();
  const ended = gate<string>();
  const server = (member: number) => {
    const made = testServer({ report: () => undefined });
    made.tool("where", { run: () => String(member) });
    made.tool("wait", {
      async run(_, ctx) {
        ctx.signal.addEventListener("abort", () => ended.open(`given up at ${member}`));
        await ctx.progress(1, 2);
        await waits.opened;
        return String(member);
      },
    });
    made.tool("log", {
      async run(_, ctx) {
        await ctx.log("info", "said");
        return "logged";
      },
    });
    return made;
  };
  return { server, waits, ended };
}

describe("a session of another process", () => {
  it("is served where its requests arrive, and not for another principal", async () => {
    const { server } = named();
    const cluster = await startCluster({
      server,
      authenticate: (head) => head.header("x-who") ?? "nobody",
    });
    cluster.to(0);
    const ada = await session(cluster.url, "2025-11-25", { headers: { "x-who": "ada" } });
    cluster.to(0, 1, 2);
    const places: unknown[] = [];
    for (let n = 1; n <= 6; n++) {
      const { text } = await ada.post(call("where", {}, n));
      places.push((JSON.parse(text) as { result: { content: { text: string }[] } }).result.content[0]?.text);
    }
    expect(places).toEqual(["0", "1", "2", "0", "1", "2"]);
    for (let n = 0; n < 3; n++) {
      const eve = await post(cluster.url, call("where"), { ...ada.headers, "x-who": "eve" });
      expect(eve.status).toBe(404);
    }
  });

  it("ends everywhere when it is ended, and what runs for it is given up", async () => {
    const { server, ended } = named();
    const cluster = await startCluster({ server });
    cluster.to(0);
    const one = await session(cluster.url);
    cluster.to(1);
    await waiting(cluster.url, one.headers, 1);
    cluster.to(2);
    const gone = await fetch(cluster.url, { method: "DELETE", headers: one.headers });
    expect(gone.status).toBe(204);
    expect(await ended.opened).toBe("given up at 1");
    cluster.to(0, 1, 2);
    for (let n = 0; n < 3; n++) expect((await one.post(call("where", {}, n))).status).toBe(404);
  });

  it("has a call cancelled wherever it runs, through any process", async () => {
    const { server, ended } = named();
    const cluster = await startCluster({ server });
    cluster.to(0);
    const one = await session(cluster.url);
    cluster.to(1);
    await waiting(cluster.url, one.headers, 7);
    cluster.to(2);
    await one.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
    expect(await ended.opened).toBe("given up at 1");
  });

  it("has its roots asked for anew wherever they were remembered, once the client has others", async () => {
    const server = () => {
      const made = testServer({ report: () => undefined });
      made.tool("folders", { run: async (_, ctx) => (await ctx.roots()).map(({ uri }) => uri).join() });
      return made;
    };
    const cluster = await startCluster({ server });
    cluster.to(0);
    const client = await connect(cluster.url, {
      revision: "2025-11-25",
      verdicts: false,
      roots: [{ uri: "file:///a" }],
    });
    onTestFinished(() => client.close());
    const folders = async (member: number): Promise<string> => {
      cluster.to(member);
      return ((await client.call("folders")).content[0] as { text: string }).text;
    };
    for (const member of [0, 1, 2]) expect(await folders(member)).toBe("file:///a");
    cluster.to(2);
    client.setRoots([{ uri: "file:///b" }]);
    for (const member of [0, 1, 2]) await expect.poll(() => folders(member)).toBe("file:///b");
  });

  it("keeps to the log level that it sets at its own process", async () => {
    const { server } = named();
    const cluster = await startCluster({ server });
    cluster.to(0);
    const one = await session(cluster.url);
    let id = 0;
    const said = async (): Promise<number> => {
      cluster.to(2);
      const { text } = await one.post(call("log", {}, ++id));
      return messages(text).filter(({ method }) => method === "notifications/message").length;
    };
    const set = async (level: string): Promise<unknown> => {
      cluster.to(1);
      const { text } = await one.post({ jsonrpc: "2.0", id: ++id, method: "logging/setLevel", params: { level } });
      return (JSON.parse(text) as { result?: unknown }).result;
    };
    for (const [level, count] of [
      ["info", 1],
      ["error", 0],
      ["debug", 1],
    ] as const) {
      expect(await set(level)).toEqual({});
      await expect.poll(said).toBe(count);
    }
  });
});

/** Begins a call that waits, and resolves once it runs. */
async function waiting(url: string, headers: Record<string, string>, id: number): Promise<OpenStream> {
  const body = JSON.stringify(call("wait", {}, id, { progressToken: "p" }));
  const stream = new OpenStream(url, { method: "POST", headers: { ...JSON_TYPES, ...headers }, body });
  onTestFinished(() => stream.close());
  await stream.until(({ text }) => text.includes("notifications/progress"));
  return stream;
}

it("has the rest of an answer given by another process when the one that gave it has ended, or is told that it is lost", async () => {
  const { server, waits } = named();
  const cluster = await startCluster({ server, count: 2 });
  cluster.to(0);
  const { headers } = await session(cluster.url);
  cluster.to(1);
  const stream = await waiting(cluster.url, headers, 1);
  waits.open();
  await stream.ended;
  const [told, answer] = events(stream.text).filter(({ data }) => data !== "");
  await cluster.members[1]?.close();
  cluster.to(0);
  const back = (last: string): Promise<Reply> =>
    send(cluster.url, { method: "GET", headers: { ...headers, accept: "text/event-stream", "last-event-id": last } });
  const rest = await back(told?.id as string);
  expect([rest.status, events(rest.text)]).toEqual([200, [answer]]);
  const other = told?.id?.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
  expect((await back(other as string)).status).toBe(404);
});

it("goes on where a call runs when its client comes back through any process, and is not told that it is lost", async () => {
  const { server, waits } = named();
  const cluster = await startCluster({ server });
  cluster.to(0);
  const { headers } = await session(cluster.url);
  cluster.to(1);
  const stream = await waiting(cluster.url, headers, 1);
  const last = events(stream.text).findLast(({ data }) => data !== "")?.id as string;
  stream.close();
  for (const member of [2, 0]) {
    cluster.to(member);
    const again = new OpenStream(cluster.url, {
      headers: { ...headers, accept: "text/event-stream", "last-event-id": last },
    });
    onTestFinished(() => again.close());
    await again.until(({ text }) => text !== "");
    if (member === 0) waits.open();
    else again.close();
    await again.ended;
    if (member === 0) expect(again.messages).toMatchObject([{ id: 1, result: { content: [{ text: "1" }] } }]);
    else expect(again.messages).toEqual([]);
  }
});

it(
  "ends where it was taken over, also for what that process had served of it before",
  { timeout: 60_000 },
  async () => {
    const { server } = named();
    const cluster = await startCluster({ server, count: 2 });
    cluster.to(0);
    const asking = await session(cluster.url);
    cluster.to(1);
    const where = async (): Promise<unknown> => (await asking.post(call("where"))).status;
    await expect.poll(where, { timeout: 30_000 }).toBe(200);
    await cluster.members[0]?.close();
    // What changes the session is for its own process, which this one is by now.
    const subscribe = { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "test://a" } };
    await expect.poll(async () => (await asking.post(subscribe)).status, { timeout: 30_000 }).toBe(200);
    expect((await fetch(cluster.url, { method: "DELETE", headers: asking.headers })).status).toBe(204);
    expect(await where()).toBe(404);
  },
);

it.each([
  ["its session's own", 0],
  ["another", 1],
])(
  "keeps nobody waiting for an answer that %s process takes and cannot hand on: the client may answer again",
  async (_, at) => {
    const { server } = named();
    const cluster = await startCluster({ server, count: 2 });
    cluster.to(0);
    const one = await session(cluster.url);
    cluster.to(1);
    expect((await one.post(call("where"))).status).toBe(200);
    cluster.to(at);
    // Whoever is not in the directory may have ended, or be cut off from what they share.
    const answer = await one.post({ jsonrpc: "2.0", id: "m7.1", result: { action: "decline" } });
    expect([answer.status, answer.text]).toEqual([503, expect.stringContaining("answer again")]);
  },
);
