// The headers of 2026-07-28 that repeat the body: absent, different or badly encoded ones are refused.
import type { Carrier } from "../../jsonrpc/transport.js";
import { isJsonObject, type JsonObject, quotedWords, type RequestMessage } from "../../jsonrpc/message.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { McpErrorCode, META } from "../../protocol/meta.js";

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

// Reads and writes header values that may be Base64 between `=?base64?` and `?=`: strictly, or not at all.

const PREFIX = "=?base64?";
const SUFFIX = "?=";

/** The text a header stands for; undefined when it is badly encoded or holds what no header may hold unencoded. */
function decodeHeader(raw: string): string | undefined {
  const value = raw.trim();
  if (!/^[ -~]*$/.test(value)) return undefined;
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX) || value.length < PREFIX.length + SUFFIX.length)
    return value;
  return decodeBase64(value.slice(PREFIX.length, -SUFFIX.length));
}

/** The header for a text: as it is where it can stand there, otherwise Base64 in the same marks. */
export function encodeHeader(text: string): string {
  const plain = /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !(text.startsWith(PREFIX) && text.endsWith(SUFFIX));
  if (plain) return text;
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return PREFIX + btoa(binary) + SUFFIX;
}

// `atob` forgives missing padding and stray bits; another reader of the same header might not, so both are refused.
function decodeBase64(text: string): string | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  const binary = atob(text);
  if (btoa(binary) !== text) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(binary, (character) => character.charCodeAt(0)),
    );
  } catch {
    return undefined;
  }
}

// Finds the arguments a tool wants repeated in headers (`x-mcp-header`), and what is wrong with such a wish.

export interface MirroredParam {
  /** Lower-case header name: `mcp-param-region`. */
  readonly header: string;
  /** Where the value is in the arguments. */
  readonly path: readonly string[];
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const KEYWORD = "x-mcp-header";

/**
 * The mirrored arguments of an input schema, or a sentence naming what makes the tool invalid: clients drop such a tool.
 */
export function mirroredParams(schema: JsonObject): readonly MirroredParam[] | string {
  const found: MirroredParam[] = [];
  const fault = search(schema, [], found, true);
  if (fault !== undefined) return fault;
  const names = new Set(found.map(({ header }) => header));
  return names.size === found.length ? found : `Two properties have the same ${KEYWORD}`;
}

function search(
  schema: unknown,
  path: readonly string[],
  found: MirroredParam[],
  reachable: boolean,
): string | undefined {
  if (Array.isArray(schema)) return searchAll(schema, path, found);
  if (!isJsonObject(schema)) return undefined;
  if (Object.hasOwn(schema, KEYWORD)) {
    const fault = mirror(schema, path, found, reachable);
    if (fault !== undefined) return fault;
  }
  for (const [keyword, value] of Object.entries(schema)) {
    // Data, not schemas: whatever is in them means nothing.
    if (keyword === "const" || keyword === "enum" || keyword === "default" || keyword === "examples") continue;
    const fault =
      keyword === "properties" && isJsonObject(value)
        ? searchProperties(value, path, found, reachable)
        : search(value, path, found, false);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function searchAll(schemas: readonly unknown[], path: readonly string[], found: MirroredParam[]): string | undefined {
  for (const each of schemas) {
    const fault = search(each, path, found, false);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function searchProperties(
  properties: JsonObject,
  path: readonly string[],
  found: MirroredParam[],
  reachable: boolean,
): string | undefined {
  for (const [name, schema] of Object.entries(properties)) {
    const fault = search(schema, [...path, name], found, reachable);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function mirror(
  schema: JsonObject,
  path: readonly string[],
  found: MirroredParam[],
  reachable: boolean,
): string | undefined {
  const name = schema[KEYWORD];
  const where = path.join(".");
  if (!reachable || path.length === 0) return `${KEYWORD} stands where no argument is certain to be found (${where})`;
  if (typeof name !== "string" || !TOKEN.test(name)) return `${KEYWORD} of ${where} is no header name`;
  if (!TYPES.has(schema["type"])) return `${KEYWORD} of ${where} needs the type string, integer or boolean`;
  found.push({ header: `mcp-param-${name.toLowerCase()}`, path });
  return undefined;
}
