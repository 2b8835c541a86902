// `mcp-secure-local migrate --own`: a server of the official SDK, rewritten to our API, gives the answers it gave before.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { connect } from "@secure-local/mcp/client/node";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { toOwnApi } from "../../src/cli/migrate/own-api.js";
import { runQuickly } from "./command-in-thread.js";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../../..");

/** One of each: registrations of both versions, raw shapes and schemas, handlers here and elsewhere, a question, progress. */
const SERVER = `#!/usr/bin/env node
// A server.
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const server = new McpServer({ name: "brought", version: "1.0.0" }, { capabilities: { logging: {} }, instructions: "Ask." });
const shape = { a: z.number(), b: z.number() };
const sum = { title: "Sum", inputSchema: shape, outputSchema: { sum: z.number() } };
server.registerTool("sum", sum, async ({ a, b }) => {
  const result = { sum: a + b };
  return { content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result };
});
server.registerTool("echo", { description: "Says it", inputSchema: { text: z.string() } }, ({ text }) => ({
  content: [{ type: "text", text }],
}));
server.registerTool("fail", {}, () => {
  throw new Error("No such thing");
});
server.registerTool("steps", { inputSchema: z.object({ n: z.number() }) }, async ({ n }, extra) => {
  for (let i = 1; i <= n; i++) {
    await extra.sendNotification({
      method: "notifications/progress",
      params: { progressToken: extra._meta?.progressToken ?? 0, progress: i, total: n },
    });
  }
  return n > 2 ? { content: [{ type: "text", text: "many" }] } : { content: [{ type: "text", text: "few" }], isError: true };
});
server.registerTool("ask", { inputSchema: {} }, async (_args, extra) => {
  const answer = await extra.sendRequest(
    {
      method: "elicitation/create",
      params: {
        message: "Who?",
        requestedSchema: { type: "object", properties: { name: { type: "string" }, age: { type: "number" } }, required: ["name"] },
      },
    },
    ElicitResultSchema,
  );
  return { content: [{ type: "text", text: \`\${answer.action} \${answer.content?.name}\` }] };
});
async function readPage() {
  return { content: [{ type: "text", text: "page" }] };
}
const again = readPage;
server.tool("page", "Reads a page", async () => readPage());
server.tool("older", "An older one", { word: z.string() }, { readOnlyHint: true }, async ({ word }) => {
  return { content: [{ type: "text", text: word.toUpperCase() }, { type: "text", text: "!" }] };
});
server.tool("waiting", async (extra) => ({ content: [{ type: "text", text: String(extra.signal.aborted) }] }));
server.registerTool("elsewhere", { description: "d" }, again);
server.registerResource("readme", "notes://readme", { mimeType: "text/markdown" }, async (uri) => ({
  contents: [{ uri: uri.href, mimeType: "text/markdown", text: uri.protocol }],
}));
server.registerResource(
  "note",
  new ResourceTemplate("notes://{id}", {
    list: async () => ({ resources: [{ uri: "notes://1", name: "one" }] }),
    complete: { id: () => ["1", "2"] },
  }),
  { title: "A note" },
  async (uri, { id }) => {
    return { contents: [{ uri: uri.href, text: \`note \${id}\` }] };
  },
);
server.registerPrompt(
  "greet",
  {
    description: "Greets",
    argsSchema: {
      name: z.string().describe("Whom"),
      tone: completable(z.string().optional(), (value) => ["warm", "cold"].filter((each) => each.startsWith(value ?? ""))),
    },
  },
  ({ name, tone }) => ({ messages: [{ role: "user", content: { type: "text", text: \`\${name} \${tone}\` } }] }),
);
const transport = new StdioServerTransport();
await server.connect(transport);
`;

async function answersOf(path: string): Promise<unknown[]> {
  const elicit = (): object => ({ action: "accept", content: { name: "Ada" } });
  const options = { revision: "2025-11-25", elicit: elicit as never } as const;
  const client = await connect({ command: process.execPath, args: [path] }, options);
  const steps: unknown[] = [];
  const answers: unknown[] = [
    client.instructions,
    (await client.tools().all()).map((tool) => ({ ...tool, execution: 0 })),
  ];
  answers.push(await client.resourceTemplates().all(), await client.prompts().all());
  const calls: readonly (readonly [string, Record<string, unknown>])[] = [
    ["sum", { a: 1, b: 2 }],
    ["echo", { text: "hi" }],
    ["fail", {}],
    ["steps", { n: 3 }],
    ["steps", { n: 1 }],
    ["ask", {}],
    ["page", {}],
    ["older", { word: "up" }],
    ["waiting", {}],
    ["elsewhere", {}],
  ];
  for (const [name, args] of calls) {
    const { isError = false, ...answer } = await client.call(name, args, {
      onProgress: (report) => steps.push(report),
    });
    answers.push([name, isError, answer]);
  }
  answers.push(steps, (await client.read("notes://readme")).contents, (await client.read("notes://2")).contents);
  answers.push((await client.prompt("greet", { name: "Ada", tone: "warm" })).messages);
  answers.push((await client.complete({ type: "ref/prompt", name: "greet" }, { name: "tone", value: "w" })).values);
  answers.push((await client.resources().all()).map(({ uri }) => uri).sort());
  await client.close();
  return answers;
}

/** What two servers may say in other words: what stands in a schema for nothing. */
function plain(value: unknown): unknown {
  const said = JSON.stringify(value, (key, each: unknown) => {
    if (key === "$schema" || key === "_meta" || key === "execution") return undefined;
    if (key === "additionalProperties" && each === false) return undefined;
    return (key === "properties" || key === "required") && Object.keys(Object(each)).length === 0 ? undefined : each;
  });
  return JSON.parse(said);
}

function projectOf(name: string, source: string): { readonly folder: string; readonly path: string } {
  const folder = join(temporaryFolder(), "server");
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  for (const each of ["@secure-local", "@modelcontextprotocol", "zod"])
    symlinkSync(join(ROOT, "node_modules", each), join(folder, "node_modules", each));
  writeFileSync(join(folder, name), source);
  return { folder, path: join(folder, name) };
}

it("gives the answers of before", async () => {
  const { folder, path } = projectOf("server.mjs", SERVER);
  const before = await answersOf(path);
  const ran = await runQuickly(["migrate", "--own", folder], { home: dirname(folder) });
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  expect(readFileSync(path, "utf8")).not.toContain("@modelcontextprotocol");
  expect(plain(await answersOf(path))).toEqual(plain(before));
}, 60_000);

/** Lines of a source that came of a line, beside the imports. */
function lines(source: string, path = "a.ts"): readonly string[] {
  return toOwnApi(source, path)
    .text.split("\n")
    .filter((line) => line.trim() !== "");
}

it("takes the types of the SDK away, and keeps those of the author", () => {
  const source = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
export function add(server: McpServer, private_: Map<string, number>): void {
  server.registerTool("a", { inputSchema: { n: z.number() } }, async ({ n }: { n: number }, extra): Promise<CallToolResult> => {
    const found = private_.get(String(n))!;
    return { content: [{ type: "text", text: \`\${found}\` }] } as CallToolResult;
  });
}
`;
  expect(lines(source)).toEqual([
    'import { Server } from "@secure-local/mcp/server";',
    'import { z } from "zod";',
    "export function add(server: Server, private_: Map<string, number>): void {",
    '  server.tool("a", { input: z.object({ n: z.number() }), run: async ({ n }: { n: number }, extra) => {',
    "    const found = private_.get(String(n))!;",
    "    return `${found}`;",
    "  } });",
    "}",
  ]);
  expect(toOwnApi(source, "a.ts").leftovers).toEqual([]);
});

it("reads sources whose types are more than types", () => {
  const source = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
enum Color { Red = "red" }
class Store { constructor(private readonly path: string, public n = 1) {} }
const server = new McpServer({ name: "a", version: "1" });
const list = <string[]>(JSON.parse("[]"));
`;
  expect(lines(source).slice(1, 4)).toEqual([
    'enum Color { Red = "red" }',
    "class Store { constructor(private readonly path: string, public n = 1) {} }",
    'const server = new Server({ name: "a", version: "1" });',
  ]);
});

it("reads values behind a type in angle brackets wherever a value may begin, and nothing else as one", () => {
  const source = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
class Both { constructor(readonly a: number, private c: string, protected override b = (1)) {} }
export const enum Level { Low, High }
const server = new McpServer({ name: "a", version: "1" });
const less = 1 < 2, more = [(<number>less), Math.max(1 > 2 ? <any>(4) : 5, <number>six)];
function one(): Map<string, Map<string, number>> { return <Map<string, Map<string, number>>>made; }
`;
  expect(lines(source).slice(1)).toEqual(
    source
      .split("\n")
      .slice(1, -1)
      .map((line) => line.replace("new McpServer(", "new Server(")),
  );
  for (const bomb of [",<a", "constructor(", "enum a{\n", "\r", "=<a> "]) {
    const started = performance.now();
    expect(toOwnApi(`${source}/* ${bomb.repeat(50_000)} */`, "a.ts").text).toContain("new Server(");
    expect(performance.now() - started, bomb).toBeLessThan(3_000);
  }
});

it("writes what SDK v2 calls a handler's context in our words", () => {
  const source = `import { McpServer } from "@modelcontextprotocol/server";
const server = new McpServer({ name: "a", version: "1" });
server.registerTool("t", { inputSchema: Input }, async (args, ctx) => {
  await ctx.mcpReq.log("info", "started");
  const said = await ctx.mcpReq.requestSampling({ messages: [], maxTokens: 1 });
  const tenant = ctx.requestInfo?.headers["x-tenant"];
  await ctx.mcpReq.notify({ method: "acme/step", params: { at: ctx.mcpReq.id } });
  return other(args, said, tenant);
});
`;
  const { text, leftovers } = toOwnApi(source, "a.mjs");
  expect(text.split("\n").slice(3, 8)).toEqual([
    '  await ctx.log("info", "started");',
    "  const said = await ctx.sample({ messages: [], maxTokens: 1 });",
    '  const tenant = ctx.header("x-tenant");',
    '  await ctx.notify("acme/step", { at: ctx.requestId });',
    "  return result(await other(args, said, tenant));",
  ]);
  expect(leftovers).toEqual([{ line: 3, what: "Input: if it is a list of schemas by name, write z.object(Input)" }]);
});

it("says with the line of the new source what it leaves", () => {
  const source = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { SubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
const server = new McpServer({ name: "a", version: "1" });
server.registerTool("t", described, run);
server.server.oninitialized = () => undefined;
server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
function helper() {
  throw new Error("for the model");
}
server.registerTool("u", {}, (extra) => ({ content: [{ type: "text", text: helper(extra.authInfo) }] }));
await server.connect(new StreamableHTTPServerTransport({}));
`;
  const { text, leftovers } = toOwnApi(source, "a.js");
  const left = leftovers.map(({ line, what }) => [text.split("\n")[line - 1]?.trim().slice(0, 34), what.slice(0, 34)]);
  expect(left).toEqual([
    ["import { StreamableHTTPServerTrans", "StreamableHTTPServerTransport: ser"],
    ["import { SubscribeRequestSchema } ", "SubscribeRequestSchema: what is re"],
    ['server.registerTool("t", described', "what is registered is described el"],
    ["server.server.oninitialized = () =", "oninitialized: new Server({ onSess"],
    ["server.server.setRequestHandler(Su", "setRequestHandler: what is registe"],
    ['throw new Error("for the model");', "models do not read this error any "],
    ['server.tool("u", { run: (_, extra)', "who is asking is ctx.identity: { p"],
    ["await server.connect(new Streamabl", "serveHttp(server) or toNodeHandler"],
  ]);
});

it("leaves a source that it cannot read, and says why", () => {
  const source = 'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\nconst = 1;\n';
  for (const path of ["a.ts", "a.js"]) {
    const { text, leftovers } = toOwnApi(source, path);
    expect(text).toBe(source);
    expect(leftovers[0]?.what).toContain("cannot be read");
  }
});

it("finds the SDK's names whatever signs stand in the names they have here", () => {
  const { text } = toOwnApi(
    `import { McpServer as $Mcp$ } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SubscribeRequestSchema as $sub } from "@modelcontextprotocol/sdk/types.js";
export const schema = $sub;
export function more(given: $Mcp$): void {
  given.tool("one", async () => ({ content: [{ type: "text", text: "1" }] }));
}
export type Held = Map<string, $Mcp$>;
`,
    "a.ts",
  );
  expect(text.split("\n").slice(0, -1)).toEqual([
    'import { SubscribeRequestSchema as $sub } from "@modelcontextprotocol/sdk/types.js";',
    'import { Server } from "@secure-local/mcp/server";',
    "export const schema = $sub;",
    "export function more(given: Server): void {",
    '  given.tool("one", { run: async () => ("1") });',
    "}",
    "export type Held = Map<string, Server>;",
  ]);
});

/** What becomes of a handler that takes its second argument in this way, and what is said of it. */
function asSecond(param: string, body = "String(1)"): { readonly written: string; readonly left: readonly string[] } {
  const source = `import { McpServer } from "@modelcontextprotocol/server";
const server = new McpServer({ name: "a", version: "1" });
server.registerTool("t", {}, async (${param}) => ({ content: [{ type: "text", text: ${body} }] }));
`;
  const { text, leftovers } = toOwnApi(source, "a.mjs");
  return { written: /run: async \((.*)\) =>/.exec(text)?.[1] ?? text, left: leftovers.map(({ what }) => what) };
}

it.each([
  ["{ _meta }", "_, { meta: _meta }"],
  ["{ _meta = {} }", "_, { meta: _meta = {} }"],
  ["{ _meta: said }", "_, { meta: said }"],
  ['{ "_meta": said = {} }', "_, { meta: said = {} }"],
  ["{ _meta: { progressToken } = {} }", "_, { meta: { progressToken } = {} }"],
  ["{ signal, requestId }", "_, { signal, requestId }"],
  ["{ signal: stop }", "_, { signal: stop }"],
  ["{ mcpReq: { id, _meta, signal } }", "_, { requestId: id, meta: _meta, signal }"],
  ["{ mcpReq: { id: call } }", "_, { requestId: call }"],
  ["{ _meta } = {}", "_, { meta: _meta } = {}"],
])("takes %s apart as the body names it", (param, expected) => {
  expect(asSecond(param, "String(_meta?.progressToken)")).toEqual({ written: expected, left: [] });
});

it.each([
  ["{ sendNotification }", "ctx.notify(method, params)"],
  ["{ sendRequest }", "ctx.elicit(...)"],
  ["{ sessionId }", "ctx.session?.id"],
  ["{ authInfo }", "ctx.identity"],
  ["{ authInfo: { token } }", "ctx.identity"],
  ["{ signal, ...rest }", "by name"],
  ["{ [name]: value }", "not a member"],
  ["{ mcpReq: { send, signal } }", "ctx.elicit(...)"],
  ["{ mcpReq: {} }", "leave it out"],
  ["...given", "a name of its own"],
])("says of %s what is left", (param, said) => {
  expect(asSecond(param).left).toEqual([expect.stringContaining(said)]);
});

it("says that a handler reads its arguments without names", () => {
  const source = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
const server = new McpServer({ name: "a", version: "1" });
server.registerTool("t", {}, function () { return { content: [{ type: "text", text: String(arguments[0]._meta) }] }; });
`;
  expect(toOwnApi(source, "a.mjs").leftovers).toEqual([
    { line: 3, what: expect.stringContaining("a name of its own") as string },
  ]);
});

it.each(["^3.23.8", "3", "~3.25.0 || ^3.22"])("says that zod %s is not enough", async (zod) => {
  const { folder } = projectOf("server.mjs", SERVER);
  writeFileSync(join(dirname(folder), "package.json"), JSON.stringify({ dependencies: { zod } }));
  const ran = await runQuickly(["migrate", "--own", folder], { home: dirname(folder) });
  expect([ran.code, ran.stdout]).toEqual([
    1,
    expect.stringContaining(`package.json asks for zod ${zod}: npm install zod@4`),
  ]);
});

it.each(["^4.0.0", "^3.25.0 || ^4.0.0", "latest", ">=3.25"])("says nothing of zod %s", async (zod) => {
  const { folder } = projectOf("server.mjs", SERVER);
  writeFileSync(join(dirname(folder), "package.json"), JSON.stringify({ dependencies: { zod } }));
  expect(await runQuickly(["migrate", "--own", folder], { home: dirname(folder) })).toMatchObject({ code: 0 });
});

/** A server of v1 with this in it, as it becomes and with what is left. */
function becomes(code: string): { readonly written: readonly string[]; readonly left: readonly string[] } {
  const source = `import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
const server = new McpServer({ name: "a", version: "1" });
${code}
`;
  const { text, leftovers } = toOwnApi(source, "a.mjs");
  return { written: text.trimEnd().split("\n").slice(2), left: leftovers.map(({ what }) => what) };
}

it("waits for no promise of what gives none back", () => {
  expect(becomes('server.server.sendResourceUpdated({ uri: "a:b" }).catch(() => undefined);').written).toEqual([
    'server.resourceUpdated("a:b");',
  ]);
  expect(becomes("server.sendToolListChanged().catch(console.error);").written).toEqual([
    'server.listChanged("tools");',
  ]);
  const { written, left } = becomes('server.server.sendResourceUpdated({ uri: "a:b" }).then(done);');
  expect(written[0]).toContain("sendResourceUpdated");
  expect(left[0]).toContain('server.resourceUpdated("a:b") gives back no promise: write what stands in then(...)');
  expect(becomes("if (server.isConnected()) go();").left[0]).toContain("isConnected: server.sessions().length > 0");
});

it.each([
  ["async () => ({ resources: all })", "list: async () => all,"],
  ["() => ({ resources: [{ uri: 'n://1' }] })", "list: () => [{ uri: 'n://1' }],"],
  ["async () => { return found; }", "list: async () => (await (async () => { return found; })()).resources,"],
  ["async (extra) => found(extra)", "list: async (ctx) => (await (async (extra) => found(extra))(ctx)).resources,"],
])("lists what a template lists: %s", (list, expected) => {
  const code = `server.registerResource("n", new ResourceTemplate("n://{id}", { list: ${list} }), {}, async (uri) => read(uri));`;
  expect(becomes(code).written.join("\n")).toContain(expected);
});

it("names the place of a method of one's own", () => {
  const own = 'server.method("inventory/stats", (params, ctx) => ...) serves a method of your own';
  const handler = "async () => ({ n: 1 })";
  for (const code of [
    `server.server.setRequestHandler(z.object({ method: z.literal("inventory/stats") }), ${handler});`,
    `const Stats = z.object({ method: z.literal("inventory/stats") });\nserver.server.setRequestHandler(Stats, ${handler});`,
  ]) {
    expect(becomes(code).left).toEqual([`setRequestHandler: ${own}`]);
  }
  const listed = "server.server.setRequestHandler(z.object({ method: z.literal('tools/list') }), handler);";
  expect(becomes(listed).left[0]).toContain("what is registered is served by itself");
});

it("says again what was left, and what a file does with a server of another", async () => {
  const { folder, path } = projectOf(
    "server.mjs",
    `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
export const server = new McpServer({ name: "a", version: "1" });
export function createServer() {
  return new McpServer({ name: "b", version: "1" });
}
server.server.setRequestHandler(z.object({ method: z.literal("inventory/stats") }), async () => ({}));
`,
  );
  const main = `import { createServer, server } from "./server.mjs";
import { server as web } from "./web.mjs";
await createServer().connect(transport);
process.on("SIGINT", () => server.close());
web.close();
`;
  writeFileSync(join(folder, "main.mjs"), main);
  writeFileSync(
    join(folder, "web.mjs"),
    'import { createServer } from "node:http";\nexport const server = createServer();\n',
  );
  const run = (): ReturnType<typeof runQuickly> => runQuickly(["migrate", "--own", folder], { home: dirname(folder) });
  const [first, second] = [await run(), await run()];
  for (const { code, stdout } of [first, second]) {
    expect(code).toBe(1);
    expect(stdout).toContain("main.mjs: 0 places rewritten");
    expect(stdout).toMatch(/line 3 is left to you: serveHttp\(server\)/);
    expect(stdout).toMatch(/line 4 is left to you: close: serveStdio/);
    expect(stdout).not.toContain("line 5 is left");
    expect(stdout).toContain('setRequestHandler: server.method("inventory/stats"');
  }
  expect(readFileSync(join(folder, "main.mjs"), "utf8")).toBe(main);
  expect(readFileSync(path, "utf8")).toContain("new Server(");
});

/** Handlers as people write them, and the name of what each is given to log by. */
const HANDLERS: readonly (readonly [kind: "tool" | "bare" | "prompt", written: string, context: string])[] = [
  ["tool", "async () => { LOG; return done; }", "ctx"],
  ["tool", "async ({ who }) => { LOG; return done; }", "ctx"],
  ["tool", "async ({ who }: { who: string }) => { LOG; return done; }", "ctx"],
  ["tool", "async args => { LOG; return done; }", "ctx"],
  ["tool", "async (args, extra) => { LOG; return done; }", "extra"],
  ["tool", "async function ({ who }) { LOG; return done; }", "ctx"],
  ["tool", "async function () { LOG; return done; }", "ctx"],
  ["tool", "async ({ who }) => { if (who) { [1].forEach(async () => { LOG; }); } LOG; return done; }", "ctx"],
  ["tool", "async ({ who }) => { const ctx = who; LOG; return done; }", "context"],
  ["bare", "async () => { LOG; return done; }", "ctx"],
  ["bare", "async (extra) => { LOG; return done; }", "extra"],
  ["bare", "async extra => { LOG; return done; }", "extra"],
  ["prompt", "async ({ who }) => { LOG; return filled; }", "ctx"],
  ["prompt", "async () => { LOG; return filled; }", "ctx"],
];
const LOGS = [
  'await server.sendLoggingMessage({ level: "info", data: "paid" })',
  'await server.server.sendLoggingMessage({ level: "info", data: "paid" })',
  'server.sendLoggingMessage({ data: "paid", level: "info" }).catch(() => undefined)',
];

it.each(HANDLERS.flatMap(([kind, written, context]) => LOGS.map((log) => [kind, written, context, log] as const)))(
  "what a handler logs is for its caller: %s %s by %s: %s",
  (kind, written, context, log) => {
    const shape = {
      tool: "{ inputSchema: { who: z.string() } }",
      bare: "{}",
      prompt: "{ argsSchema: { who: z.string() } }",
    };
    const call = `server.${kind === "prompt" ? "registerPrompt" : "registerTool"}("pay", ${shape[kind]}, `;
    const source = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
const server = new McpServer({ name: "n", version: "1" });
server.sendLoggingMessage({ level: "info", data: "to all" });
${call}${written.replaceAll("LOG", () => log)});`;
    const { text } = toOwnApi(source, "server.ts");
    expect(text.match(/server\.log\([^)]*\)/g)).toEqual(['server.log("info", "to all")']);
    expect(text.split(`${context}.log("info", "paid")`).length).toBe(written.split("LOG").length);
    expect(text).toMatch(new RegExp(`run: async (?:function )?\\([^)]*, ${context}\\)`));
    // What came out can be read again.
    expect(toOwnApi(text, "server.ts").leftovers.filter(({ what }) => what.includes("cannot be read"))).toEqual([]);
  },
);

it("says so where a handler cannot be given what it logs by", () => {
  const source = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
const server = new McpServer({ name: "n", version: "1" });
server.registerTool("pay", {}, async (...all) => { await server.sendLoggingMessage({ level: "info", data: "paid" }); return done; });
server.registerTool("ask", { inputSchema }, async ({ a }, { sendNotification }) => { await server.sendLoggingMessage({ level: "info", data: "paid" }); return done; });`;
  const { leftovers } = toOwnApi(source, "server.ts");
  expect(
    leftovers.filter(({ what }) => what.includes("server.log tells every session")).map(({ line }) => line),
  ).toEqual([3, 4]);
});
