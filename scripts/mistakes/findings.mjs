// The first twenty mistakes: each a program for ours, SDK v2 and FastMCP. `<<wrong||right>>` is the mistake and what was
// meant; `names` is a word that whoever says it has to say; `ask` is the request that runs into it (default: the tool "t").
// A library without a program has no place to make the mistake.

const NOTE = `z.object({ id: z.string() })`;
const NOTE_JSON = `{ type: "object", properties: { id: { type: "string" } }, required: ["id"] }`;
const CONFIRM = `{ type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] }`;
const ARGS = { id: "7" };
const tool = (args = {}) => ["tools/call", { name: "t", arguments: args }];

export const FROM_FINDINGS = [
  {
    what: "an argument that the schema has not",
    names: /idd/,
    ask: tool(ARGS),
    ours: `server.tool("t", { input: ${NOTE}, run: ({ <<idd||id>> }) => String(<<idd||id>>) });`,
    v2: `server.registerTool("t", { inputSchema: ${NOTE} }, ({ <<idd||id>> }) => ({ content: [{ type: "text", text: String(<<idd||id>>) }] }));`,
    fastmcp: `server.addTool({ name: "t", parameters: ${NOTE}, execute: async ({ <<idd||id>> }) => String(<<idd||id>>) });`,
  },
  {
    what: "an option with a spelling mistake",
    names: /descripton/,
    ours: `server.tool("t", { <<descripton||description>>: "d", run: () => "" });`,
    v2: `server.registerTool("t", { <<descripton||description>>: "d" }, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", <<descripton||description>>: "d", execute: async () => "" });`,
  },
  {
    what: "a server without a version",
    names: /version/,
    ours: `const server = new Server({ name: "a"<<||, version: "1">> }); server.tool("t", { run: () => "" });`,
    v2: `const server = new McpServer({ name: "a"<<||, version: "1">> }); server.registerTool("t", {}, () => ({ content: [] }));`,
    fastmcp: `const server = new FastMCP({ name: "a"<<||, version: "1.0.0">> }); server.addTool({ name: "t", execute: async () => "" });`,
  },
  {
    what: "a log level that does not exist",
    names: /warn/,
    ours: `server.tool("t", { run: async (_, ctx) => { await ctx.log("<<warn||warning>>", "x"); return ""; } });`,
    v2: `server.registerTool("t", {}, async (ctx) => { await ctx.mcpReq.log("<<warn||warning>>", "x"); return { content: [] }; });`,
    fastmcp: `server.addTool({ name: "t", execute: async (_, ctx) => { ctx.log.<<warning||warn>>("x"); return ""; } });`,
  },
  {
    what: "a form's content read without looking whether it was accepted",
    names: /content/,
    ours: `server.tool("t", { run: async (_, ctx) => { const answer = await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } }); return String(<<||answer.action === "accept" && >>answer.content.sure); } });`,
    v2: `server.registerTool("t", {}, async (ctx) => { const answer = await ctx.mcpReq.elicitInput({ message: "?", requestedSchema: ${CONFIRM} }); return { content: [{ type: "text", text: String(answer.content<<||?>>.sure) }] }; });`,
    fastmcp: `server.addTool({ name: "t", execute: async (_, ctx) => { const answer = await ctx.elicit({ message: "?", requestedSchema: ${CONFIRM} }); return String(answer.content<<||?>>.sure); } });`,
  },
  {
    what: "a field that the form has not",
    names: /certain/,
    ours: `server.tool("t", { run: async (_, ctx) => { const answer = await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } }); return String(answer.action === "accept" && answer.content.<<certain||sure>>); } });`,
    v2: `server.registerTool("t", {}, async (ctx) => { const answer = await ctx.mcpReq.elicitInput({ message: "?", requestedSchema: ${CONFIRM} }); return { content: [{ type: "text", text: String(answer.content?.<<certain||sure>>) }] }; });`,
    fastmcp: `server.addTool({ name: "t", execute: async (_, ctx) => { const answer = await ctx.elicit({ message: "?", requestedSchema: ${CONFIRM} }); return String(answer.content?.<<certain||sure>>); } });`,
  },
  {
    what: "an optional argument of a prompt used as if it were there",
    names: /undefined/,
    ask: ["prompts/get", { name: "p", arguments: {} }],
    ours: `server.prompt("p", { arguments: { who: {} }, run: ({ who }) => <<who||who ?? "you">>.toUpperCase() });`,
    v2: `server.registerPrompt("p", { argsSchema: z.object({ who: z.string().optional() }) }, ({ who }) => ({ messages: [{ role: "user", content: { type: "text", text: (<<who||who ?? "you">>).toUpperCase() } }] }));`,
    fastmcp: `server.addPrompt({ name: "p", arguments: [{ name: "who", required: false }], load: async ({ who }) => (<<who||who ?? "you">>).toUpperCase() });`,
  },
  {
    what: "a role of a prompt's message that does not exist",
    names: /system|role/,
    ask: ["prompts/get", { name: "p", arguments: {} }],
    ours: `server.prompt("p", { run: () => [{ role: "<<system||user>>", content: "hi" }] });`,
    v2: `server.registerPrompt("p", {}, () => ({ messages: [{ role: "<<system||user>>", content: { type: "text", text: "hi" } }] }));`,
    fastmcp: `server.addPrompt({ name: "p", load: async () => ({ messages: [{ role: "<<system||user>>", content: { type: "text", text: "hi" } }] }) });`,
  },
  {
    what: "a question that is not awaited",
    names: /Promise|action/,
    ours: `server.tool("t", { run: async (_, ctx) => { const answer = <<||await >>ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } }); return answer.action; } });`,
    v2: `server.registerTool("t", {}, async (ctx) => { const answer = <<||await >>ctx.mcpReq.elicitInput({ message: "?", requestedSchema: ${CONFIRM} }); return { content: [{ type: "text", text: answer.action }] }; });`,
    fastmcp: `server.addTool({ name: "t", execute: async (_, ctx) => { const answer = <<||await >>ctx.elicit({ message: "?", requestedSchema: ${CONFIRM} }); return answer.action; } });`,
  },
  {
    what: "an argument taken for another type, its schema written in place",
    names: /toFixed/,
    ask: tool(ARGS),
    ours: `server.tool("t", { input: ${NOTE_JSON}, run: ({ id }) => id.<<toFixed(2)||toUpperCase()>> });`,
    v2: `server.registerTool("t", { inputSchema: fromJsonSchema<{ id: string }>(${NOTE_JSON}) }, ({ id }) => ({ content: [{ type: "text", text: id.<<toFixed(2)||toUpperCase()>> }] }));`,
    fastmcp: `server.addTool({ name: "t", parameters: jsonSchemaAdapter(${NOTE_JSON}), execute: async (args) => (args as { id: <<number||string>> }).id.<<toFixed(2)||toUpperCase()>> });`,
  },
  {
    what: "a result that lacks a member of the output schema",
    names: /\btitle\b/,
    ours: `server.tool("t", { output: z.object({ id: z.string(), title: z.string() }), run: () => ({ id: "7"<<||, title: "x">> }) });`,
    v2: `server.registerTool("t", { outputSchema: z.object({ id: z.string(), title: z.string() }) }, () => ({ content: [], structuredContent: { id: "7"<<||, title: "x">> } }));`,
    fastmcp: `server.addTool({ name: "t", outputSchema: z.object({ id: z.string(), title: z.string() }), execute: async () => ({ content: [], structuredContent: { id: "7"<<||, title: "x">> } }) });`,
  },
  {
    what: "a result with a member of another type",
    names: /number|\bid\b/,
    ours: `server.tool("t", { output: ${NOTE}, run: () => ({ id: <<7||"7">> }) });`,
    v2: `server.registerTool("t", { outputSchema: ${NOTE} }, () => ({ content: [], structuredContent: { id: <<7||"7">> } }));`,
    fastmcp: `server.addTool({ name: "t", outputSchema: ${NOTE}, execute: async () => ({ content: [], structuredContent: { id: <<7||"7">> } }) });`,
  },
  {
    what: "a variable that the template has not",
    names: /idd/,
    ask: ["resources/read", { uri: "note://7" }],
    ours: `server.resourceTemplate("note://{id}", { read: (_, { <<idd||id>> }) => String(<<idd||id>>) });`,
    v2: `server.registerResource("n", new ResourceTemplate("note://{id}", { list: undefined }), {}, (uri, { <<idd||id>> }) => ({ contents: [{ uri: uri.href, text: String(<<idd||id>>) }] }));`,
    fastmcp: `server.addResourceTemplate({ name: "n", uriTemplate: "note://{id}", mimeType: "text/plain", arguments: [{ name: "id", required: true }] as const, load: async ({ <<idd||id>> }) => ({ text: String(<<idd||id>>) }) });`,
  },
  {
    what: "a completer for a variable that the template has not",
    names: /idd/,
    ask: [
      "completion/complete",
      { ref: { type: "ref/resource", uri: "note://{id}" }, argument: { name: "id", value: "" } },
    ],
    ours: `server.resourceTemplate("note://{id}", { complete: { <<idd||id>>: ["7"] }, read: () => "" });`,
    v2: `server.registerResource("n", new ResourceTemplate("note://{id}", { list: undefined, complete: { <<idd||id>>: () => ["7"] } }), {}, (uri) => ({ contents: [{ uri: uri.href, text: "" }] }));`,
    fastmcp: `server.addResourceTemplate({ name: "n", uriTemplate: "note://{id}", arguments: [{ name: "<<idd||id>>", required: true, complete: async () => ({ values: ["7"] }) }], load: async () => ({ text: "" }) });`,
  },
  {
    what: "a type that JSON Schema has not",
    names: /strnig/,
    ask: tool(ARGS),
    ours: `server.tool("t", { input: { type: "object", properties: { id: { type: "<<strnig||string>>" } } }, run: () => "" });`,
    v2: `server.registerTool("t", { inputSchema: fromJsonSchema<{ id: string }>({ type: "object", properties: { id: { type: "<<strnig||string>>" } } }) }, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", parameters: jsonSchemaAdapter({ type: "object", properties: { id: { type: "<<strnig||string>>" } } }), execute: async () => "" });`,
  },
  {
    what: "arguments that are no object",
    names: /object|input/i,
    ours: `server.tool("t", { input: <<z.string()||z.object({})>>, run: () => "" });`,
    v2: `server.registerTool("t", { inputSchema: <<z.string()||z.object({})>> }, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", parameters: <<z.string()||z.object({})>>, execute: async () => "" });`,
  },
  {
    what: "a result in the form that other libraries want",
    names: /result|string|content|toolUse|type/i,
    ours: `server.tool("t", { run: () => <<({ content: [{ type: "text", text: "hi" }] })||"hi">> });`,
    v2: `server.registerTool("t", {}, () => <<"hi"||({ content: [{ type: "text", text: "hi" }] })>>);`,
    fastmcp: `server.addTool({ name: "t", execute: async () => <<[{ type: "text", text: "hi" }]||"hi">> });`,
  },
  {
    what: "the names of another SDK",
    names: /inputSchema|execute|run\b|\binput\b|parameters/,
    ask: tool(ARGS),
    ours: `server.tool("t", { <<inputSchema||input>>: ${NOTE}, <<execute||run>>: () => "" });`,
    v2: `server.registerTool("t", { <<input||inputSchema>>: ${NOTE} }, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", <<inputSchema||parameters>>: ${NOTE}, <<run||execute>>: async () => "" });`,
  },
  {
    what: "a required member that the schema does not describe",
    names: /idd/,
    ask: tool(ARGS),
    ours: `server.tool("t", { input: { type: "object", properties: { id: { type: "string" } }, required: ["<<idd||id>>"] }, run: () => "" });`,
    v2: `server.registerTool("t", { inputSchema: fromJsonSchema<{ id: string }>({ type: "object", properties: { id: { type: "string" } }, required: ["<<idd||id>>"] }) }, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", parameters: jsonSchemaAdapter({ type: "object", properties: { id: { type: "string" } }, required: ["<<idd||id>>"] }), execute: async () => "" });`,
  },
  {
    what: "the same tool twice",
    names: /already|twice|duplicate/i,
    ours: `server.tool("t", { run: () => "" }); server.tool("<<t||u>>", { run: () => "" });`,
    v2: `server.registerTool("t", {}, () => ({ content: [] })); server.registerTool("<<t||u>>", {}, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", execute: async () => "" }); server.addTool({ name: "<<t||u>>", execute: async () => "" });`,
  },
];
