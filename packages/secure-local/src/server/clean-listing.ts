// Cleans what a list shows of a tool: its title, its description and its schemas are read by models like any answer.
import type { JsonSchema, ToolDefinition } from "@secure-local/mcp/server";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import { cleanText } from "../guard/cleaning/clean-text.js";

type Definition = ToolDefinition<JsonSchema, JsonSchema | undefined>;

/** Bytes of one description or schema: no honest one is longer, and it is read with every question. */
const LIMITS = { textBytes: 32_768, resultBytes: 262_144 };

/** The same texts stay the same. */
export function cleanListing(definition: Definition): Definition {
  const { title, description, input, output } = definition;
  return {
    ...definition,
    ...(title === undefined ? {} : { title: cleanText(title, LIMITS) }),
    ...(description === undefined ? {} : { description: cleanText(description, LIMITS) }),
    ...(input === undefined ? {} : { input: cleanValue(input, LIMITS) }),
    ...(output === undefined ? {} : { output: cleanValue(output, LIMITS) }),
  };
}
