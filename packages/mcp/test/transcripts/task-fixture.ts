// The server of the golden conversations about tasks: work that ends when it is told to, asks, fails, or never ends.
import { inputRequired, Server } from "@secure-local/mcp/server";

export function laboring(): Server {
  const server = new Server({ name: "laboring", version: "1.0.0", limits: { taskPollMs: 500 } });
  const waiting: (() => void)[] = [];
  server.tool("labor", {
    task: "required",
    async run(_args, ctx) {
      await new Promise<void>((resolve, reject) => {
        waiting.push(resolve);
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error));
      });
      return "The work is done";
    },
  });
  server.tool("release", {
    run() {
      for (const go of waiting.splice(0)) go();
      return "Released";
    },
  });
  server.tool("fail", {
    task: "required",
    run: (_args, ctx) => ctx.fail("The file is locked: close it and try again."),
  });
  server.tool("name", {
    task: "required",
    async run(_args, ctx) {
      const { content } = await ctx.elicit({ message: "Your name?", schema: { name: { type: "string" } } });
      return `Hello, ${content?.name}!`;
    },
  });
  server.tool("by_hand", {
    task: "optional",
    run(_args, ctx) {
      if (ctx.inputResponses !== undefined) return "Asked and answered";
      return inputRequired({ requests: { where: { method: "roots/list", params: {} } } });
    },
  });
  server.tool("plain", { run: () => "Plain" });
  return server;
}
