// What handlers return or throw: content blocks, marked so that data is never mistaken for protocol, what becomes a
// tool result, and the error whose words the model reads.

import { brand, LocalError } from "../jsonrpc/errors.js";
import type { Annotations, ResourceContents } from "../protocol/features/resources.js";
import { type ContentBlock, type ResourceLink, nestResource } from "../protocol/content.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { Meta } from "../protocol/meta.js";

/** What a `ToolError` carries beside its message. */
export interface ToolErrorOptions {
  /** Structured content of the failed result, for programs: the model reads the message. */
  readonly data?: JsonObject;
  /** For the author's own handling; neither the model nor the log is told. */
  readonly cause?: unknown;
}

/**
 * Thrown anywhere below a tool's `run`: the call ends with a result that says so (`isError`), and the model reads the
 * message. Below a resource, a prompt, a completer or a method of one's own the client gets the message as a JSON-RPC error.
 * Put nothing into it that a model should not repeat. Its `code` is `TOOL`.
 */
export class ToolError extends LocalError {
  override readonly name: string = "ToolError";
  readonly data: JsonObject | undefined;

  static {
    brand(this, "ToolError");
  }

  constructor(message: string, { data, cause }: ToolErrorOptions = {}) {
    super("TOOL", message, cause === undefined ? undefined : { cause });
    this.data = data;
  }
}

// The error of a question that got no usable answer: its words may be told to the peer.

/**
 * Codes: REFUSED (the client answered with an error; `cause` has it), TIMEOUT, EXPIRED, BAD_ANSWER, UNREACHABLE (no stream
 * could carry the question).
 */
export class AskError extends LocalError {
  override readonly name: string = "AskError";

  static {
    brand(this, "AskError");
  }
}

/** Members every block may carry. */
export interface BlockOptions {
  readonly annotations?: Annotations;
  readonly _meta?: Meta;
}

/** A content block made by one of the functions of this file. */
export class Block {
  readonly block: ContentBlock;

  static {
    brand(this, "Block");
  }

  constructor(block: ContentBlock) {
    this.block = block;
  }
}

/** A text block. */
export function text(value: string, options?: BlockOptions): Block {
  return new Block({ type: "text", text: value, ...options });
}

/** An image block from bytes or padded standard base64. */
export function image(data: Uint8Array | string, mimeType: string, options?: BlockOptions): Block {
  return new Block({ type: "image", data: base64(data), mimeType, ...options });
}

/** An audio block from bytes or padded standard base64. Revisions without audio get an embedded resource. */
export function audio(data: Uint8Array | string, mimeType: string, options?: BlockOptions): Block {
  return new Block({ type: "audio", data: base64(data), mimeType, ...options });
}

/** A resource embedded in the answer. Bytes become a blob; the MIME type defaults to `text/plain` or `application/octet-stream`. */
export function resource(
  uri: string,
  contents: string | Uint8Array,
  options?: BlockOptions & { readonly mimeType?: string },
): Block {
  const { mimeType, ...rest } = options ?? {};
  return new Block({ type: "resource", resource: resourceContents(uri, contents, mimeType), ...rest });
}

/** A link to a resource the client can read by itself. Revisions without links get a text that names it. */
export function link(target: Omit<ResourceLink, "type">): Block {
  return new Block({ type: "resource_link", ...target });
}

/** Contents of a resource as `resources/read` and embedded resources carry them, always with a MIME type. */
export function resourceContents(uri: string, contents: string | Uint8Array, mimeType?: string): ResourceContents {
  if (typeof contents === "string") return { uri, mimeType: mimeType ?? "text/plain", text: contents };
  return { uri, mimeType: mimeType ?? "application/octet-stream", blob: toBase64(contents) };
}

/** Padded standard alphabet, as the specification demands. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function base64(data: Uint8Array | string): string {
  if (typeof data !== "string") return toBase64(data);
  if (BASE64.test(data)) return data;
  throw new LocalError("BAD_BASE64", "Binary content must be padded standard base64, or bytes (Uint8Array)");
}

// Base64 of bytes, without depending on a runtime's own classes.

/** Bytes turned into characters at once: small enough for a function's arguments. */
const STEP = 0x8000;

/** Padded standard base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += STEP) {
    binary += String.fromCharCode(...bytes.subarray(start, start + STEP));
  }
  return btoa(binary);
}

/** Unpadded base64 in the alphabet that URLs, headers and file names take. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Bytes of base64 in either alphabet, padded or not. Throws a DOMException for anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

// From what a handler returned to a tool result.

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

// A short fingerprint of text, against accidents and not against attackers.

/** FNV-1a of the text in eight hexadecimal digits. */
export function fingerprint(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
