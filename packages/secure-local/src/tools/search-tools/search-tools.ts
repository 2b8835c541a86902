// The tools about tools: `search_tools` finds them by words, `list_categories` says what kinds there are, `call_tool`
// calls one that no list shows.
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import type { BuiltinTool, ToolAnswer } from "../tool.js";

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
    detail: {
      type: "string",
      enum: ["names", "summary", "full"],
      default: "summary",
      description: "How much of each to return",
    },
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

// What a catalogue of tools knows of each.

type ListedTool = Omit<BuiltinTool<never>, "run">;

/** The tools that are listed for those who call, whenever it is asked. */
export type ListedTools = () => readonly ListedTool[];

/** What each category is for. Tools of other makers may name others. */
const CATEGORIES: ReadonlyMap<string, string> = new Map([
  ["calculation", "Numbers"],
  ["commands", "Programs of this machine"],
  ["data", "Databases and tables"],
  ["files", "Files and folders of this machine"],
  ["time", "Dates and times"],
  ["tools", "Finding tools"],
  ["web", "Pages and searches of the web"],
]);

function categoryOf({ category }: ListedTool): string {
  return category ?? "other";
}

function byName(a: ListedTool, b: ListedTool): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

// Ranks tools by the words of a question: the same question over the same tools has the same answer.

/** What a word found in a part of a tool counts; half of it when the word only begins there. */
const WEIGHTS = { name: 10, aliases: 8, title: 6, category: 5, arguments: 3, description: 2 } as const;
/** More words than this say no more. */
const MAX_WORDS = 20;
/** Characters of a description that are looked at: makers of plugins may write anything. */
const MAX_TEXT = 4_000;

/** Tools that have any of the words, those that fit best first; all of them, by name, where there are no words. */
export function rankTools(tools: readonly ListedTool[], query: string): ListedTool[] {
  const words = [...new Set(wordsOf(query))].slice(0, MAX_WORDS);
  if (words.length === 0) return [...tools].sort(byName);
  const whole = query.trim().toLowerCase();
  return tools
    .map((tool) => ({ tool, score: (tool.name === whole ? 1_000 : 0) + scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || byName(a.tool, b.tool))
    .map(({ tool }) => tool);
}

function scoreOf(tool: ListedTool, words: readonly string[]): number {
  const { name, title, description, input, aliases = [] } = tool;
  const listed: readonly (readonly [weight: number, words: readonly string[]])[] = [
    [WEIGHTS.name, wordsOf(name)],
    [WEIGHTS.aliases, aliases.flatMap(wordsOf)],
    [WEIGHTS.title, wordsOf(title)],
    [WEIGHTS.category, wordsOf(categoryOf(tool))],
    [WEIGHTS.arguments, Object.keys((input["properties"] as object | undefined) ?? {}).flatMap(wordsOf)],
    [WEIGHTS.description, wordsOf(description.slice(0, MAX_TEXT))],
  ];
  const parts = listed.map(([weight, own]) => [weight, new Set(own)] as const);
  return words.reduce((sum, word) => sum + Math.max(0, ...parts.map(([weight, own]) => weight * fit(word, own))), 0);
}

function fit(word: string, own: ReadonlySet<string>): number {
  if (own.has(word)) return 1;
  if (word.length <= 2) return 0;
  for (const one of own) if (one.startsWith(word) || (one.length > 2 && word.startsWith(one))) return 0.5;
  return 0;
}

/** In lower case, most of them once; the plural of a word is the word. */
function wordsOf(text: string): string[] {
  const words = new Set(
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  );
  return [...words].filter((word) => !EMPTY.has(word)).map((word) => (word.length > 3 ? word.replace(/s$/, "") : word));
}

const EMPTY: ReadonlySet<string> = new Set("a an and by for from i in is it of on or the to with that this".split(" "));

// The tool `list_categories`: what kinds of tools there are, and how many of each.

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

// The tool `call_tool`: calls one that no list shows, by the name that `search_tools` found.

interface CallToolArguments {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

export const CALL_TOOL = "call_tool";

/** What there is to say is said for the tool it calls: it runs itself only when there is nothing it could call. */
export const callTool: BuiltinTool<CallToolArguments> = {
  name: CALL_TOOL,
  title: "Call a tool",
  description:
    "Call any tool by its name. search_tools finds names; with detail: full it also shows which arguments a tool takes.",
  category: "tools",
  aliases: ["run", "execute"],
  input: {
    type: "object",
    properties: {
      name: { type: "string", maxLength: 200, description: "The name of the tool, as search_tools shows it" },
      arguments: { type: "object", description: 'The arguments of that tool (e.g., {"path": "notes.txt"})' },
    },
    required: ["name"],
    additionalProperties: false,
  },
  // What it calls may be anything: a client that asks its person about such tools has to ask.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  run: () => ({ failed: "call_tool does not call itself: give it the name of another tool." }),
};

/** The params of the call that is meant; undefined where none can be: then the tool itself says what is wrong. */
export function meantCall(params: JsonObject): JsonObject | undefined {
  const { name, arguments: given } = (params["arguments"] ?? {}) as { name?: unknown; arguments?: unknown };
  if (typeof name !== "string" || name === CALL_TOOL) return undefined;
  if (given !== undefined && (typeof given !== "object" || given === null || Array.isArray(given))) return undefined;
  return { ...params, name, arguments: given ?? {} };
}
