// Listing and calling tools.
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import type { ContentBlock } from "../content.js";
import type { Meta } from "../meta.js";
import {
  type CacheableResult,
  checkCursor,
  fault,
  type MethodRecord,
  type PaginatedRequestParams,
  optionalObject,
  type PaginatedResult,
  type ParamsFault,
  requireString,
} from "../method.js";
import type { Icon } from "../capabilities.js";

export interface ListToolsResult extends PaginatedResult, CacheableResult {
  tools: Tool[];
}

/**
 * What a tool answers: content blocks for the model, and structured content where the tool declared its shape
 * (server/tools).
 */
export interface CallToolResult {
  content: ContentBlock[];
  /** Any JSON; the codecs make it an object, or text, for older peers. */
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

/** Params of `tools/call`. */
export interface CallToolRequestParams {
  name: string;
  arguments?: JsonObject;
  /** Asks for a task, kept for `ttl` milliseconds (2025-11-25). */
  task?: { ttl?: number | null };
  _meta?: Meta;
}

export const LIST_TOOLS: MethodRecord<PaginatedRequestParams> = {
  name: "tools/list",
  check: checkCursor,
  capability: "tools",
  cacheable: true,
  interactive: false,
  result: "tools",
};

export const CALL_TOOL: MethodRecord<CallToolRequestParams> = {
  name: "tools/call",
  check: checkCallTool,
  capability: "tools",
  cacheable: false,
  interactive: false,
  result: "callTool",
};

/** `tools/call` with a `task` member that asks for a task. */
export const CALL_TOOL_AS_TASK: MethodRecord<CallToolRequestParams> = {
  ...CALL_TOOL,
  check: (params) => CALL_TOOL.check(params) ?? checkTask(params["task"]),
};

function checkCallTool(params: JsonObject): ParamsFault | undefined {
  return requireString(params, "name") ?? optionalObject(params, "arguments");
}

function checkTask(task: unknown): ParamsFault | undefined {
  if (task === undefined) return undefined;
  if (!isJsonObject(task)) return fault(["task"], "an object");
  const { ttl } = task;
  // Some clients spell "as long as you can" as null.
  if (ttl === undefined || ttl === null || (Number.isSafeInteger(ttl) && (ttl as number) >= 0)) return undefined;
  return fault(["task", "ttl"], "an integer of milliseconds, at least 0");
}

// Checks the names of tools.

/** 2025-11-25, server/tools: more would not fit the tables of many clients. */
const MAX_LENGTH = 128;
/** Of code units: one of characters is compiled to many times as much, at every start. */
const FORBIDDEN = /[^\w.-]/;

/** Says in one sentence what is wrong with a tool's name, or returns undefined. */
export function toolNameFault(name: unknown): string | undefined {
  if (typeof name !== "string") return "A tool's name must be a string";
  if (name === "") return "A tool's name must not be empty";
  if (name.length > MAX_LENGTH) {
    return `A tool's name may have ${MAX_LENGTH} characters, "${name.slice(0, 32)}…" has ${name.length}`;
  }
  const at = name.search(FORBIDDEN);
  if (at < 0) return undefined;
  const where = `character ${at + 1} of ${JSON.stringify(name)} is ${JSON.stringify([...name.slice(at)][0])}`;
  return `A tool's name may hold letters of A to Z, digits, "_", "." and "-"; ${where}`;
}

// Describes a tool as a list shows it.

/** A JSON Schema whose root is an object. */
export interface ObjectSchema {
  type: "object";
  $schema?: string;
  properties?: { [name: string]: unknown };
  required?: readonly string[];
  [keyword: string]: unknown;
}

/** Any JSON Schema that is an object (the boolean schemas are not allowed here). */
export interface AnySchema {
  $schema?: string;
  [keyword: string]: unknown;
}

/** Hints about what a tool does; untrusted unless the server is. */
export interface ToolAnnotations {
  title?: string;
  /** Default false. */
  readOnlyHint?: boolean;
  /** Default true. */
  destructiveHint?: boolean;
  /** Default false. */
  idempotentHint?: boolean;
  /** Default true. */
  openWorldHint?: boolean;
}

/** A tool. */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  icons?: readonly Icon[];
  inputSchema: ObjectSchema;
  /** Up to 2025-11-25 the root must be an object; the codecs wrap other roots. */
  outputSchema?: AnySchema;
  annotations?: ToolAnnotations;
  /** 2025-11-25 only. */
  execution?: { taskSupport?: "forbidden" | "optional" | "required" };
  _meta?: Meta;
}
