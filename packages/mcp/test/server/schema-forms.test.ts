// Forms given as a schema of a library: what the person sees, what the handler gets, and what no form can show.
import { expect, it } from "vitest";
import { z } from "zod";
import { connect } from "../../src/serve/connect.js";
import { connectInMemory } from "../../src/serve/connect-in-memory.js";
import { Server } from "../../src/server/server.js";

const FORM = z.object({
  email: z.email(),
  age: z.int().min(18),
  color: z.enum(["red", "green"]).default("red"),
  note: z.string().max(10).optional(),
  days: z.array(z.enum(["mon", "tue"])),
});

function asking(schema: z.ZodType): Server {
  const server = new Server({ name: "forms", version: "1.0.0", report: false });
  server.tool("ask", {
    run: async (_, ctx) => {
      const answer = await ctx.elicit({ message: "Who?", schema });
      return JSON.stringify(answer.action === "accept" ? answer.content : answer.action);
    },
  });
  return server;
}

const said = (result: { content: unknown[] }): unknown => (result.content[0] as { text?: string }).text;

it("shows the fields as forms have them", async () => {
  let shown: unknown;
  const peer = await connectInMemory(asking(FORM), {
    revision: "2025-11-25",
    capabilities: { elicitation: {} },
    answer: { "elicitation/create": (params) => ((shown = params["requestedSchema"]), { action: "decline" }) },
  });
  expect(said((await peer.request("tools/call", { name: "ask", arguments: {} })) as never)).toBe('"decline"');
  expect(shown).toEqual({
    type: "object",
    properties: {
      email: { type: "string", format: "email" },
      age: { type: "integer", minimum: 18 },
      color: { type: "string", enum: ["red", "green"], default: "red" },
      note: { type: "string", maxLength: 10 },
      days: { type: "array", items: { type: "string", enum: ["mon", "tue"] } },
    },
    required: ["email", "age", "days"],
  });
  await peer.close();
});

it.each(["2025-06-18", "2026-07-28"])("gives what the schema makes of the answer: %s", async (revision) => {
  const server = new Server({ name: "forms", version: "1.0.0" });
  server.tool("ask", {
    run: async (_, ctx) => {
      const answer = await ctx.elicit({ message: "Who?", schema: z.object({ name: z.string().trim().min(2) }) });
      if (answer.action !== "accept") return answer.action;
      const name: string = answer.content.name;
      return name;
    },
  });
  let name = " Ada ";
  const client = await connect(server, { revision, elicit: () => ({ action: "accept", content: { name } }) });
  expect(said(await client.call("ask"))).toBe("Ada");
  name = " A ";
  expect(said(await client.call("ask"))).toContain("does not fit the form");
  await client.close();
});

it("refuses a schema that no form can show", async () => {
  const client = await connect(asking(z.object({ nested: z.object({ a: z.string() }) })), {
    elicit: () => ({ action: "accept", content: {} }),
  });
  const failed = await client.call("ask");
  expect(failed.isError).toBe(true);
  await client.close();
});
