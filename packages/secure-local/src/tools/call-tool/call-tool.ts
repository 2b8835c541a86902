// The tool `call_tool`: calls one that no list shows, by the name that `search_tools` found.
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import type { BuiltinTool } from "../tool.js";

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
