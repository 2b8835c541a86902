// A server that sends messages, and asks the person before it does.
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

const server = new Server({ name: "post", version: "1.0.0" });

server.tool("send", {
  description: "Sends a message to somebody",
  input: { type: "object", properties: { to: { type: "string" }, text: { type: "string" } }, required: ["to", "text"] },
  async run({ to, text }, ctx) {
    const answer = await ctx.elicit({ message: `Send it to ${to}?`, schema: { sure: { type: "boolean" } } });
    if (answer.content?.sure !== true) return ctx.fail("The user does not want it.");
    return `${process.env.SENDER} to ${to}: ${text}`;
  },
});

await serveStdio(server);
