// A server with one note, which only this server and whoever asks it know.
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

const server = new Server({ name: "notes", version: "1.0.0" });

server.tool("find", {
  description: "Finds a note",
  input: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
  annotations: { readOnlyHint: true },
  run: ({ word }, ctx) => (word === "door" ? "The door code is 4711" : ctx.fail(`There is no note about ${word}.`)),
});
server.prompt("summarize", { description: "Summarizes all notes", run: () => "Summarize: the door code is 4711" });

await serveStdio(server);
