// What middleware gives a call to take along reaches the client with each question, beside what the question has of its own.
import { describe, expect, it } from "vitest";
import { connectInMemory } from "../../src/serve/connect-in-memory.js";
import { Server } from "../../src/server/server.js";

describe("the _meta of a question", () => {
  it("is what middleware gave the call, and the progress token where progress is wanted", async () => {
    const server = new Server({ name: "asking", version: "1.0.0" });
    server.use((call, next) => {
      call.addQuestionMeta({ traceparent: "00-1-2-01" });
      return next();
    });
    server.tool("ask", {
      async run(_, ctx) {
        await ctx.elicit({ message: "Sure?", schema: {} });
        await ctx.elicit({ message: "Sure?", schema: {} }, { onProgress: () => undefined });
        return "asked";
      },
    });
    const metas: unknown[] = [];
    const peer = await connectInMemory(server, {
      revision: "2025-11-25",
      capabilities: { elicitation: {} },
      answer: {
        "elicitation/create": ({ _meta }) => {
          metas.push(_meta);
          return { action: "accept", content: {} };
        },
      },
    });
    await peer.request("tools/call", { name: "ask" });
    expect(metas).toEqual([{ traceparent: "00-1-2-01" }, { traceparent: "00-1-2-01", progressToken: 2 }]);
  });
});
