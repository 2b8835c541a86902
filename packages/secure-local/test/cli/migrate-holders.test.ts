// `mcp-secure-local migrate --own`: wherever a source keeps its server, what is said to it is rewritten or named.
import { expect, it } from "vitest";
import { type OwnApi, toOwnApi } from "../../src/cli/migrate/own-api.js";

const IMPORTS = `import { McpServer as Sdk } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { completable as complete } from "@modelcontextprotocol/sdk/server/completable.js";
import { z } from "zod";
`;
const MADE = 'new Sdk({ name: "n", version: "1" })';

/** Where people keep a server: what stands around the words to it, and how it is called there. */
const HOLDERS: Readonly<Record<string, readonly [around: (words: string) => string, server: string]>> = {
  "a name": [(words) => `const server = ${MADE};\n${words}`, "server"],
  "a second name": [(words) => `const made = ${MADE};\nconst app = made;\n${words}`, "app"],
  "a name given later": [(words) => `let app;\nfunction use() {\n${words}\n}\napp = ${MADE};`, "app"],
  "a field": [(words) => `class Own {\n  app = ${MADE};\n  start() {\n${words}\n  }\n}`, "this.app"],
  "a private field": [(words) => `class Own {\n  #app = ${MADE};\n  start() {\n${words}\n  }\n}`, "this.#app"],
  "a field called server": [
    (words) => `class Own {\n  constructor() { this.server = ${MADE}; }\n  start() {\n${words}\n  }\n}`,
    "this.server",
  ],
  "a typed field": [(words) => `class Own {\n  private readonly app: Sdk;\n  start() {\n${words}\n  }\n}`, "this.app"],
  "a field that is given one": [
    (words) => `class Own {\n  constructor(server: Sdk) { this.app = server; }\n  start() {\n${words}\n  }\n}`,
    "this.app",
  ],
  "a member": [(words) => `const state = { app: ${MADE} };\n${words}`, "state.app"],
  "a typed parameter": [(words) => `export function add(app: Sdk) {\n${words}\n}`, "app"],
};

const TEXT = '({ content: [{ type: "text", text: "x" }] })';
const SHAPE = "{ who: z.string() }";

/** What is said to it, in the words of v1. */
const WORDS: readonly string[] = [
  `S.tool("a", async () => ${TEXT});`,
  `S.tool("a", "Says", ${SHAPE}, { readOnlyHint: true }, async ({ who }, extra) => ${TEXT});`,
  `S.registerTool("a", { inputSchema: ${SHAPE} }, async () => ${TEXT});`,
  `for (const [name, text] of [["a", "Says"]]) S.tool(name, text, async () => ${TEXT});`,
  `S.prompt("a", () => ({ messages: [] }));`,
  `S.prompt("a", { who: complete(z.string(), () => ["x"]) }, ({ who }) => ({ messages: [] }));`,
  `S.resource("a", "note://a", { mimeType: "text/plain" }, async (uri) => ({ contents: [{ uri: uri.href, text: "x" }] }));`,
  "await S.connect(new StdioServerTransport());",
  "await S.sendToolListChanged();",
  `await S.server.elicitInput({ message: "?", requestedSchema: { type: "object", properties: {} } });`,
  "S.server.oninitialized = () => undefined;",
  "await S.close();",
];

/** Words that this library does not have. */
const OF_THE_SDK =
  /register(?:Tool|Prompt|Resource)\(|\.(?:tool|prompt|resource)\((?:"a"|name), (?:"|async|text, async|\(|{ who)|\.connect\(|sendToolListChanged|elicitInput|oninitialized|\.close\(/;

const rows = Object.keys(HOLDERS).flatMap((holder) => WORDS.map((words) => [holder, words] as const));

function brought(holder: string, words: string): OwnApi & { readonly before: string } {
  const [around, server] = HOLDERS[holder] as (typeof HOLDERS)[string];
  const before = `${IMPORTS}${around(words.replaceAll("S.", () => `${server}.`)).replace(/^(\s*)await /gm, "$1void ")}\n`;
  return { ...toOwnApi(before, "server.ts"), before };
}

it.each(rows)("%s: %s", (holder, words) => {
  const { text, leftovers } = brought(holder, words);
  const lines = text.split("\n");
  const unsaid = lines.filter(
    (line, at) => OF_THE_SDK.test(line) && !leftovers.some(({ line: named }) => named === at + 1),
  );
  expect(unsaid, text).toEqual([]);
  expect(toOwnApi(text, "server.ts").leftovers.filter(({ what }) => what.includes("cannot be read"))).toEqual([]);
});

it.each(Object.keys(HOLDERS))("nothing of the SDK is imported any more where all was rewritten: %s", (holder) => {
  for (const words of WORDS.slice(0, 9).filter((each) => !each.startsWith("for"))) {
    const { text, leftovers } = brought(holder, words);
    if (!holder.startsWith("a typed") && !holder.startsWith("a field that")) expect(leftovers, words).toEqual([]);
    expect(text, words).not.toContain("@modelcontextprotocol");
  }
});

it("the low-level server of a server is none, whatever other members are called", () => {
  const { leftovers } = brought("a field called server", "void S.server.setRequestHandler(Schema, () => ({}));");
  expect(leftovers.map(({ what }) => what)).toEqual([
    expect.stringMatching(/^setRequestHandler: what is registered is served/),
  ]);
});

it("names registrations at what may be a server, and servers that are taken apart", () => {
  const source = `${IMPORTS}const server = ${MADE};
const { registerTool } = server;
const later = server.registerTool.bind(server);
export function more(app) {
  app.tool("b", "Says", async () => ${TEXT});
}
`;
  expect(toOwnApi(source, "server.js").leftovers.map(({ what }) => what)).toEqual([
    expect.stringMatching(/^registerTool: it is passed on/),
    expect.stringMatching(/^registerTool: it is passed on/),
    "tool: if this is a server of the SDK, write tool(name, { description, run })",
  ]);
});

const SDK_SERVER = "@modelcontextprotocol/sdk/server/mcp.js";

it.each([
  `const { McpServer } = await import("${SDK_SERVER}");`,
  `const { McpServer } = require("${SDK_SERVER}");`,
  `export { McpServer as Srv } from "${SDK_SERVER}";`,
  `export * from '${SDK_SERVER}';`,
  `import("${SDK_SERVER}").then(({ McpServer }) => new McpServer({ name: "a", version: "1" }));`,
])("an import that stays is named with its line: %s", (line) => {
  const { text, leftovers } = toOwnApi(`// First.\n${line}\n`, "server.js");
  expect(text).toContain(SDK_SERVER);
  expect(leftovers.map((each) => each.line)).toEqual([2]);
});
