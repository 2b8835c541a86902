// The bench server on the official SDK v2, served the way its documentation recommends.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { registerTools } from "./sdk-tools.mjs";

serveStdio(() => {
  const server = new McpServer({ name: "sdk-v2", version: "1.0.0" }, { capabilities: { tools: {} } });
  registerTools(server, (shape) => z.object(shape));
  return server;
});
