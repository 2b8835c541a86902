// Lists, logs and subscriptions of several servers as one: what may be kept of them, what changes while they are read, who hears of what.
import { afterEach, expect, it } from "vitest";
import { mountedName } from "../../src/gateway/uris.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { connect } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

/** A server with these tools. */
function toolbox(name: string, tools: readonly string[]): Server {
  const server = new Server({ name, version: "1" });
  for (const tool of tools) server.tool(tool, { run: () => tool });
  return server;
}

const namesOf = (page: JsonObject | undefined): string[] =>
  ((page?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name);

it("leaves nothing open on a client that is its owner's when it is unmounted", async () => {
  const own = await connect(toolbox("own", ["a"]));
  stage.later(() => own.close());
  const closed: Promise<void>[] = [];
  const subscribe = own.subscribe.bind(own);
  own.subscribe = (watched) => {
    const subscription = subscribe(watched);
    const close = subscription.close.bind(subscription);
    closed.push(new Promise((resolve) => (subscription.close = () => close().then(resolve))));
    return subscription;
  };
  const gateway = stage.gateway();
  await gateway.mount("own", own);
  expect(closed).toHaveLength(1);
  await gateway.unmountAll();
  await Promise.all(closed);
  expect((await own.call("a")).isError).toBe(false);
});

it("an annotation of headers that makes no sense is taken off, and its tool can be called (case 27)", async () => {
  const program = `
    let rest = "";
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const inputSchema = { type: "object", properties: { n: { type: "number", "x-mcp-header": "not a name" }, ok: { type: "string" } } };
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
        if (method === "tools/call") say({ id, result: { content: [{ type: "text", text: String(params.arguments.n) }] } });
        else if (method === "initialize")
          say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "d", version: "1" } } });
        else if (method === "tools/list") say({ id, result: { tools: [{ name: "read", inputSchema }] } });
        else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
      }
    });`;
  const gateway = stage.gateway();
  await gateway.mount("up", (options) =>
    connect({ command: process.execPath, args: ["-e", program] }, { ...options, verdicts: false }),
  );
  const url = await stage.serve(gateway);
  const { result } = await stage.post(url, "tools/list", {});
  expect(JSON.stringify(result)).not.toContain("x-mcp-header");
  expect(namesOf(result)).toEqual(["up__read"]);
  const client = await stage.client(url, { revision: "2026-07-28" });
  expect(texts(await client.call("up__read", { n: 7 }))).toBe("7");
});

it("each of two clients on one session of a server hears what it asked for, and no more (case 29)", async () => {
  const upstream = new Server({ name: "up", version: "1" });
  const levels: string[] = [];
  upstream.tool("talk", {
    run: (_given, context) => {
      for (const level of ["debug", "warning", "error"] as const) void context.log(level, level);
      return "said";
    },
  });
  upstream.use((call, next) => {
    if (call.method === "logging/setLevel") levels.push(String(call.params["level"]));
    return next();
  });
  const gateway = stage.gateway();
  const mounted = await gateway.mount("up", open(await stage.serve(upstream), { revision: "2025-11-25" }));
  // Both are of one user: nobody else's share anything.
  const url = await stage.serve(gateway, { authenticate: () => ({ identity: { principal: "ada", scopes: [] } }) });
  const [loud, quiet] = await Promise.all([1, 2].map(() => stage.client(url, { revision: "2025-11-25" })));
  await loud?.setLogLevel("debug");
  await quiet?.setLogLevel("error");
  const heard = async (client: typeof loud): Promise<unknown[]> => {
    await client?.call("up__talk");
    return (client?.logs ?? []).map(({ data }) => data);
  };
  expect(await heard(quiet)).toEqual(["error"]);
  expect(await heard(loud)).toEqual(["debug", "warning", "error"]);
  expect(await heard(quiet)).toEqual(["error", "error"]);
  // One for the lists, and one that both of them share.
  expect(mounted.connections).toBe(2);
  expect(levels.at(-1)).toBe("debug");
});

it("one stream over four servers brings what three of them tell, though the fourth refuses (case 32)", async () => {
  const watched = ["a", "b", "c"].map((name) => {
    const server = new Server({ name, version: "1" });
    server.resource(`note://${name}/1`, { read: () => name });
    return { name, server, subscribed: subscribedTo(server) };
  });
  const refusing = await stage.strange({
    "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities: { resources: { subscribe: true } } }),
    "resources/list": () => ({ resources: [{ uri: "note://d/1", name: "d" }] }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
  });
  const gateway = stage.gateway();
  for (const { name, server } of watched) await gateway.mount(name, open(await stage.serve(server)));
  await gateway.mount("d", open(refusing.url));
  const client = await stage.client(await stage.serve(gateway), { revision: "2026-07-28" });
  const uris = ["a", "b", "c", "d"].map((name) => `note://${name}/1`);
  const seen = new Set<string>();
  const subscription = client.subscribe({ toolsListChanged: true, resources: uris });
  const heard = (async () => {
    for await (const change of subscription) {
      if (change.kind === "resource") seen.add(change.uri);
      if (seen.size === 3) return;
    }
  })();
  await Promise.all([subscription.ready, ...watched.map(({ subscribed }) => subscribed)]);
  for (const { name, server } of watched) server.resourceUpdated(`note://${name}/1`);
  await heard;
  expect([...seen].sort()).toEqual(uris.slice(0, 3));
  await subscription.close();
});

/** Resolves once somebody listens for its resources. */
function subscribedTo(server: Server): Promise<void> {
  return new Promise((resolve) =>
    server.use(async (call, next) => {
      const listens = call.method === "subscriptions/listen" || call.method === "resources/subscribe";
      if (listens && JSON.stringify(call.params).includes("note://")) setImmediate(resolve);
      return next();
    }),
  );
}

it("a thousand changes become a few, and lists are read one at a time (case 33)", async () => {
  const program = `
    let rest = "", reading = 0, most = 0, reads = 0, tools = 1;
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const listed = () => Array.from({ length: tools }, (_, n) => ({ name: "t" + n, inputSchema: { type: "object" } }));
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
        if (method === "tools/call") {
          if (params.arguments.storm) for (let n = 0; n < 1000; n++) { tools = 1 + (n % 5); say({ method: "notifications/tools/list_changed" }); }
          tools = 7;
          if (params.arguments.storm) say({ method: "notifications/tools/list_changed" });
          say({ id, result: { content: [{ type: "text", text: JSON.stringify({ most, reads }) }] } });
        } else if (method === "initialize")
          say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: { listChanged: true } }, serverInfo: { name: "d", version: "1" } } });
        else if (method === "tools/list") {
          most = Math.max(most, ++reading); reads++;
          setImmediate(() => { reading--; say({ id, result: { tools: listed() } }); });
        } else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
      }
    });`;
  const gateway = stage.gateway();
  await gateway.mount("up", (options) =>
    connect({ command: process.execPath, args: ["-e", program] }, { ...options, verdicts: false }),
  );
  const client = await stage.client(await stage.serve(gateway), { revision: "2026-07-28" });
  const began = performance.now();
  let told = 0;
  const subscription = client.subscribe({ toolsListChanged: true });
  const heard = (async () => {
    for await (const { kind } of subscription) {
      if (kind !== "tools") continue;
      told++;
      if ((await client.tools().all()).length === 7) return;
    }
  })();
  await client.call("up__t0", { storm: true });
  await heard;
  const tenths = (performance.now() - began) / 100;
  expect(told).toBeLessThanOrEqual(tenths + 2);
  const { most, reads } = JSON.parse(texts(await client.call("up__t0"))) as { most: number; reads: number };
  expect(most).toBe(1);
  expect(reads).toBeLessThanOrEqual(tenths + 4);
  await subscription.close();
});

it("pages of a merged list lose and repeat nothing of the servers that stay, while others come and go (case 34)", async () => {
  const tools = Array.from({ length: 7 }, (_, n) => `t${n}`);
  const gateway = stage.gateway({ limits: { pageSize: 4 } });
  const mount = async (name: string): Promise<unknown> =>
    gateway.mount(name, open(await stage.serve(toolbox(name, tools))));
  for (let n = 0; n < 6; n++) await mount(`s${n}`);
  const url = await stage.serve(gateway);
  const seen: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 40; page++) {
    const { result } = await stage.post(url, "tools/list", cursor === undefined ? {} : { cursor });
    seen.push(...namesOf(result));
    cursor = result?.["nextCursor"] as string | undefined;
    if (cursor === undefined) break;
    if (page === 2) await gateway.mounts.get("s1")?.remove();
    if (page === 3) await mount("s9");
    if (page === 4) await gateway.mounts.get("s4")?.remove();
  }
  const stayed = ["s0", "s2", "s3", "s5"].flatMap((name) => tools.map((tool) => `${name}__${tool}`));
  expect(seen.filter((name) => stayed.includes(name)).sort()).toEqual(stayed);
  expect(new Set(seen).size).toBe(seen.length);
  const foreign = await stage.post(url, "tools/list", { cursor: "" });
  expect(foreign.error).toMatchObject({ code: -32602 });
});

it("of a merged list as long is kept as the least says, and by one person where one says so (case 35)", async () => {
  const listed = (ttlMs: number, cacheScope: string) => ({
    "tools/list": () => ({ tools: [{ name: "read", inputSchema: { type: "object" } }], ttlMs, cacheScope }),
  });
  const [long, short] = [await stage.strange(listed(60_000, "public")), await stage.strange(listed(5_000, "private"))];
  const gateway = stage.gateway();
  const url = await stage.serve(gateway);
  const hints = async (method = "tools/list"): Promise<unknown> => {
    const { result } = await stage.post(url, method, {});
    return [result?.["ttlMs"], result?.["cacheScope"]];
  };
  await gateway.mount("long", open(long.url));
  expect(await hints()).toEqual([60_000, "public"]);
  const mounted = await gateway.mount("short", open(short.url));
  expect(await hints()).toEqual([5_000, "private"]);
  expect(await hints("server/discover")).toEqual([5_000, "private"]);
  await mounted.remove();
  expect(await hints()).toEqual([60_000, "public"]);
  // With something of our own in it, it says what we say of that.
  const own = stage.gateway({ listTtlMs: 1_000 });
  await own.mount("long", open(long.url));
  const { result } = await stage.post(await stage.serve(own), "tools/list", {});
  expect(result).toMatchObject({ ttlMs: 1_000, cacheScope: "public" });
});

it("cuts a name that is too long between characters, never inside one", () => {
  for (let before = 30; before < 60; before++) {
    const name = `${"e".repeat(before)}${"😀".repeat(20)}`;
    const cut = mountedName("up", name);
    expect(Buffer.from(cut, "utf8").toString()).toBe(cut);
    expect([cut.length >= 59, cut.length <= 60]).toEqual([true, true]);
  }
});
