// The bench server on the official SDK v1.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { registerTools } from "./sdk-tools.mjs";

const server = new McpServer({ name: "sdk-v1", version: "1.0.0" });
registerTools(server, (shape) => shape);
process.stdin.on("end", () => process.exit()); // v1 does not end with its input by itself
await server.connect(new StdioServerTransport());
