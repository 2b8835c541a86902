// Says of a request what the semantic conventions for MCP want said, and nothing a secret could hide in.
import type { Call } from "@secure-local/mcp/server";
import { redactString } from "../audit/redact.js";

/** Characters of a name or URI that are kept: callers choose them. */
const MAX_NAME = 256;

/** The method, and the name of the tool or prompt. */
export function spanName(call: Call): string {
  const target = targetOf(call);
  return target === undefined ? call.method : `${call.method} ${target}`;
}

export function spanAttributes(call: Call): Record<string, string> {
  const { method, id, params, caller, carrier } = call;
  const attributes: Record<string, string> = {
    "mcp.method.name": method,
    "jsonrpc.request.id": redactString(String(id).slice(0, MAX_NAME)),
    "mcp.protocol.version": caller.codec.revision.date,
    "network.transport": carrier.kind === "stdio" ? "pipe" : "tcp",
  };
  if (carrier.kind !== "stdio") attributes["network.protocol.name"] = "http";
  const target = targetOf(call);
  if (method === "tools/call") attributes["gen_ai.operation.name"] = "execute_tool";
  if (target !== undefined) attributes[method === "tools/call" ? "gen_ai.tool.name" : "gen_ai.prompt.name"] = target;
  if (method.startsWith("resources/") && typeof params["uri"] === "string") {
    attributes["mcp.resource.uri"] = redactString(params["uri"].slice(0, MAX_NAME));
  }
  return attributes;
}

function targetOf({ method, params }: Call): string | undefined {
  if (method !== "tools/call" && method !== "prompts/get") return undefined;
  return typeof params["name"] === "string" ? redactString(params["name"].slice(0, MAX_NAME)) : undefined;
}
