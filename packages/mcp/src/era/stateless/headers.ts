// The headers of 2026-07-28 that repeat the body: absent, different or badly encoded ones are refused.
import type { Carrier } from "../../jsonrpc/carrier.js";
import type { JsonObject, RequestMessage } from "../../jsonrpc/message.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../../protocol/error-codes.js";
import { META } from "../../protocol/meta.js";
import { decodeHeader } from "./header-value.js";
import type { MirroredParam } from "./mirrored-params.js";
import { quotedWords } from "../../jsonrpc/visible-text.js";

/** The member of the params that `Mcp-Name` repeats, by method. */
export const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** Compares `MCP-Protocol-Version` with the version the body claims. */
export function versionHeaderFault(claim: JsonObject, carrier: Carrier): RpcError | undefined {
  const header = trimmed(carrier.header("mcp-protocol-version"));
  const claimed = claim[META.protocolVersion];
  if (header === undefined) return mismatch("MCP-Protocol-Version is missing");
  return header === claimed ? undefined : differs("MCP-Protocol-Version", header, String(claimed));
}

/** Compares `Mcp-Method` and, where the method has one, `Mcp-Name` with the body. */
export function methodHeaderFault(message: RequestMessage, carrier: Carrier): RpcError | undefined {
  const method = trimmed(carrier.header("mcp-method"));
  if (method === undefined) return mismatch("Mcp-Method is missing");
  if (method !== message.method) return differs("Mcp-Method", method, message.method);
  const member = NAMED[message.method];
  if (member === undefined) return undefined;
  const name = message.params?.[member];
  // What is no text is refused with the params, in words that fit.
  if (typeof name !== "string") return undefined;
  return valueFault("Mcp-Name", carrier.header("mcp-name"), name);
}

/** Compares `Mcp-Param-*` with the arguments their tool mirrors. */
export function paramHeaderFault(
  params: readonly MirroredParam[],
  args: unknown,
  carrier: Carrier,
): RpcError | undefined {
  for (const { header, path } of params) {
    const raw = carrier.header(header);
    const value = valueAt(args, path);
    if (value === undefined || value === null) {
      if (raw !== undefined) return mismatch(`${header} is there, but the argument ${path.join(".")} is not`);
      continue;
    }
    const fault = valueFault(header, raw, value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function valueFault(header: string, raw: string | undefined, value: unknown): RpcError | undefined {
  if (raw === undefined) return mismatch(`${header} is missing`);
  const text = decodeHeader(raw);
  if (text === undefined) return mismatch(`${header} is badly encoded`);
  return isSame(text, value)
    ? undefined
    : differs(header, text, typeof value === "string" ? value : JSON.stringify(value));
}

// Integers are compared as numbers, so that 42 and 42.0 are the same; what else an argument may be, its schema refuses.
function isSame(text: string, value: unknown): boolean {
  if (typeof value === "number") return /^-?\d+(?:\.0+)?$/.test(text) && Number(text) === value;
  if (typeof value === "boolean") return text === String(value);
  return typeof value !== "string" || text === value;
}

/** The value in the arguments that `path` leads to. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as JsonObject)[name];
  }
  return found;
}

function trimmed(value: string | undefined): string | undefined {
  return value?.trim();
}

function differs(header: string, sent: string, body: string): RpcError {
  return mismatch(`${header} is ${quoted(sent)}, the body says ${quoted(body)}`);
}

/** Values are shown, since whoever sent them needs to see them, but never at any length. */
function quoted(value: string): string {
  return quotedWords(value.length > 100 ? `${value.slice(0, 100)}...` : value);
}

/** The one error of this file. */
export function mismatch(what: string): RpcError {
  return new RpcError(McpErrorCode.HeaderMismatch, `Header mismatch: ${what}`);
}
