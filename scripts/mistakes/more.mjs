// Twenty more mistakes; `findings.mjs` says how they are written.

const NOTE = `z.object({ id: z.string() })`;
const ARGS = { id: "7" };
const tool = (args = {}) => ["tools/call", { name: "t", arguments: args }];
/** The smallest PNG there is. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

export const MORE = [
  {
    what: "a tool without its function",
    names: /\brun\b|callback|handler|execute|argument/i,
    ours: `server.tool("t", { description: "d"<<||, run: () => "">> });`,
    v2: `server.registerTool("t", { description: "d" }<<||, () => ({ content: [] })>>);`,
    fastmcp: `server.addTool({ name: "t", description: "d"<<||, execute: async () => "">> });`,
  },
  {
    what: "a list of zod schemas as arguments",
    names: /z\.object|input|parameters|standard|schema/i,
    ask: tool(ARGS),
    ours: `server.tool("t", { input: <<{ id: z.string() }||${NOTE}>>, run: () => "" });`,
    fastmcp: `server.addTool({ name: "t", parameters: <<{ id: z.string() }||${NOTE}>>, execute: async () => "" });`,
  },
  {
    what: "a list of zod schemas as output",
    names: /z\.object|output|standard|schema/i,
    ours: `server.tool("t", { output: <<{ id: z.string() }||${NOTE}>>, run: () => ({ id: "7" }) });`,
    fastmcp: `server.addTool({ name: "t", outputSchema: <<{ id: z.string() }||${NOTE}>>, execute: async () => ({ content: [], structuredContent: { id: "7" } }) });`,
  },
  {
    what: "a registration in the words of SDK v1",
    names: /one object|argument|registerTool|inputSchema|tool\b/i,
    ours: `server.tool("t", <<"says hi", () => ""||{ description: "says hi", run: () => "" }>>);`,
    v2: `server.<<tool("t", "says hi", ||registerTool("t", { description: "says hi" }, >>() => ({ content: [] }));`,
    fastmcp: `server.addTool(<<"t", { execute: async () => "" }||{ name: "t", execute: async () => "" }>>);`,
  },
  {
    what: "a name that clients refuse",
    names: /name/i,
    ours: `server.tool("t", { run: () => "" }); server.tool("<<say hello!||u>>", { run: () => "" });`,
    v2: `server.registerTool("t", {}, () => ({ content: [] })); server.registerTool("<<say hello!||u>>", {}, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", execute: async () => "" }); server.addTool({ name: "<<say hello!||u>>", execute: async () => "" });`,
  },
  {
    what: "a pattern that is no regular expression",
    names: /pattern|regular expression|regex/i,
    ask: tool(ARGS),
    ours: `server.tool("t", { input: { type: "object", properties: { id: { type: "string", pattern: "<<(||7>>" } } }, run: () => "" });`,
    v2: `server.registerTool("t", { inputSchema: fromJsonSchema<{ id: string }>({ type: "object", properties: { id: { type: "string", pattern: "<<(||7>>" } } }) }, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", parameters: jsonSchemaAdapter({ type: "object", properties: { id: { type: "string", pattern: "<<(||7>>" } } }), execute: async () => "" });`,
  },
  {
    what: "a keyword of JSON Schema with a spelling mistake",
    names: /minimun/,
    ask: tool({ n: 3 }),
    ours: `server.tool("t", { input: { type: "object", properties: { n: { type: "number", <<minimun||minimum>>: 1 } } }, run: () => "" });`,
    v2: `server.registerTool("t", { inputSchema: fromJsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number", <<minimun||minimum>>: 1 } } }) }, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", parameters: jsonSchemaAdapter({ type: "object", properties: { n: { type: "number", <<minimun||minimum>>: 1 } } }), execute: async () => "" });`,
  },
  {
    what: "a default that its own schema refuses",
    names: /default/,
    ask: tool({}),
    ours: `server.tool("t", { input: { type: "object", properties: { n: { type: "integer", default: <<"ten"||10>> } } }, run: () => "" });`,
    v2: `server.registerTool("t", { inputSchema: fromJsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "integer", default: <<"ten"||10>> } } }) }, () => ({ content: [] }));`,
    fastmcp: `server.addTool({ name: "t", parameters: jsonSchemaAdapter({ type: "object", properties: { n: { type: "integer", default: <<"ten"||10>> } } }), execute: async () => "" });`,
  },
  {
    what: "a Map returned, its keys numbers",
    names: /Map/,
    ours: `server.tool("t", { run: () => <<new Map([[1, 1]])||({ a: 1 })>> });`,
    v2: `server.registerTool("t", {}, () => ({ content: [], structuredContent: <<new Map([[1, 1]])||{ a: 1 }>> }));`,
    fastmcp: `server.addTool({ name: "t", execute: async () => ({ content: [], structuredContent: <<new Map([[1, 1]])||{ a: 1 }>> }) });`,
  },
  {
    what: "the answer of fetch returned, unread",
    names: /Response|json\(\)/,
    ours: `server.tool("t", { run: async () => { const answer = new Response("hi"); return <<answer||await answer.text()>>; } });`,
    v2: `server.registerTool("t", {}, async () => { const answer = new Response("hi"); return <<{ content: [], structuredContent: answer }||{ content: [{ type: "text", text: await answer.text() }] }>>; });`,
    fastmcp: `server.addTool({ name: "t", execute: async () => { const answer = new Response("hi"); return <<{ content: [], structuredContent: answer }||await answer.text()>>; } });`,
  },
  {
    what: "an image given as a data URL",
    names: /base64|data/i,
    ours: `server.tool("t", { run: () => image("<<data:image/png;base64,||>>${PNG}", "image/png") });`,
    v2: `server.registerTool("t", {}, () => ({ content: [{ type: "image", data: "<<data:image/png;base64,||>>${PNG}", mimeType: "image/png" }] }));`,
    fastmcp: `server.addTool({ name: "t", execute: async () => ({ content: [{ type: "image", data: "<<data:image/png;base64,||>>${PNG}", mimeType: "image/png" }] }) });`,
  },
  {
    what: "a resource whose name is no URI",
    names: /URI|scheme|URL/i,
    ask: ["resources/read", { uri: "<<notes||note://all>>" }],
    ours: `server.resource("<<notes||note://all>>", { read: () => "" });`,
    v2: `server.registerResource("n", "<<notes||note://all>>", {}, (uri) => ({ contents: [{ uri: uri.href, text: "" }] }));`,
    fastmcp: `server.addResource({ name: "n", uri: "<<notes||note://all>>", load: async () => ({ text: "" }) });`,
  },
  {
    what: "a URI template with an open brace",
    names: /template|brace|\}/i,
    ask: ["resources/read", { uri: "note://7" }],
    ours: `server.resourceTemplate("note://{id<<||}>>", { read: () => "" });`,
    v2: `server.registerResource("n", new ResourceTemplate("note://{id<<||}>>", { list: undefined }), {}, (uri) => ({ contents: [{ uri: uri.href, text: "" }] }));`,
    fastmcp: `server.addResourceTemplate({ name: "n", uriTemplate: "note://{id<<||}>>", arguments: [{ name: "id", required: true }], load: async () => ({ text: "" }) });`,
  },
  {
    what: "console.log in a server on standard output",
    names: /hello from the tool/,
    ours: `server.tool("t", { run: () => { <<console.log||console.error>>("hello from the tool"); return ""; } });`,
    v2: `server.registerTool("t", {}, () => { <<console.log||console.error>>("hello from the tool"); return { content: [] }; });`,
    fastmcp: `server.addTool({ name: "t", execute: async () => { <<console.log||console.error>>("hello from the tool"); return ""; } });`,
    quiet: false,
  },
  {
    what: "an exception that nobody expected",
    names: /database is down/,
    ours: `server.tool("t", { run: () => { <<throw new Error("database is down");||return "";>> } });`,
    v2: `server.registerTool("t", {}, () => { <<throw new Error("database is down");||return { content: [] };>> });`,
    fastmcp: `server.addTool({ name: "t", execute: async () => { <<throw new Error("database is down");||return "";>> } });`,
  },
  {
    what: "middleware that forgets to return what comes back",
    names: /next\(\)|Promise<void>|void/,
    ours: `server.tool("t", { run: () => "" }); server.use(async (_call, next) => { <<await||return>> next(); });`,
  },
  {
    what: "middleware that goes on twice",
    names: /next\(\)/,
    ours: `server.tool("t", { run: () => "" }); server.use(async (_call, next) => { <<await next();||>> return next(); });`,
  },
  {
    what: "a rule of scopes for a tool that does not exist",
    names: /delete_notes/,
    ours: `server.tool("delete_note", { run: () => "" }); server.tool("t", { run: () => "" });
      const authenticator = staticTokenAuthenticator([{ token: "0123456789012345678901234567890", principal: "ada" }]);
      toFetch(server, { authorization: { authenticator, scopes: scopeRules({ tools: { <<delete_notes||delete_note>>: ["write"] } }) } });`,
  },
  {
    what: "a scope given as a word instead of a list",
    names: /scopes/,
    ours: `server.tool("t", { scopes: <<"write"||["write"]>>, run: () => "" });`,
    v2: `server.registerTool("t", { scopeChallenge: requireScopes(<<["write"]||"write">>) }, () => ({ content: [] }));`,
  },
  {
    what: "capabilities that are written by hand",
    names: /tools/,
    ours: `const server = new Server({ name: "a", version: "1"<<, capabilities: { tools: {} }||>> }); server.tool("t", { run: () => "" });`,
    v2: `const server = new McpServer({ name: "a", version: "1" }, { capabilities: { <<tool||tools>>: {} } }); server.registerTool("t", {}, () => ({ content: [] }));`,
  },
];
