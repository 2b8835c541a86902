// The bench server on the library alone.
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { ADD, ECHO, FILLER_SCHEMA, fillerDescription, fillerNames } from "../../stdio/servers/tool-set.mjs";
import { listening, mode } from "./serving.mjs";

const server = new Server({ name: "ours", version: "1.0.0" });
server.tool("echo", { description: ECHO.description, input: ECHO.inputSchema, run: ({ text }) => text });
server.tool("add", { description: ADD.description, input: ADD.inputSchema, run: ({ a, b }) => String(a + b) });
for (const name of fillerNames()) {
  server.tool(name, { description: fillerDescription(name), input: FILLER_SCHEMA, run: () => undefined });
}
const { url } = await serveHttp(server, { sessions: mode !== "alone", answers: mode === "sse" ? "sse" : "auto" });
listening(Number(new URL(url).port));
