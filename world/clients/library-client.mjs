// One client library of somebody else, as a program: it connects to our server, lists the tools, calls one and prints
// `{ "tools": names, "text": what came back }`. It is copied beside the library, so that it finds that version and no other.
//
// node library-client.mjs LIBRARY stdio|http|sse [MODE] with WORLD_SERVER (a JSON list), WORLD_URL, WORLD_TOKEN
// and WORLD_EXPRESSION; WORLD_TOOL where a hub has given the tool another name
const [library, way, mode] = process.argv.slice(2);
const [command, ...args] = JSON.parse(process.env.WORLD_SERVER ?? "[]");
const url = process.env.WORLD_URL;
const headers = process.env.WORLD_TOKEN ? { Authorization: `Bearer ${process.env.WORLD_TOKEN}` } : {};
const env = { PATH: process.env.PATH, HOME: process.env.HOME };
const TOOL = process.env.WORLD_TOOL ?? "calculate";
const input = { expression: process.env.WORLD_EXPRESSION };

/** By a name that is no literal: these packages are none of this workspace's. */
const load = (name) => import(name);

const LIBRARIES = {
  async "sdk-v1"() {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const client = new Client({ name: "world", version: "1.0.0" });
    await client.connect(await officialTransport("@modelcontextprotocol/sdk/client/", ".js"));
    return official(client);
  },
  async "sdk-v2"() {
    const { Client } = await load("@modelcontextprotocol/client");
    const versionNegotiation = { mode: mode === "2026-07-28" ? { pin: mode } : mode };
    const client = new Client({ name: "world", version: "1.0.0" }, { versionNegotiation });
    await client.connect(await officialTransport("@modelcontextprotocol/client", ""));
    return official(client);
  },
  async "ai-sdk"() {
    const { createMCPClient, experimental_createMCPClient } = await load("@ai-sdk/mcp");
    const { Experimental_StdioMCPTransport: Old, StdioMCPTransport = Old } = await load("@ai-sdk/mcp/mcp-stdio");
    const transport = way === "stdio" ? new StdioMCPTransport({ command, args, env }) : { type: way, url, headers };
    const client = await (createMCPClient ?? experimental_createMCPClient)({ transport });
    const tools = await client.tools();
    const result = await tools[TOOL].execute(input, { toolCallId: "1", messages: [] });
    await client.close();
    return { tools: Object.keys(tools), text: JSON.stringify(result) };
  },
  async langchain() {
    const { MultiServerMCPClient } = await load("@langchain/mcp-adapters");
    const server = way === "stdio" ? { transport: "stdio", command, args, env } : { transport: way, url, headers };
    const client = new MultiServerMCPClient({ mcpServers: { ours: server } });
    const tools = await client.getTools();
    const result = await tools.find(({ name }) => name === TOOL).invoke(input);
    await client.close();
    return { tools: tools.map(({ name }) => name), text: JSON.stringify(result) };
  },
  async "openai-agents"() {
    const { MCPServerStdio, MCPServerStreamableHttp } = await load("@openai/agents");
    const http = { url, requestInit: { headers } };
    const server = way === "stdio" ? new MCPServerStdio({ command, args, env }) : new MCPServerStreamableHttp(http);
    await server.connect();
    const tools = await server.listTools();
    const result = await server.callTool(TOOL, input);
    await server.close();
    return { tools: tools.map(({ name }) => name), text: JSON.stringify(result) };
  },
  async mastra() {
    const { MCPClient } = await load("@mastra/mcp");
    const server = way === "stdio" ? { command, args, env } : { url: new URL(url), requestInit: { headers } };
    const client = new MCPClient({ servers: { ours: server } });
    const tools = (await (client.listTools ?? client.getTools).call(client)) ?? {};
    const result = await tools[`ours_${TOOL}`].execute({ context: input }, {});
    await client.disconnect();
    return { tools: Object.keys(tools), text: JSON.stringify(result) };
  },
  async "mcp-client"() {
    const { MCPClient } = await load("mcp-client");
    const client = new MCPClient({ name: "world", version: "1.0.0" });
    const http = { type: way === "sse" ? "sse" : "httpStream", url, headers };
    await client.connect(way === "stdio" ? { type: "stdio", command, args, env } : http);
    const tools = await client.getAllTools();
    const result = await client.callTool({ name: TOOL, arguments: input });
    await client.close();
    return { tools: tools.map(({ name }) => name), text: JSON.stringify(result) };
  },
};

async function officialTransport(base, ending) {
  const place = (name) => (ending === "" && name !== "stdio" ? base : `${base.replace(/\/$/, "")}/${name}${ending}`);
  if (way === "stdio") {
    const { StdioClientTransport } = await load(place("stdio"));
    return new StdioClientTransport({ command, args, env });
  }
  const options = { requestInit: { headers } };
  if (way === "http") {
    const { StreamableHTTPClientTransport } = await load(place("streamableHttp"));
    return new StreamableHTTPClientTransport(new URL(url), options);
  }
  const { SSEClientTransport } = await load(place("sse"));
  return new SSEClientTransport(new URL(url), options);
}

async function official(client) {
  const { tools } = await client.listTools();
  const result = await client.callTool({ name: TOOL, arguments: input });
  await client.close();
  return { tools: tools.map(({ name }) => name), text: JSON.stringify(result) };
}

console.log(JSON.stringify(await LIBRARIES[library]()));
// Some of them leave a timer or a socket behind.
process.exit(0);
