// Says of a request and its failure what the semantic conventions for MCP want said in OpenTelemetry, and nothing a
// secret could hide in.

import { type Answer, type Call, RpcError } from "@secure-local/mcp/server";
import { redactString } from "../audit/redact.js";

export type OpenTelemetry = typeof import("@opentelemetry/api");

/** Why a request counts as failed. */
export interface RequestFailure {
  /** `tool_error`, `cancelled`, a JSON-RPC code, or `_OTHER` for an exception nobody expected. */
  readonly type: string;
  /** The JSON-RPC code its caller was answered with. */
  readonly code?: string;
  /** What its caller was told. */
  readonly message?: string;
}

/** How an answered request failed; undefined for one that did not. */
export function failureIn(answer: Answer, call: Call): RequestFailure | undefined {
  if ((answer as { readonly isError?: unknown }).isError === true) return { type: "tool_error" };
  return call.cancellation === undefined ? undefined : { type: "cancelled" };
}

/** Only the words of an `RpcError` are made for others. */
export function failureOf(error: unknown): RequestFailure {
  if (!(error instanceof RpcError)) return { type: "_OTHER" };
  const code = String(error.code);
  return { type: code, code, message: redactString(error.message) };
}

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
    ...transportAttributes(carrier.kind),
    ...targetAttributes(call),
  };
  const session = sessionOf(call);
  if (session !== undefined) attributes["mcp.session.id"] = session;
  if (method.startsWith("resources/") && typeof params["uri"] === "string") {
    attributes["mcp.resource.uri"] = redactString(params["uri"].slice(0, MAX_NAME));
  }
  return attributes;
}

/** What is known of the way by the kind of a carrier. */
export function transportAttributes(kind: string): Record<string, string> {
  if (kind === "stdio") return { "network.transport": "pipe" };
  return { "network.transport": "tcp", "network.protocol.name": "http" };
}

/** The tool or prompt by its name. */
export function targetAttributes(call: Call): Record<string, string> {
  const isTool = call.method === "tools/call";
  const target = targetOf(call);
  return {
    ...(isTool ? { "gen_ai.operation.name": "execute_tool" } : {}),
    ...(target === undefined ? {} : { [isTool ? "gen_ai.tool.name" : "gen_ai.prompt.name"]: target }),
  };
}

/** A request of a revision without sessions may bring the header too, where it means nothing. */
function sessionOf({ caller, carrier }: Call): string | undefined {
  if (!caller.codec.revision.methods.has("initialize")) return undefined;
  return carrier.header("mcp-session-id")?.slice(0, MAX_NAME);
}

function targetOf({ method, params }: Call): string | undefined {
  if (method !== "tools/call" && method !== "prompts/get") return undefined;
  return typeof params["name"] === "string" ? redactString(params["name"].slice(0, MAX_NAME)) : undefined;
}
