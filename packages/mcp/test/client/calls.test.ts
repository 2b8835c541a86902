// Calling tools: progress, time, cancellation, output that does not fit, headers, errors of all kinds.
import { afterEach, describe, expect, it, vi } from "vitest";
import { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import type { TaskHandle } from "../../src/client/tasks.js";
import { code, initialized, said, type Script, ScriptedServer, serving, type Talk } from "./scripted-server.js";

const BOTH = ["2025-11-25", "2026-07-28"];

async function connected(
  revision: string,
  script: Script,
  more: ClientOptions & { kind?: string } = {},
): Promise<{ client: Client; scripted: ScriptedServer }> {
  const scripted = new ScriptedServer(serving(revision, script));
  const { kind = "stdio", ...options } = more;
  const client = await Client.connect(scripted.dialer(kind), { verdicts: false, reconnect: false, ...options });
  return { client, scripted };
}

afterEach(() => vi.useRealTimers());

describe.each(BOTH)("in %s, a call", (revision) => {
  it("is answered with what the tool said, an error of the tool too", async () => {
    const { client } = await connected(revision, (_message, { answer }) => answer({ ...said("hi"), isError: true }));
    await expect(client.call("echo", { a: 1 })).resolves.toMatchObject({ ...said("hi"), isError: true });
    await client.close();
  });

  it("reports progress, which restarts its time up to a maximum", async () => {
    vi.useFakeTimers();
    const { client, scripted } = await connected(revision, () => undefined);
    const seen: number[] = [];
    const options = {
      timeoutMs: 100,
      maxTimeoutMs: 350,
      onProgress: ({ progress }: { progress: number }) => seen.push(progress),
    };
    const call = code(client.call("slow", {}, options));
    await vi.advanceTimersByTimeAsync(0);
    const meta = scripted.sent.at(-1)?.params?.["_meta"] as JsonObject;
    for (let progress = 1; progress <= 4; progress++) {
      await vi.advanceTimersByTimeAsync(80);
      scripted.say({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: meta["progressToken"], progress },
      });
    }
    await vi.advanceTimersByTimeAsync(40);
    expect(await call).toBe("TIMEOUT");
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(scripted.methods.at(-1)).toBe("notifications/cancelled");
    await client.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("without progress ends in TIMEOUT, and the server is told", async () => {
    vi.useFakeTimers();
    const { client, scripted } = await connected(revision, () => undefined, { timeoutMs: 50 });
    const call = client.call("slow");
    const ended = expect(call).rejects.toThrow(/tools\/call was not answered within 50 ms. Raise timeoutMs/);
    await vi.advanceTimersByTimeAsync(60);
    await ended;
    const request = scripted.sent.find(({ method }) => method === "tools/call");
    expect(scripted.sent.at(-1)).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: request?.id },
    });
    await client.close();
  });

  it("is cancelled by its signal, with a reason of the caller's words only", async () => {
    const { client, scripted } = await connected(revision, () => undefined);
    const controller = new AbortController();
    const call = code(client.call("slow", {}, { signal: controller.signal }));
    await vi.waitFor(() => expect(scripted.methods).toContain("tools/call"), { timeout: 10_000 });
    controller.abort("enough");
    expect(await call).toBe("CANCELLED");
    await vi.waitFor(() => expect(scripted.sent.at(-1)?.params).toMatchObject({ reason: "enough" }), {
      timeout: 10_000,
    });
    expect(await code(client.call("slow", {}, { signal: controller.signal }))).toBe("CANCELLED");
    await client.close();
  });

  it("cancelled with -32800 is cancelled, not failed", async () => {
    const { client } = await connected(revision, (_message, { fail }) => fail({ code: -32800 }));
    expect(await code(client.call("slow"))).toBe("CANCELLED");
    await client.close();
  });

  it.each([
    ["tools/call", -32002, (client: Client) => client.call("none")],
    ["resources/read", -32002, (client: Client) => client.read("x:y")],
    ["resources/read", -32001, (client: Client) => client.read("x:y")],
    ["prompts/get", -32003, (client: Client) => client.prompt("none")],
  ])("%s refused with %i is refused with -32602", async (_method, sent, ask) => {
    const { client } = await connected(revision, (_message, { fail }) => fail({ code: sent }));
    await expect(ask(client)).rejects.toMatchObject({ code: -32602, data: { originalCode: sent } });
    await client.close();
  });

  it("nests flat resources and takes results without content", async () => {
    const flat = { type: "resource", uri: "x:y", mimeType: "text/plain", text: "t" };
    const { client } = await connected(revision, ({ params }, { answer }) =>
      answer(params?.["name"] === "flat" ? { content: [flat] } : { structuredContent: { a: 1 } }),
    );
    const nested = { type: "resource", resource: { uri: "x:y", mimeType: "text/plain", text: "t" } };
    expect((await client.call("flat")).content).toEqual([nested]);
    expect(await client.call("bare")).toMatchObject({ content: [], structuredContent: { a: 1 } });
    await client.close();
  });

  it.each([{ content: 7 }, { content: [null] }, { content: [{ text: "x" }] }, { content: [{ type: "text" }] }])(
    "answered with %j is INVALID_RESPONSE",
    async (result) => {
      const { client } = await connected(revision, (_message, { answer }) => answer(result));
      expect(await code(client.call("odd"))).toBe("INVALID_RESPONSE");
      await client.close();
    },
  );

  it("is not sent where the server declared no tools", async () => {
    const scripted = new ScriptedServer((message, talk) => {
      const capabilities = { logging: {} };
      if (message.method === "initialize")
        talk.answer({ protocolVersion: revision, capabilities, serverInfo: { name: "s", version: "1" } });
      if (message.method !== "server/discover") return;
      if (revision === "2026-07-28") talk.answer({ supportedVersions: [revision], capabilities });
      else talk.fail({ code: -32601 });
    });
    await using client = await Client.connect(scripted.dialer(), { verdicts: false });
    const before = scripted.sent.length;
    await expect(client.call("x")).rejects.toThrow(
      /tools\/call was not sent: .* did not declare the capability "tools" \(it declared logging\)/,
    );
    for (const ask of [
      client.tools().all(),
      client.read("x:y"),
      client.prompt("p"),
      client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" }),
    ]) {
      expect(await code(ask)).toBe("NOT_SUPPORTED");
    }
    expect(scripted.sent.slice(before).map(({ method }) => method)).not.toContain("tools/call");
  });
});

describe("what a server should not send", () => {
  it("answers twice and to nobody are counted and ignored", async () => {
    const { client } = await connected("2025-11-25", (_message, talk) => {
      talk.answer(said("first"));
      talk.answer(said("second"));
      talk.say({ jsonrpc: "2.0", id: 999, result: {} });
      talk.say({ jsonrpc: "2.0", id: "1", result: {} });
    });
    expect((await client.call("x")).content).toEqual(said("first")["content"]);
    expect(client.ignoredMessages).toBe(3);
    await client.close();
  });

  it("batches are taken apart", async () => {
    const { client } = await connected("2025-03-26", ({ id }, talk) => {
      talk.say([
        { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } },
        { jsonrpc: "2.0", id, result: said("in a batch") },
      ]);
    });
    expect((await client.call("x")).content).toEqual(said("in a batch")["content"]);
    expect(client.logs).toEqual([{ level: "info", data: 1 }]);
    await client.close();
  });

  it("an unknown result type is INVALID_RESPONSE, none is complete", async () => {
    const { client } = await connected("2026-07-28", ({ params }, { answer }) =>
      answer(params?.["name"] === "none" ? said("x") : { ...said("x"), resultType: "surprise" }),
    );
    await expect(client.call("none")).resolves.toMatchObject(said("x"));
    await expect(client.call("some")).rejects.toThrow(/resultType "surprise" means nothing/);
    await client.close();
  });

  it.each([
    ["too deep", (id: unknown) => `{"jsonrpc":"2.0","id":${String(id)},"result":${"[".repeat(1e5)}${"]".repeat(1e5)}}`],
    ["too long", (id: unknown) => `{"jsonrpc":"2.0","result":{"content":["${"x".repeat(17e6)}"]},"id":${String(id)}}`],
    ["with a duplicate key", (id: unknown) => `{"jsonrpc":"2.0","id":${String(id)},"result":{"a":1,"a":2}}`],
    ["malformed", (id: unknown) => `{"jsonrpc":"2.0","id":${String(id)},"result":7}`],
  ])("an answer that is %s fails its call at once", async (_what, text) => {
    const { client } = await connected("2025-11-25", ({ id }, talk) => talk.say(text(id)));
    expect(await code(client.call("x"))).toBe("INVALID_RESPONSE");
    await client.close();
  });

  it("lines that are no messages are reported and never answered", async () => {
    const noise: string[] = [];
    const { client, scripted } = await connected("2025-11-25", () => undefined, {
      onNoise: (line) => noise.push(line),
    });
    const before = scripted.sent.length;
    for (const line of ["hello", '{"level":30,"msg":"started"}', "7", '{"jsonrpc":"2.0"}', "[]"]) scripted.say(line);
    expect(noise).toHaveLength(5);
    expect(noise[1]).toContain("started");
    await Promise.resolve();
    expect(scripted.sent.length).toBe(before);
    await client.close();
  });

  it("questions outside of a session are never answered", async () => {
    const { client, scripted } = await connected("2026-07-28", () => undefined, { roots: [] });
    const before = scripted.sent.length;
    scripted.say({ jsonrpc: "2.0", id: 1, method: "roots/list" });
    scripted.say({ jsonrpc: "2.0", id: 2, method: "ping" });
    await new Promise((resolve) => setImmediate(resolve));
    expect(scripted.sent.length).toBe(before);
    expect(client.ignoredMessages).toBe(2);
    await client.close();
  });
});

describe("output", () => {
  const outputSchema = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
  const tools = [
    { name: "add", inputSchema: { type: "object" }, outputSchema },
    { name: "broken", inputSchema: { type: "object" }, outputSchema: { type: "surprise" } },
    {
      name: "costly",
      inputSchema: { type: "object" },
      outputSchema: { properties: { sum: { type: "string", pattern: "^(a+)+$" } } },
    },
    { name: "far", inputSchema: { type: "object" }, outputSchema: { $ref: "https://example.com/schema.json" } },
  ];
  const script =
    (result: JsonObject): Script =>
    (message, { answer }) =>
      answer(message.method === "tools/list" ? { tools } : result);

  it.each([
    [{ sum: 3 }, "resolved"],
    [{ sum: "3" }, "INVALID_OUTPUT"],
    [undefined, "INVALID_OUTPUT"],
  ])("%j of a listed tool: %s", async (structuredContent, outcome) => {
    const { client } = await connected(
      "2026-07-28",
      script({ content: [], ...(structuredContent && { structuredContent }) }),
    );
    expect(await code(client.call("add"))).toBe("resolved");
    await client.tools().all();
    expect(await code(client.call("add"))).toBe(outcome);
    await client.close();
  });

  it("of a tool that failed is not checked", async () => {
    const { client } = await connected("2026-07-28", script({ content: [], isError: true }));
    await client.tools().all();
    expect(await code(client.call("add"))).toBe("resolved");
    await client.close();
  });

  it("is not refused for a pattern that is not run, and for everything else", async () => {
    let sum: unknown = `${"a".repeat(60)}!`;
    const { client } = await connected("2026-07-28", (message, { answer }) =>
      answer(message.method === "tools/list" ? { tools } : { content: [], structuredContent: { sum } }),
    );
    await client.tools().all();
    expect(await code(client.call("costly"))).toBe("resolved");
    sum = 3;
    expect(await code(client.call("costly"))).toBe("INVALID_OUTPUT");
    await client.close();
  });

  it.each(["broken", "far"])("of a tool whose schema is of no use is refused (%s)", async (name) => {
    const { client } = await connected("2026-07-28", script({ content: [], structuredContent: {} }));
    await client.tools().all();
    await expect(client.call(name)).rejects.toThrow(/outputSchema is of no use/);
    await client.close();
  });

  it("is only warned of, or not looked at, where that is asked for", async () => {
    const warnings: string[] = [];
    const options = { validateOutput: "warn", onWarning: (text: string) => warnings.push(text) } as const;
    const { client } = await connected("2025-11-25", script({ content: [], structuredContent: { sum: "x" } }), options);
    await client.tools().all();
    expect(await code(client.call("add"))).toBe("resolved");
    expect(warnings).toEqual([expect.stringMatching(/"add" is not what it promises: .*sum/)]);
    await client.close();
  });
});

describe("over HTTP", () => {
  const repeated = (type: string, header: string): object => ({ type, "x-mcp-header": header });
  const [region, city] = [repeated("string", "Region"), repeated("string", "City")];
  const [count, sure] = [repeated("integer", "Count"), repeated("boolean", "Sure")];
  const mirrored = { type: "object", properties: { region, city, count, sure } };
  const invalid = { type: "object", properties: { n: { type: "number", "x-mcp-header": "N" } } };

  it("headers repeat the body, and tools that cannot be called so are dropped with a warning", async () => {
    const warnings: string[] = [];
    const tools = [
      { name: "sql", inputSchema: mirrored },
      { name: "bad", inputSchema: invalid },
    ];
    const options = { kind: "http", onWarning: (text: string) => warnings.push(text) };
    const { client, scripted } = await connected(
      "2026-07-28",
      ({ method }, { answer }) => answer(method === "tools/list" ? { tools } : said("x")),
      options,
    );
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(["sql"]);
    expect(warnings).toEqual([expect.stringContaining('The tool "bad" was dropped from the list')]);
    await client.call("sql", { region: "süd", count: 7, sure: false });
    expect(scripted.outgoing.at(-1)?.headers).toEqual({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "sql",
      "mcp-param-region": "=?base64?c8O8ZA==?=",
      "mcp-param-count": "7",
      "mcp-param-sure": "false",
    });
    await client.close();
  });

  it("-32020 reads the tools once more and calls once more", async () => {
    let calls = 0;
    const { client, scripted } = await connected(
      "2026-07-28",
      ({ method }, talk) => {
        if (method === "tools/list") talk.answer({ tools: [{ name: "sql", inputSchema: mirrored }] });
        else if (calls++ === 0) talk.fail({ code: -32020 }, 400);
        else talk.answer(said("done"));
      },
      { kind: "http" },
    );
    await expect(client.call("sql", { region: "a" })).resolves.toMatchObject(said("done"));
    expect(scripted.methods.slice(1)).toEqual(["tools/call", "tools/list", "tools/call"]);
    expect(scripted.outgoing.at(-1)?.headers).toMatchObject({ "mcp-param-region": "a" });
    await client.close();
  });

  it("-32022 is asked again once with a version both speak", async () => {
    let calls = 0;
    const { client } = await connected(
      "2026-07-28",
      (_message, talk) => {
        calls++;
        talk.fail({ code: -32022, data: { supported: ["2026-07-28"], requested: "2026-07-28" } }, 400);
      },
      { kind: "http", reconnect: {} },
    );
    expect(await code(client.call("x"))).toBe(-32022);
    expect(calls).toBe(2);
    await client.close();
  });

  it("an expired session is opened anew once, and what had not run is sent again", async () => {
    let expired = false;
    const { client, scripted } = await connected(
      "2025-11-25",
      ({ params }, talk) => {
        if (params?.["name"] === "again" || expired) return talk.answer(said("ok"));
        expired = true;
        talk.lost("SESSION_EXPIRED");
      },
      { kind: "http", reconnect: {} },
    );
    await expect(client.call("x")).resolves.toMatchObject(said("ok"));
    expect(scripted.methods.filter((method) => method === "initialize")).toHaveLength(2);
    await client.close();
  });

  it("a session that expires again and again is reported", async () => {
    const { client, scripted } = await connected("2025-11-25", (_message, talk) => talk.lost("SESSION_EXPIRED"), {
      kind: "http",
      reconnect: {},
    });
    expect(await code(client.call("x"))).toBe("SESSION_EXPIRED");
    expect(scripted.methods.filter((method) => method === "initialize")).toHaveLength(2);
    await client.close();
  });

  it("what may have run is never sent again", async () => {
    const { client, scripted } = await connected("2025-11-25", (_message, talk) => talk.lost("OUTCOME_UNKNOWN"), {
      kind: "http",
    });
    expect(await code(client.call("x"))).toBe("OUTCOME_UNKNOWN");
    expect(scripted.methods.filter((method) => method === "tools/call")).toHaveLength(1);
    await client.close();
  });
});

it("more calls than may wait are refused, and closing rejects those that do", async () => {
  const { client } = await connected("2026-07-28", () => undefined, { limits: { pendingRequests: 3 } });
  const waiting = [1, 2, 3].map(() => code(client.call("x")));
  expect(await code(client.call("x"))).toBe("LIMIT");
  await client.close();
  expect(await Promise.all(waiting)).toEqual(["CLOSED", "CLOSED", "CLOSED"]);
  expect(await code(client.call("x"))).toBe("CLOSED");
});

describe("progress", () => {
  const reports = (token: unknown, ...values: readonly number[]): JsonObject[] =>
    values.map((progress) => ({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: token, progress },
    }));
  const tokenOf = ({ params }: { params?: JsonObject }): unknown =>
    (params?.["_meta"] as JsonObject | undefined)?.["progressToken"];

  it.each(BOTH)("is told as far as it grows (%s)", async (revision) => {
    const seen: number[] = [];
    const { client } = await connected(revision, (message, talk) => {
      for (const report of reports(tokenOf(message), 1, 2, 2, 1, 3)) talk.say(report);
      talk.answer(said("done"));
    });
    await client.call("t", {}, { onProgress: ({ progress }) => seen.push(progress) });
    expect(seen).toEqual([1, 2, 3]);
    await client.close();
  });

  it.each(["answered", "refused", "lost"])("of 3,000 reports is told fifty times and at its end (%s)", async (how) => {
    const seen: number[] = [];
    const { client } = await connected("2025-11-25", (message, talk) => {
      for (const report of reports(tokenOf(message), ...Array.from({ length: 3_000 }, (_, at) => at))) talk.say(report);
      if (how === "answered") talk.answer(said("done"));
      else if (how === "refused") talk.fail({ code: -1 });
      else talk.lost("CUT");
    });
    await code(client.call("t", {}, { onProgress: ({ progress }) => seen.push(progress) }));
    expect(seen).toHaveLength(51);
    expect(seen.at(-1)).toBe(2_999);
    await client.close();
  });

  const task = { taskId: "T", status: "working", ttl: null, createdAt: "", lastUpdatedAt: "", pollInterval: 1 };
  const tool = { name: "t", inputSchema: { type: "object" }, execution: { taskSupport: "optional" } };

  /** A server of tasks whose progress comes when the client follows them. */
  async function taskServer(atFollowing: (message: { method?: string }, talk: Talk) => void): Promise<{
    client: Client;
    scripted: ScriptedServer;
    report: (...values: number[]) => void;
  }> {
    let token: unknown;
    const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
    const scripted = new ScriptedServer((message, talk) => {
      const { method } = message;
      if (method === "initialize") talk.answer(initialized("2025-11-25", capabilities));
      else if (method === "tools/list") talk.answer({ tools: [tool] });
      else if (method === "tools/call") {
        token = tokenOf(message);
        talk.answer({ task });
        report(1, 2);
      } else if (method?.startsWith("tasks/") === true) atFollowing(message, talk);
    });
    const report = (...values: number[]): void => reports(token, ...values).forEach((each) => scripted.say(each));
    const options = { verdicts: false, reconnect: false, era: "handshake" } as const;
    return { client: await Client.connect(scripted.dialer(), options), scripted, report };
  }

  it("of a task is told until its end, and not behind it", async () => {
    const seen: number[] = [];
    const { client, report } = await taskServer((_message, talk) => {
      report(3, 4, 5);
      talk.answer(said("done"));
      report(6);
    });
    const handle = await client.callTask("t", {}, { onProgress: ({ progress }) => seen.push(progress) });
    expect(await handle.result()).toMatchObject(said("done"));
    report(7);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
    await client.close();
  });

  it.each([
    ["tasks/get", (handle: TaskHandle) => handle.status()],
    ["tasks/cancel", (handle: TaskHandle) => handle.cancel().then(() => handle.status())],
    ["a notification", async () => undefined],
  ])("of a task whose end %s showed is told no longer", async (how, end) => {
    const seen: number[] = [];
    const { client, scripted, report } = await taskServer((_message, talk) => {
      talk.answer({ ...task, status: "cancelled" });
    });
    const handle = await client.callTask("t", {}, { onProgress: ({ progress }) => seen.push(progress) });
    report(3);
    await end(handle);
    const params = { ...task, status: "cancelled" };
    if (how === "a notification") scripted.say({ jsonrpc: "2.0", method: "notifications/tasks/status", params });
    report(4);
    expect(seen).toEqual([1, 2, 3]);
    await client.close();
  });
});

describe("a level of a call's own", () => {
  it.each(BOTH)("is heard while the call runs, below the one set (%s)", async (revision) => {
    const heard: unknown[] = [];
    const log = (data: string): JsonObject => ({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "debug", data },
    });
    const { client, scripted } = await connected(
      revision,
      ({ method }, talk) => {
        if (method === "tools/call") talk.say(log("in the call"));
        talk.answer(method === "tools/call" ? said("done") : {});
      },
      { onLog: ({ data }) => heard.push(data) },
    );
    await client.setLogLevel("warning");
    scripted.say(log("before"));
    await client.call("t", {}, { logLevel: "debug" });
    scripted.say(log("behind"));
    expect(heard).toEqual(["in the call"]);
    await client.close();
  });
});

describe("a server that writes out what it leaves out", () => {
  it.each(BOTH)("gives answers a null error, refusals a null result, and news null params (%s)", async (revision) => {
    const changes: unknown[] = [];
    const tool = { name: "t", inputSchema: { type: "object" }, outputSchema: null, annotations: null, execution: null };
    const { client, scripted } = await connected(
      revision,
      ({ id, method, params }, talk) => {
        if (method === "tools/list")
          talk.say({ jsonrpc: "2.0", id, result: { tools: [tool] }, error: null, method: null });
        else if (params?.["name"] === "t") {
          talk.say({ jsonrpc: "2.0", id, result: { ...said("fine"), structuredContent: null }, error: null });
        } else if (params?.["name"] === "bare") {
          talk.say({ jsonrpc: "2.0", id, result: { content: null, structuredContent: {} } });
        } else talk.say({ jsonrpc: "2.0", id, result: null, error: { code: -5, message: "no", data: null } });
      },
      { onListChanged: (change) => changes.push(change) },
    );
    await client.tools().all();
    expect(await client.call("t")).toMatchObject(said("fine"));
    expect(await client.call("bare")).toMatchObject({ content: [] });
    await expect(client.call("other")).rejects.toMatchObject({ code: -5, message: "no" });
    scripted.say({ jsonrpc: "2.0", id: null, method: "notifications/tools/list_changed", params: null, result: null });
    expect(changes).toEqual([{ kind: "tools" }]);
    await client.close();
  });

  it.each(BOTH)("declares what it has not as null (%s)", async (revision) => {
    const capabilities = { tools: {}, prompts: null, resources: null };
    const scripted = new ScriptedServer((message, talk) => {
      if (message.method === "initialize") talk.answer(initialized(revision, capabilities));
      if (message.method !== "server/discover") return;
      if (revision === "2026-07-28") talk.answer({ supportedVersions: [revision], capabilities });
      else talk.fail({ code: -32601 });
    });
    await using client = await Client.connect(scripted.dialer(), { verdicts: false });
    expect(client.capabilities).toEqual({ tools: {} });
    expect(await code(client.prompts().all())).toBe("NOT_SUPPORTED");
  });
});

describe("on the stream of a call", () => {
  const garbage = [
    "not json",
    "{broken",
    '{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}',
    "7",
    "[]",
  ];

  it.each(garbage)("%s is noise: the answer comes behind it", async (text) => {
    const noise: string[] = [];
    const { client } = await connected(
      "2026-07-28",
      ({ id }, talk) => {
        talk.say(text, { status: 200, forRequest: id });
        talk.answer(said("fine"));
      },
      { kind: "http", onNoise: (line) => noise.push(line) },
    );
    expect(await client.call("t")).toMatchObject(said("fine"));
    expect(noise).toHaveLength(1);
    await client.close();
  });

  it.each([
    [
      "too deep to be read",
      (id: unknown) => `{"result":${"[".repeat(5e3)}${"]".repeat(5e3)},"id":${JSON.stringify(id)},"x":1}`,
    ],
    ["a batch with a fault", () => `[{"jsonrpc":"2.0","id":99,"result":{"a":1,"a":2}}]`],
  ])("what may be the answer, %s, ends it at once", async (_what, text) => {
    const { client } = await connected("2026-07-28", ({ id }, talk) => talk.say(text(id), { forRequest: id }), {
      kind: "http",
    });
    expect(await code(client.call("t"))).toBe("INVALID_RESPONSE");
    await client.close();
  });
});
