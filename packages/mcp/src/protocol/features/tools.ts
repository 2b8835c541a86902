// Listing and calling tools.
import type { JsonObject } from "../../jsonrpc/message.js";
import type { ContentBlock } from "../content.js";
import type { Meta } from "../meta.js";
import type { MethodRecord, ParamsFault } from "../method.js";
import { optionalObject, requireString } from "../params-check.js";
import type { Tool } from "../tool.js";
import type { CacheableResult, PaginatedResult } from "./pagination.js";
import { checkCursor } from "./pagination.js";

export interface ListToolsResult extends PaginatedResult, CacheableResult {
  tools: Tool[];
}

export interface CallToolResult {
  content: ContentBlock[];
  /** Any JSON; the codecs make it an object, or text, for older peers. */
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

export const LIST_TOOLS: MethodRecord = {
  name: "tools/list",
  check: checkCursor,
  capability: "tools",
  cacheable: true,
  interactive: false,
  result: "tools",
};

export const CALL_TOOL: MethodRecord = {
  name: "tools/call",
  check: checkCallTool,
  capability: "tools",
  cacheable: false,
  interactive: false,
  result: "callTool",
};

function checkCallTool(params: JsonObject): ParamsFault | undefined {
  return requireString(params, "name") ?? optionalObject(params, "arguments");
}
