// From what a handler returned to a tool result.
import { brand } from "../jsonrpc/brand.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/errors.js";
import { type ContentBlock, nestResource } from "../protocol/content.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { Meta } from "../protocol/meta.js";
import { Block } from "./content.js";

/** A whole tool result made by {@link result} or `ctx.fail`. */
export class ToolResult {
  readonly value: CallToolResult;

  static {
    brand(this, "ToolResult");
  }

  constructor(value: CallToolResult) {
    this.value = value;
  }
}

/** An answer another server gave, passed on as it is: returned by what stands in for its tools, prompts and resources. */
export class Relayed {
  readonly answer: JsonObject;

  constructor(answer: JsonObject) {
    this.answer = answer;
  }
}

/** Everything a tool result may say. */
export interface ResultParts {
  /** Strings become text blocks. */
  readonly content?: readonly (string | Block | ContentBlock)[];
  /** Checked against the tool's output schema when it has one. */
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Meta;
}

/** A whole result, for when content, structured content and `_meta` are wanted together. */
export function result(parts: ResultParts): ToolResult {
  const { content = [], structuredContent, isError, _meta } = parts;
  return new ToolResult({
    content: content.map(toBlock),
    ...(structuredContent === undefined ? {} : { structuredContent }),
    isError: isError ?? false,
    ...(_meta === undefined ? {} : { _meta }),
  });
}

/** A result that tells the model that the tool failed and why: words it can act on. */
export function failure(message: string, structuredContent?: JsonObject): ToolResult {
  const content: ContentBlock[] = [{ type: "text", text: message }];
  return new ToolResult({ content, ...(structuredContent === undefined ? {} : { structuredContent }), isError: true });
}

/** Turns what `run` returned into a result. Only marked values are taken for content; everything else is data. */
export function toToolResult(value: unknown, structured: boolean): CallToolResult {
  if (value instanceof ToolResult) return value.value;
  if (structured) return structuredResult(value);
  if (typeof value === "string") return succeeded([{ type: "text", text: value }]);
  if (value === undefined) return succeeded([]);
  if (value instanceof Block) return succeeded([value.block]);
  if (isBlockList(value)) return succeeded(value.map((item) => item.block));
  return dataResult(value);
}

function structuredResult(returned: unknown): CallToolResult {
  const value = asData(returned);
  return { content: [{ type: "text", text: jsonOf(value) }], structuredContent: value, isError: false };
}

function dataResult(returned: unknown): CallToolResult {
  const value = asData(returned);
  if (typeof value === "string") return succeeded([{ type: "text", text: value }]);
  const content: ContentBlock[] = [{ type: "text", text: jsonOf(value) }];
  return isPlainObject(value) ? { content, structuredContent: value, isError: false } : succeeded(content);
}

/** What JSON makes of values that say so themselves: a `Date` and a `URL` are text. Refuses what JSON would lose. */
function asData(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const lost = LOST.find(([name]) => isA(value, name));
  if (lost !== undefined)
    throw new LocalError("NOT_JSON", `The tool returned a ${lost[0]}, which JSON cannot carry: ${lost[1]}`);
  if (typeof (value as { readonly toJSON?: unknown }).toJSON === "function") return JSON.parse(jsonOf(value));
  if (isWireResult(value)) throw new LocalError("WIRE_RESULT", WIRE_RESULT);
  return value;
}

/** Objects of which JSON keeps nothing, or nonsense, by the name of their class, and what to return instead. */
const LOST: readonly (readonly [string, string])[] = [
  ["Map", "return Object.fromEntries(map)"],
  ["Set", "return [...set]"],
  ["Error", 'throw it, or throw new ToolError("words for the model")'],
  ["Response", "return await response.json(), or its text"],
  ["ReadableStream", "read it first"],
  ["ArrayBuffer", "return image(...), audio(...) or resource(uri, bytes)"],
  ["Uint8Array", "return image(...), audio(...) or resource(uri, bytes)"],
];

/** By class, since one of another realm is no `instanceof` ours; not by tag, which is free for anybody to choose. */
function isA(value: object, name: string): boolean {
  const known = (globalThis as Record<string, unknown>)[name];
  return typeof known === "function" && value instanceof known;
}

const WIRE_MEMBERS: ReadonlySet<string> = new Set(["content", "structuredContent", "isError", "_meta"]);
const BLOCK_TYPES: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);
const WIRE_RESULT =
  "The tool returned a result in the form of the wire ({ content: [...] }), which this library takes for data: " +
  "return text, data, or result({ content, structuredContent }), which is made for that";

/** Whether a value is what other libraries want returned: nothing but the members of a result, and blocks as content. */
function isWireResult(value: object): boolean {
  const { content } = value as { readonly content?: unknown };
  if (!Array.isArray(content) || content.length === 0) return false;
  if (!Object.keys(value).every((member) => WIRE_MEMBERS.has(member))) return false;
  return content.every((item) => BLOCK_TYPES.has((item as { readonly type?: unknown } | null)?.type));
}

/** Says that it succeeded: the member may be left out, but people who read transcripts look for it. */
function succeeded(content: ContentBlock[]): CallToolResult {
  return { content, isError: false };
}

function jsonOf(value: unknown): string {
  const json = JSON.stringify(value) as string | undefined;
  if (json !== undefined) return json;
  throw new LocalError("NOT_JSON", `A tool returned a ${typeof value}, which JSON cannot carry`);
}

function isPlainObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isBlockList(value: unknown): value is readonly Block[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => item instanceof Block);
}

function toBlock(item: string | Block | ContentBlock): ContentBlock {
  if (typeof item === "string") return { type: "text", text: item };
  if (item instanceof Block) return item.block;
  return item.type === "resource" ? nestResource(item) : item;
}
