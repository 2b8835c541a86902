// The smallest interactive server: one tool, written once, served to every revision.
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

const server = new Server({ name: "greeter", version: "1.0.0" });

server.tool("greet", {
  description: "Greet someone by name",
  input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  async run({ name }, ctx) {
    await ctx.progress(1, 2);
    const ok = await ctx.elicit({ message: `Greet ${name}?`, schema: { sure: { type: "boolean" } } });
    return ok.action === "accept" && ok.content.sure ? `Hello, ${name}!` : ctx.fail("Nobody was greeted.");
  },
});

await serveStdio(server);
