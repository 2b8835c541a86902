// A tool of a server of the policy, as those of our own are described.
import type { Offer } from "@secure-local/mcp/gateway";
import type { BuiltinTool, ToolSchema } from "../tools/tool.js";

export type MountedTool = Omit<BuiltinTool<never>, "run">;

/** `name`: as it is called outside. */
export function mountedTool(name: string, server: string, tool: Offer["tools"][number]): MountedTool {
  const { name: own, title, description = "", inputSchema: input, outputSchema: output, annotations = {} } = tool;
  const { readOnlyHint = false, idempotentHint = false, openWorldHint = true } = annotations;
  const destructiveHint = !readOnlyHint && annotations.destructiveHint !== false;
  return {
    name,
    title: title ?? annotations.title ?? own,
    description,
    category: server,
    input,
    ...(output?.["type"] === "object" ? { output: output as ToolSchema } : {}),
    annotations: { readOnlyHint, destructiveHint, idempotentHint, openWorldHint },
  };
}
