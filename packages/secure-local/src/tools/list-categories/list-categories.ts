// The tool `list_categories`: what kinds of tools there are, and how many of each.
import { CATEGORIES, categoryOf, type ListedTools } from "../search-tools/search-tools.js";
import type { BuiltinTool } from "../tool.js";

/** `listed`: the tools that are counted. */
export function listCategories(listed: ListedTools): BuiltinTool<Readonly<Record<string, never>>> {
  return {
    name: "list_categories",
    title: "List tool categories",
    description:
      "List the categories of tools and how many tools each has. search_tools finds the tools of a category.",
    category: "tools",
    aliases: ["kinds", "overview"],
    input: { type: "object", additionalProperties: false },
    output: {
      type: "object",
      properties: {
        categories: {
          type: "array",
          items: {
            type: "object",
            properties: { name: { type: "string" }, description: { type: "string" }, tools: { type: "integer" } },
            required: ["name", "tools"],
          },
        },
      },
      required: ["categories"],
    },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: () => {
      const counts = new Map<string, number>();
      for (const tool of listed()) counts.set(categoryOf(tool), (counts.get(categoryOf(tool)) ?? 0) + 1);
      const categories = [...counts.keys()].sort().map((name) => {
        const description = CATEGORIES.get(name);
        return { name, ...(description === undefined ? {} : { description }), tools: counts.get(name) ?? 0 };
      });
      const lines = categories.map(({ name, description, tools }) => {
        const words = description === undefined ? "" : `: ${description}`;
        return `${name} (${tools} ${tools === 1 ? "tool" : "tools"})${words}`;
      });
      return { structured: { categories }, text: lines.join("\n") };
    },
  };
}
