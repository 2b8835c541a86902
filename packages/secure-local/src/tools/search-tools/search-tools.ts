// The tool `search_tools`: finds tools by words, at the level of detail a model wants to pay for.
import type { BuiltinTool, ToolAnswer } from "../tool.js";
import { categoryOf, type ListedTool, type ListedTools } from "./listed-tool.js";
import { rankTools } from "./rank-tools.js";

export interface SearchToolsArguments {
  readonly query: string;
  readonly category?: string;
  readonly detail?: "names" | "summary" | "full";
  readonly limit?: number;
}

const DEFAULT_TOOLS = 10;
const MAX_TOOLS = 100;
const MAX_SUMMARY = 200;

const INPUT = {
  type: "object",
  properties: {
    query: {
      type: "string",
      maxLength: 500,
      description: "Words to look for (e.g., 'read database'); empty for all",
    },
    category: {
      type: "string",
      maxLength: 100,
      description: "Only tools of this category; list_categories names them",
    },
    detail: { type: "string", enum: ["names", "summary", "full"], default: "summary" },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: MAX_TOOLS,
      default: DEFAULT_TOOLS,
      description: "Most tools to return",
    },
  },
  required: ["query"],
  additionalProperties: false,
} as const;

const OUTPUT = {
  type: "object",
  properties: {
    tools: {
      type: "array",
      description: "Those that fit best first",
      items: {
        type: "object",
        properties: {
          name: { type: "string" },
          title: { type: "string" },
          category: { type: "string" },
          summary: { type: "string" },
          description: { type: "string" },
          inputSchema: { type: "object" },
          outputSchema: { type: "object" },
          annotations: { type: "object" },
        },
        required: ["name"],
      },
    },
    total: { type: "integer", description: "Tools that fit" },
  },
  required: ["tools", "total"],
} as const;

/** `listed`: the tools that are searched. */
export function searchTools(listed: ListedTools): BuiltinTool<SearchToolsArguments> {
  return {
    name: "search_tools",
    title: "Search for tools",
    description:
      "Find tools by words (name, other names, purpose) or category. detail: names, summary (default: one line each) or full (with schemas, ready to call).",
    category: "tools",
    aliases: ["find tool", "discover", "help"],
    input: INPUT,
    output: OUTPUT,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: ({ query, category, detail = "summary", limit = DEFAULT_TOOLS }) => {
      const wanted = category?.trim().toLowerCase();
      const within = listed().filter((tool) => wanted === undefined || categoryOf(tool).toLowerCase() === wanted);
      const found = rankTools(within, query);
      return answer(found.slice(0, limit), { detail, total: found.length });
    },
  };
}

interface Told {
  readonly detail: NonNullable<SearchToolsArguments["detail"]>;
  readonly total: number;
}

function answer(tools: readonly ListedTool[], { detail, total }: Told): ToolAnswer {
  const structured = { tools: tools.map((tool) => SHAPES[detail](tool)), total };
  if (tools.length === 0) return { structured, text: "No tool fits. Try other words, or list_categories." };
  const more = total > tools.length ? `\n(${total - tools.length} more fit; raise limit or say more)` : "";
  return { structured, text: tools.map(LINES[detail]).join(detail === "full" ? "\n\n" : "\n") + more };
}

const SHAPES: Readonly<Record<Told["detail"], (tool: ListedTool) => object>> = {
  names: ({ name }) => ({ name }),
  summary: (tool) => ({ name: tool.name, title: tool.title, category: categoryOf(tool), summary: summaryOf(tool) }),
  full: (tool) => {
    const { name, title, description, input, output, annotations } = tool;
    const schemas = { inputSchema: input, ...(output === undefined ? {} : { outputSchema: output }) };
    return { name, title, category: categoryOf(tool), description, ...schemas, annotations };
  },
};

const LINES: Readonly<Record<Told["detail"], (tool: ListedTool) => string>> = {
  names: ({ name }) => name,
  summary: (tool) => `${tool.name} (${categoryOf(tool)}): ${summaryOf(tool)}`,
  full: (tool) => `${tool.name} (${categoryOf(tool)}): ${tool.description}\nArguments: ${JSON.stringify(tool.input)}`,
};

/** The first sentence. */
function summaryOf({ description }: ListedTool): string {
  const end = /[.!?](?=\s|$)/.exec(description.slice(0, MAX_SUMMARY))?.index;
  return end === undefined ? description.slice(0, MAX_SUMMARY) : description.slice(0, end + 1);
}
