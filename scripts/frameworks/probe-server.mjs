// The server that every framework and runtime serves for the probe.
import { Server } from "@secure-local/mcp/server";

/** A server with one tool for each thing that is asked. */
export function probeServer() {
  const server = new Server({ name: "probe", version: "1.0.0" });
  server.tool("add", {
    input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    run: ({ a, b }) => a + b,
  });
  server.tool("count", {
    description: "Reports progress",
    run: async (_, ctx) => {
      for (let step = 1; step <= 3; step++) await ctx.progress(step, 3);
      return "counted";
    },
  });
  server.tool("ask", {
    replay: true,
    run: async (_, ctx) => {
      const answer = await ctx.elicit({ message: "Name?", schema: { name: { type: "string" } } });
      return answer.action === "accept" ? answer.content.name : answer.action;
    },
  });
  server.tool("work", {
    description: "Goes on after the reply that made a task of it",
    task: "optional",
    run: () => new Promise((resolve) => setTimeout(() => resolve("worked"), 50)),
  });
  let stopped = 0;
  server.tool("wait", {
    description: "Waits until it is cancelled",
    run: async (_, ctx) => {
      await ctx.progress(1);
      return new Promise((resolve) => {
        ctx.signal.addEventListener("abort", () => {
          stopped++;
          resolve("stopped");
        });
      });
    },
  });
  server.tool("stopped", { description: "How many calls were cancelled", run: () => String(stopped) });
  server.tool("touch", {
    run: () => {
      server.resourceUpdated("probe://thing");
      return "touched";
    },
  });
  server.resource("probe://thing", { read: () => "thing" });
  return server;
}
