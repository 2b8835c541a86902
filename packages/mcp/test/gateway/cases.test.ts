// Cases of upstreams that do what they should not, and of what must not go over both hops: each by real servers over HTTP.
import { afterEach, expect, it } from "vitest";
import type { ClientOptions } from "../../src/client/options.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import { connect } from "../../src/serve/connect-node.js";
import { serveHttp } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

it("case 13: stops a server that asks for ever, for a client of sessions, and says so", async () => {
  const question = {
    method: "elicitation/create",
    params: { mode: "form", message: "Again?", requestedSchema: { type: "object", properties: {} } },
  };
  const up = await stage.strange({
    "tools/call": () => ({ resultType: "input_required", inputRequests: { q: question }, requestState: "s" }),
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url), { prefix: "" });
  const client = await connect(gateway, { revision: "2025-11-25", elicit: () => ({ action: "accept", content: {} }) });
  stage.later(() => client.close());
  const result = await client
    .call("read")
    .catch((error: unknown) => ({ isError: true, content: [{ type: "text", text: (error as Error).message }] }));
  expect(result.isError).toBe(true);
  expect(up.asked.filter(({ method }) => method === "tools/call").length).toBeLessThanOrEqual(11);
});

it("case 15: mounts no server that asks a question where only a list may be answered", async () => {
  const up = await stage.strange({
    "tools/list": () => ({ resultType: "input_required", inputRequests: {}, requestState: "s" }),
  });
  const gateway = stage.gateway();
  await expect(gateway.mount("up", open(up.url))).rejects.toThrow();
  expect(gateway.mounts.size).toBe(0);
});

it("case 28: takes what belongs to one hop off an answer, and passes what vendors put there", async () => {
  const forged = { "io.modelcontextprotocol/serverInfo": { name: "forged", version: "6.6.6" }, "example.com/kept": 1 };
  const up = await stage.strange({
    "tools/call": () => ({ content: [], _meta: { ...forged, traceparent: "00-1-2-01" } }),
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url), { prefix: "" });
  const client = await connect(gateway);
  stage.later(() => client.close());
  const { _meta: meta } = await client.call("read");
  expect(meta).toMatchObject({ "example.com/kept": 1, traceparent: "00-1-2-01" });
  expect(JSON.stringify(meta)).not.toContain("forged");
});

it("case 31: one subscription at the server, a delivery to each, and one end", async () => {
  const counts = new Map<string, number>();
  const upstream = new Server({ name: "up", version: "1.0.0" });
  upstream.resource("note://a", { read: () => "a" });
  upstream.use((call, next) => {
    counts.set(call.method, (counts.get(call.method) ?? 0) + 1);
    return next();
  });
  const gateway = stage.gateway();
  await gateway.mount("up", (options) => connect(upstream, { ...options, revision: "2025-11-25", verdicts: false }));
  const clients = await Promise.all(Array.from({ length: 50 }, () => connect(gateway, { revision: "2025-11-25" })));
  const heard = Promise.all(
    clients.map(async (client) => {
      for await (const change of client.subscribe({ resources: ["note://a"] })) return change.kind;
      return undefined;
    }),
  );
  while (counts.get("resources/subscribe") === undefined) await new Promise((resolve) => setImmediate(resolve));
  // A read behind the subscriptions: they are surely there.
  await Promise.all(clients.map((client) => client.read("note://a")));
  upstream.resourceUpdated("note://a");
  expect(new Set(await heard)).toEqual(new Set(["resource"]));
  expect(counts.get("resources/subscribe")).toBe(1);
  await Promise.all(clients.map((client) => client.close()));
  while (counts.get("resources/unsubscribe") === undefined) await new Promise((resolve) => setImmediate(resolve));
  expect(counts.get("resources/unsubscribe")).toBe(1);
});

it("case 34: refuses a cursor that is not its own", async () => {
  const up = await stage.strange({});
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url));
  const client = await connect(gateway);
  stage.later(() => client.close());
  await expect(client.request("tools/list", { cursor: "bm90IG91cnM" })).rejects.toMatchObject({ code: -32602 });
});

it("case 40: answers with how a server ended, tells its owner alone what it said, and does not send the call again", async () => {
  const dying = `
    let rest = "", calls = 0;
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const { id, method } of lines.map((line) => JSON.parse(line))) {
        if (method === "tools/call") { console.error("call " + ++calls); process.exit(9); }
        else if (method === "initialize")
          say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "d", version: "1" } } });
        else if (method === "tools/list") say({ id, result: { tools: [{ name: "read", inputSchema: { type: "object" } }] } });
        else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
      }
    });`;
  let starts = 0;
  const reported: string[] = [];
  const gateway = stage.gateway({ report: (_level, message) => void reported.push(message) });
  await gateway.mount("up", (options) => {
    starts++;
    return connect(
      { command: process.execPath, args: ["-e", dying] },
      { ...options, verdicts: false, reconnect: false },
    );
  });
  const client = await connect(gateway);
  stage.later(() => client.close());
  const died = await client.call("up__read");
  expect(texts(died)).toMatch(
    /^up: its process exited with status 9 \(after [\d.]+ s\)\. Whether the call did its work is not known: look, before you make it again$/,
  );
  expect(JSON.stringify(died)).not.toContain(process.execPath);
  expect(reported.join("\n")).toMatch(/up: .*node.*9.*call 1/s);
  expect(reported.join("\n")).not.toContain("call 2");
  expect(starts).toBeLessThanOrEqual(2);
});

it("case 43: passes over what a child prints where messages belong", async () => {
  const noisy = `
    process.stdout.write("x".repeat(1023).concat("\\n").repeat(1024));
    let rest = "";
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\nnoise\\n");
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const { id, method } of lines.map((line) => JSON.parse(line))) {
        if (method === "tools/call") say({ id, result: { content: [{ type: "text", text: "clear" }] } });
        else if (method === "initialize")
          say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "d", version: "1" } } });
        else if (method === "tools/list") say({ id, result: { tools: [{ name: "read", inputSchema: { type: "object" } }] } });
        else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
      }
    });`;
  const gateway = stage.gateway();
  await gateway.mount("up", (options) =>
    connect({ command: process.execPath, args: ["-e", noisy] }, { ...options, verdicts: false }),
  );
  const client = await connect(gateway);
  stage.later(() => client.close());
  expect(texts(await client.call("up__read"))).toBe("clear");
});

it("case 39: lists and calls of the others do not wait for a server that never says what it is", async () => {
  const gateway = stage.gateway();
  const hints = { ttlMs: 0, cacheScope: "private" as const };
  const offer = {
    tools: [{ name: "wait", inputSchema: { type: "object" as const } }],
    prompts: [],
    resources: [],
    resourceTemplates: [],
  };
  // It is given up with the gateway, and not waited for.
  const never = ({ signal }: ClientOptions): Promise<never> =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener("abort", () => reject(new LocalError("CANCELLED", "given up"))),
    );
  await gateway.mount("mute", never, {
    offer: { ...offer, hints, instructions: undefined, capabilities: { tools: {} } },
  });
  const up = await stage.strange({});
  await gateway.mount("up", open(up.url));
  const client = await connect(gateway);
  const stop = new AbortController();
  const waiting = client.call("mute__wait", {}, { signal: stop.signal });
  expect((await client.tools().all()).map(({ name }) => name).sort()).toEqual(["mute__wait", "up__read"]);
  expect(texts(await client.call("up__read"))).toBe("read");
  expect(gateway.mounts.get("mute")?.state.state).toBe("starting");
  stop.abort("enough");
  await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
  await client.close();
});

it("case 59: sends a server nothing of its caller's but the call", async () => {
  const up = await stage.strange({});
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url), { prefix: "" });
  const serving = await serveHttp(gateway, { signals: false });
  stage.later(() => serving.close());
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const headers = { authorization: "Bearer callers-own", cookie: "id=callers-own", "x-callers-own": "1" };
    const client = await connect(serving.url, { revision, http: { headers } });
    expect(texts(await client.call("read"))).toBe("read");
    await client.close();
  }
  expect(up.asked.length).toBeGreaterThan(2);
  expect(JSON.stringify(up.asked)).not.toContain("callers-own");
  expect(up.asked.every(({ headers }) => headers["mcp-session-id"] === undefined)).toBe(true);
});

it("case 23: keeps apart two callers with the same id, and cancelling one leaves the other", async () => {
  const upstream = new Server({ name: "up", version: "1.0.0" });
  const released = new Map<string, () => void>();
  const begun = new Map<string, () => void>();
  const started = (who: string): Promise<void> => new Promise((resolve) => begun.set(who, resolve));
  upstream.tool("hold", {
    input: { type: "object", properties: { who: { type: "string" } }, required: ["who"] },
    run: ({ who }) =>
      new Promise<string>((resolve) => {
        released.set(who, () => resolve(`for ${who}`));
        begun.get(who)?.();
      }),
  });
  const gateway = stage.gateway();
  await gateway.mount("up", (options) => connect(upstream, { ...options, verdicts: false }), { prefix: "" });
  const [one, two] = await Promise.all([connect(gateway), connect(gateway)]);
  stage.later(() => Promise.all([one.close(), two.close()]));
  const stop = new AbortController();
  const bothBegun = Promise.all([started("one"), started("two")]);
  // Both clients count their ids from the same number on.
  const first = one.call("hold", { who: "one" }, { signal: stop.signal });
  const second = two.call("hold", { who: "two" });
  await bothBegun;
  stop.abort("enough");
  await expect(first).rejects.toMatchObject({ code: "CANCELLED" });
  released.get("two")?.();
  expect(texts(await second)).toBe("for two");
});
