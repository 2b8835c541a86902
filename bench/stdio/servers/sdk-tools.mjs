// Registers the bench's tools with an official SDK server, v1 or v2: both take zod schemas, each in its own wrapping.
import { z } from "zod";
import { ADD, ECHO, FILLER_TEXTS, fillerDescription, fillerNames } from "./tool-set.mjs";

const FILLER_SHAPE = {
  query: z.string().min(1).describe(FILLER_TEXTS.query),
  limit: z.number().min(1).max(100).describe(FILLER_TEXTS.limit).optional(),
  fresh: z.boolean().describe(FILLER_TEXTS.fresh).optional(),
};

/** `wrap` turns a record of zod schemas into what this SDK wants as `inputSchema`. */
export function registerTools(server, wrap) {
  const echo = { description: ECHO.description, inputSchema: wrap({ text: z.string() }) };
  server.registerTool("echo", echo, async ({ text }) => ({ content: [{ type: "text", text }] }));
  const add = { description: ADD.description, inputSchema: wrap({ a: z.number(), b: z.number() }) };
  server.registerTool("add", add, async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
  for (const name of fillerNames()) {
    const filler = { description: fillerDescription(name), inputSchema: wrap(FILLER_SHAPE) };
    server.registerTool(name, filler, async () => ({ content: [] }));
  }
}
