// Servers written for the official SDK, with their imports from `/compat`: the official client and ours are served alike.
import { afterEach, expect, test } from "vitest";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as OfficialTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import * as sdk from "@modelcontextprotocol/sdk/types.js";
import { ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import * as mini from "zod/mini";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { connect } from "@secure-local/mcp/client";
import {
  acceptedContent,
  CallToolRequestSchema,
  completable,
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  ErrorCode,
  fromJsonSchema,
  inputRequired,
  LATEST_PROTOCOL_VERSION,
  ListToolsRequestSchema,
  LoggingLevelSchema,
  McpError,
  McpServer,
  ResourceTemplate,
  RoleSchema,
  RootsListChangedNotificationSchema,
  Server,
  SubscribeRequestSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
  type SdkTransport,
} from "@secure-local/mcp/compat";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Joins a server to the official client, through the transport of the SDK itself. */
async function official(server: McpServer | Server, capabilities: object = {}): Promise<Client> {
  const [ours, theirs] = OfficialTransport.createLinkedPair();
  const client = new Client({ name: "official", version: "1" }, { capabilities });
  await server.connect(ours as SdkTransport);
  await client.connect(theirs);
  closing.push(() => client.close());
  return client;
}

const named = (): McpServer =>
  new McpServer({ name: "brought-over", version: "1.0.0" }, { capabilities: { logging: {} } });

test("a raw shape is the tool's schema, its result goes out as it stands, and what is thrown the model reads", async () => {
  const server = named();
  server.registerTool(
    "add",
    {
      description: "Adds",
      inputSchema: { a: z.number().describe("first"), b: z.number().default(2) },
      outputSchema: { sum: z.number() },
    },
    ({ a, b }) => ({ content: [{ type: "text", text: `${a + b}` }], structuredContent: { sum: a + b } }),
  );
  server.tool("fails", "Always", () => {
    throw new Error("There is no note 7");
  });
  const client = await official(server);
  const { tools } = await client.listTools();
  const add = tools.find(({ name }) => name === "add");
  expect(add?.inputSchema).toMatchObject({
    properties: { a: { type: "number", description: "first" }, b: { default: 2 } },
    required: ["a"],
  });
  expect(await client.callTool({ name: "add", arguments: { a: 1 } })).toMatchObject({
    content: [{ type: "text", text: "3" }],
    structuredContent: { sum: 3 },
  });
  expect(await client.callTool({ name: "fails" })).toMatchObject({
    isError: true,
    content: [{ text: "There is no note 7" }],
  });
  const refused = await client.callTool({ name: "add", arguments: { a: "one" } });
  expect(refused).toMatchObject({ isError: true });
  expect(JSON.stringify(refused)).toContain("/a");
});

test("schemas of zod 3, zod/mini and JSON Schema are published and checked", async () => {
  const server = named();
  const three = {
    name: z3.string().min(2).describe("who"),
    times: z3.number().int().max(9).optional(),
    kind: z3.enum(["a", "b"]),
  };
  server.registerTool("three", { inputSchema: three }, ({ name }) => ({ content: [{ type: "text", text: name }] }));
  server.registerTool(
    "mini",
    { inputSchema: mini.object({ id: mini.string(), n: mini.optional(mini.number()) }) },
    ({ id }) => ({
      content: [{ type: "text", text: id }],
    }),
  );
  const document = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
  server.registerTool("json", { inputSchema: fromJsonSchema<{ q: string }>(document) }, ({ q }) => ({
    content: [{ type: "text", text: q }],
  }));
  const client = await official(server);
  const schemas = new Map((await client.listTools()).tools.map(({ name, inputSchema }) => [name, inputSchema]));
  expect(schemas.get("three")).toEqual({
    type: "object",
    properties: {
      name: { type: "string", minLength: 2, description: "who" },
      times: { type: "integer", maximum: 9 },
      kind: { type: "string", enum: ["a", "b"] },
    },
    required: ["name", "kind"],
  });
  expect(schemas.get("mini")).toMatchObject({
    type: "object",
    properties: { id: { type: "string" } },
    required: ["id"],
  });
  expect(schemas.get("json")).toMatchObject(document);
  for (const [name, args] of [
    ["three", { name: "x", kind: "a" }],
    ["mini", {}],
    ["json", {}],
  ] as const) {
    expect(await client.callTool({ name, arguments: args }), name).toMatchObject({ isError: true });
  }
});

test("handles take away, bring back, change and rename what they registered, and each is announced", async () => {
  const server = named();
  const handle = server.registerTool("one", { description: "first" }, () => ({ content: [] }));
  const client = await official(server);
  const names = async (): Promise<string[]> =>
    (await client.listTools()).tools.map(({ name, description }) => `${name}: ${description}`);
  expect(await names()).toEqual(["one: first"]);
  handle.disable();
  server.registerTool("two", { description: "second" }, () => ({ content: [] }));
  expect(await names()).toEqual(["two: second"]);
  handle.enable();
  handle.update({ name: "uno", description: "changed" });
  expect((await names()).sort()).toEqual(["two: second", "uno: changed"]);
  handle.remove();
  expect(await names()).toEqual(["two: second"]);
  expect(() => server.registerTool("two", {}, () => ({ content: [] }))).toThrow("Tool two is already registered");
});

test("resources, templates that list and complete, and prompts with optional arguments", async () => {
  const server = named();
  server.registerResource("motto", "notes://motto", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, text: "short" }],
  }));
  const template = new ResourceTemplate("notes://all/{id}", {
    list: () => ({ resources: [{ uri: "notes://all/7", name: "seventh" }] }),
    complete: { id: (value) => ["7", "70"].filter((id) => id.startsWith(value)) },
  });
  server.registerResource("note", template, { description: "A note" }, (uri, { id }) => ({
    contents: [{ uri: uri.href, text: `note ${String(id)}` }],
  }));
  server.registerPrompt(
    "greet",
    { argsSchema: { name: completable(z.string().describe("who"), () => ["Ada"]), mood: z.string().optional() } },
    ({ name, mood }) => ({ messages: [{ role: "user", content: { type: "text", text: `${name} ${mood ?? "-"}` } }] }),
  );
  const client = await official(server);
  expect((await client.listResources()).resources.map(({ uri, description }) => [uri, description])).toEqual([
    ["notes://motto", undefined],
    ["notes://all/7", "A note"],
  ]);
  expect((await client.readResource({ uri: "notes://all/7" })).contents).toEqual([
    { uri: "notes://all/7", text: "note 7" },
  ]);
  const ref = { type: "ref/resource", uri: "notes://all/{id}" } as const;
  expect((await client.complete({ ref, argument: { name: "id", value: "70" } })).completion.values).toEqual(["70"]);
  const { prompts } = await client.listPrompts();
  expect(prompts[0]?.arguments).toEqual([
    { name: "name", description: "who", required: true },
    expect.objectContaining({ name: "mood" }),
  ]);
  expect((await client.getPrompt({ name: "greet", arguments: { name: "Ada" } })).messages[0]?.content).toMatchObject({
    text: "Ada -",
  });
});

test("a server of handlers alone serves what they answer and refuses with their codes", async () => {
  const server = new Server({ name: "low", version: "1" }, { capabilities: { tools: {}, resources: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: "x", inputSchema: { type: "object" } }] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }: { params: { name: string } }) => {
    throw new McpError(ErrorCode.InvalidParams, `no tool ${params.name}`);
  });
  const subscribed: string[] = [];
  server.setRequestHandler(SubscribeRequestSchema, ({ params }: { params: { uri: string } }) => {
    subscribed.push(params.uri);
    return {};
  });
  const client = await official(server);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["x"]);
  await expect(client.callTool({ name: "y" })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("no tool y"),
  });
  await client.subscribeResource({ uri: "any://thing" });
  expect(subscribed).toEqual(["any://thing"]);
});

test("between requests a session's client is asked and told, and says when its roots change", async () => {
  const server = named();
  const heard: unknown[] = [];
  const ready = new Promise<void>((resolve) => {
    server.server.oninitialized = () => {
      heard.push(server.server.getClientVersion()?.name, server.server.getClientCapabilities()?.roots);
      resolve();
    };
  });
  const changed = new Promise<unknown>((resolve) => {
    server.server.setNotificationHandler(RootsListChangedNotificationSchema, async () => {
      resolve(await server.server.listRoots());
    });
  });
  const client = await official(server, { roots: { listChanged: true } });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///work" }] }));
  await ready;
  expect(heard).toEqual(["official", { listChanged: true }]);
  await client.sendRootsListChanged();
  expect(await changed).toEqual({ roots: [{ uri: "file:///work" }] });
});

test("a question in a handler is asked in every revision, through the server or the second argument", async () => {
  const server = named();
  const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
  server.registerTool("through", {}, async () => {
    const answer = await server.server.elicitInput({ message: "Who?", requestedSchema: form });
    return { content: [{ type: "text", text: String(answer.content?.["name"]) }] };
  });
  server.registerTool("extra", {}, async (extra) => {
    const answer = await extra.sendRequest({
      method: "elicitation/create",
      params: { message: "Who?", requestedSchema: form },
    });
    return { content: [{ type: "text", text: JSON.stringify(answer["content"]) }] };
  });
  server.registerTool("returned", {}, (ctx) => {
    const content = acceptedContent(ctx.mcpReq.inputResponses, "who");
    if (content !== undefined) return { content: [{ type: "text", text: String(content["name"]) }] };
    return inputRequired({ inputRequests: { who: inputRequired.elicit({ message: "Who?", requestedSchema: form }) } });
  });
  const official1 = await official(server, { elicitation: {} });
  official1.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
  for (const name of ["through", "returned"]) {
    expect(await official1.callTool({ name }), name).toMatchObject({ content: [{ text: "Ada" }] });
  }
  for (const revision of ["2025-06-18", "2026-07-28"]) {
    const elicit = (): { action: "accept"; content: { name: string } } => ({
      action: "accept",
      content: { name: "Bo" },
    });
    const client = await connect(server.coreServer(), { revision, elicit });
    closing.push(() => client.close());
    expect((await client.call("through")).content, revision).toEqual([{ type: "text", text: "Bo" }]);
    expect((await client.call("extra")).content, revision).toEqual([{ type: "text", text: '{"name":"Bo"}' }]);
    expect((await client.call("returned")).content, revision).toEqual([{ type: "text", text: "Bo" }]);
  }
});

test("the constants are those of SDK v1", () => {
  expect(DEFAULT_NEGOTIATED_PROTOCOL_VERSION).toBe(sdk.DEFAULT_NEGOTIATED_PROTOCOL_VERSION);
  expect(LATEST_PROTOCOL_VERSION).toBe(sdk.LATEST_PROTOCOL_VERSION);
  const both = SUPPORTED_PROTOCOL_VERSIONS.filter((date) => sdk.SUPPORTED_PROTOCOL_VERSIONS.includes(date));
  expect(both.length).toBe(4);
  expect(both).toEqual(sdk.SUPPORTED_PROTOCOL_VERSIONS.filter((date) => both.includes(date)));
});

/** What a handler may tell its client, in the words of the SDK, and what of it arrives. */
const TOLD: Record<string, (server: McpServer, who: string) => Promise<void>> = {
  "a log message": (server, who) => server.sendLoggingMessage({ level: "info", data: who }),
  "a log message of the low-level server": (server, who) =>
    server.server.sendLoggingMessage({ level: "info", data: who }),
  "a log message by hand": (server, who) =>
    server.server.notification({ method: "notifications/message", params: { level: "info", data: who } }),
  "a notification of its own": (server, who) =>
    server.server.notification({ method: "acme/told", params: { data: who } }),
};

test.each(Object.keys(TOLD))(
  "over one server for all sessions, %s within a call is its client's alone",
  async (how) => {
    const server = named();
    server.registerTool("tell", { inputSchema: { who: z.string() } }, async ({ who }) => {
      await TOLD[how]?.(server, who);
      return { content: [] };
    });
    const people = await Promise.all(
      ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"].map(async (revision) => {
        const heard: unknown[] = [];
        const client = await connect(server.coreServer(), {
          revision,
          onLog: ({ data }) => void heard.push(data),
          onNotification: (_method, params) => void heard.push(params["data"]),
        });
        closing.push(() => client.close());
        return { revision, client, heard };
      }),
    );
    await Promise.all(
      people.map(({ revision, client }) => client.call("tell", { who: revision }, { logLevel: "info" } as object)),
    );
    await Promise.all(people.map(({ client }) => client.call("tell", { who: "again" }, {})));
    for (const { revision, heard } of people) {
      expect(heard).toContain(revision);
      expect(heard.filter((data) => data !== revision && data !== "again")).toEqual([]);
      expect(heard.length).toBeLessThanOrEqual(2);
    }
  },
);

test("a server of /compat is served by its core, and whoever forgets that is told", async () => {
  const { serveHttp, toNodeHandler } = await import("@secure-local/mcp/http");
  const { toFetch } = await import("@secure-local/mcp/fetch");
  for (const serve of [serveHttp, toNodeHandler, toFetch]) {
    const refused: unknown = await (async () => serve(named() as never))().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "BAD_SERVER", message: expect.stringContaining("server.coreServer()") });
  }
  const serving = await serveHttp(named().coreServer(), { signals: false });
  closing.push(() => serving.close());
  for (const revision of ["2024-11-05", "2026-07-28"]) await (await connect(serving.url, { revision })).close();
});

test("a schema of a few words has them, and lets no other through", () => {
  expect(LoggingLevelSchema.options).toEqual(sdk.LoggingLevelSchema.options);
  expect(RoleSchema.options).toEqual(sdk.RoleSchema.options);
  expect(LoggingLevelSchema.enum.debug).toBe("debug");
  expect(LoggingLevelSchema.parse("error")).toBe("error");
  expect(() => LoggingLevelSchema.parse("loud")).toThrow("expected one of debug, info");
  expect(LoggingLevelSchema.safeParse("loud").success).toBe(false);
  expect(LoggingLevelSchema.safeParse("info")).toEqual({ success: true, data: "info" });
  expect(RoleSchema["~standard"].validate("system")).toMatchObject({ issues: [{}] });
});
