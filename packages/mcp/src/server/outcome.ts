// From what a handler returned to a tool result.
import type { JsonObject } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/errors.js";
import { type ContentBlock, nestResource } from "../protocol/content.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { Meta } from "../protocol/meta.js";
import { Block } from "./content.js";

/** A whole tool result made by {@link result} or `ctx.fail`. */
export class ToolResult {
  readonly value: CallToolResult;

  constructor(value: CallToolResult) {
    this.value = value;
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
export function failure(message: string): ToolResult {
  return new ToolResult({ content: [{ type: "text", text: message }], isError: true });
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

function structuredResult(value: unknown): CallToolResult {
  return { content: [{ type: "text", text: jsonOf(value) }], structuredContent: value, isError: false };
}

function dataResult(value: unknown): CallToolResult {
  const content: ContentBlock[] = [{ type: "text", text: jsonOf(value) }];
  return isPlainObject(value) ? { content, structuredContent: value, isError: false } : succeeded(content);
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
