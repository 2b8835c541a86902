// What handlers return or throw: content blocks, marked so that data is never mistaken for protocol, what becomes a
// tool result, and the error whose words the model reads.

import { brand, LocalError } from "../jsonrpc/errors.js";
import type { Annotations, ResourceContents } from "../protocol/features/resources.js";
import { nestResource } from "../era/project-result.js";
import type { ContentBlock, ResourceLink } from "../protocol/content.js";
import type { Answer } from "../endpoint/call.js";
import { isJsonObject, isThenable, type JsonObject } from "../jsonrpc/message.js";
import { unknownMember } from "../schema/schema.js";
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
    requireText(message, "new ToolError(...) takes the words for the model", 'write new ToolError("...", { data })');
    super("TOOL", message, cause === undefined ? undefined : { cause });
    this.data = data;
  }
}

// The error of a question that got no usable answer: its words may be told to the peer.

/**
 * Codes: REFUSED (the client answered with an error; `cause` has it), TIMEOUT, EXPIRED (the call ended first, or its client did not
 * come back), CANCELLED (the question's `signal` was aborted; `cause` is its reason), BAD_ANSWER, UNREACHABLE (no stream could carry
 * the question).
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
  requireText(value, "text(...) takes a text", "write text(String(value)), or return data as it is");
  return new Block({ type: "text", text: value, ...options });
}

/** An image block from bytes or padded standard base64. */
export function image(data: Uint8Array | string, mimeType: string, options?: BlockOptions): Block {
  requireThat(MIME.test(mimeType), "image(...) needs a MIME type", mimeType, 'write image(data, "image/png")');
  return new Block({ type: "image", data: base64(data), mimeType, ...options });
}

/** An audio block from bytes or padded standard base64. Revisions without audio get an embedded resource. */
export function audio(data: Uint8Array | string, mimeType: string, options?: BlockOptions): Block {
  requireThat(MIME.test(mimeType), "audio(...) needs a MIME type", mimeType, 'write audio(data, "audio/wav")');
  return new Block({ type: "audio", data: base64(data), mimeType, ...options });
}

/** A resource embedded in the answer. Bytes become a blob; the MIME type defaults to `text/plain` or `application/octet-stream`. */
export function resource(
  uri: string,
  contents: string | Uint8Array,
  options?: BlockOptions & { readonly mimeType?: string },
): Block {
  const example = "write resource(uri, contents)";
  requireText(uri, "resource(...) takes a URI first", example);
  const readable = typeof contents === "string" || contents instanceof Uint8Array;
  requireThat(readable, "resource(...) needs a text or bytes (Uint8Array)", contents, example);
  const { mimeType, ...rest } = options ?? {};
  return new Block({ type: "resource", resource: resourceContents(uri, contents, mimeType), ...rest });
}

/** A link to a resource the client can read by itself. Revisions without links get a text that names it. */
export function link(target: Omit<ResourceLink, "type">): Block {
  const example = 'write link({ uri: "notes://7", name: "Note 7" })';
  requireThat(isJsonObject(target), "link(...) takes one object", target, example);
  requireText(target.uri, "link(...) needs a `uri`", example);
  requireText(target.name, "link(...) needs a `name`", example);
  return new Block({ type: "resource_link", ...target });
}

/** Contents of a resource as `resources/read` and embedded resources carry them, always with a MIME type. */
export function resourceContents(uri: string, contents: string | Uint8Array, mimeType?: string): ResourceContents {
  if (typeof contents === "string") return { uri, mimeType: mimeType ?? "text/plain", text: contents };
  return { uri, mimeType: mimeType ?? "application/octet-stream", blob: toBase64(contents) };
}

/** A MIME type, at its beginning. */
export const MIME: RegExp = /^[^\s/]+\/[^\s/]/;

function requireText(given: unknown, rule: string, example: string): void {
  requireThat(typeof given === "string", rule, given, example);
}

/** Throws BAD_CONTENT in the code of the author who got it wrong. */
function requireThat(holds: boolean, rule: string, given: unknown, example: string): void {
  if (holds) return;
  const what = typeof given === "string" ? JSON.stringify(given) : Array.isArray(given) ? "a list" : String(given);
  throw badContent(`${rule}, not ${given === Object(given) && !Array.isArray(given) ? "an object" : what}: ${example}`);
}

function badContent(what: string): LocalError {
  return new LocalError("BAD_CONTENT", what);
}

/** Padded standard alphabet, as the specification demands. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function base64(data: Uint8Array | string): string {
  const readable = typeof data === "string" || data instanceof Uint8Array;
  requireThat(readable, "Binary content is base64 or bytes (Uint8Array)", data, "write new Uint8Array(buffer)");
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
  /** Its content as its author gave it, where that and the structured content are to be looked through. */
  readonly given: readonly unknown[] | undefined;

  static {
    brand(this, "ToolResult");
  }

  constructor(value: CallToolResult, given?: readonly unknown[]) {
    this.value = value;
    this.given = given;
  }
}

/** An answer another server gave, passed on as it is: returned by what stands in for its tools, prompts and resources. */
export class Relayed {
  readonly answer: Answer;

  constructor(answer: Answer) {
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

/** The members of a result that say something. */
export const RESULT_MEMBERS: readonly string[] = ["content", "structuredContent", "isError", "_meta"];

/** A whole result, for when content, structured content and `_meta` are wanted together. */
export function result(parts: ResultParts): ToolResult {
  requireThat(
    isJsonObject(parts),
    "result(...) takes one object",
    parts,
    "write result({ content, structuredContent })",
  );
  const { content = [], structuredContent, isError = false, _meta, ...others } = parts;
  for (const name of Object.keys(others)) throw badContent(`result(...): ${unknownMember(name, RESULT_MEMBERS)}`);
  requireThat(typeof isError === "boolean", "`isError` is true or false", isError, "write isError: true");
  requireThat(Array.isArray(content), "`content` is a list", content, "write content: [...]");
  const value: CallToolResult = {
    content: content.map(toBlock),
    ...(structuredContent === undefined ? {} : { structuredContent }),
    isError,
    ...(_meta === undefined ? {} : { _meta }),
  };
  return new ToolResult(value, content);
}

/** A result that tells the model that the tool failed and why: words it can act on. */
export function failure(message: string | Error, structuredContent?: JsonObject): ToolResult {
  const words = message instanceof Error ? message.message : message;
  requireText(words, "ctx.fail(...) takes the words for the model", 'write return ctx.fail("There is no note 7")');
  const content: ContentBlock[] = [{ type: "text", text: words }];
  return new ToolResult({ content, ...(structuredContent === undefined ? {} : { structuredContent }), isError: true });
}

/** The result of data with its JSON, which has what JSON makes of values that say so themselves: a `Date` and a `URL` are text. */
export function dataResult(returned: unknown, json: string, structured: boolean): CallToolResult {
  const own = (returned as { readonly toJSON?: unknown } | null)?.toJSON;
  const value: unknown = typeof own === "function" ? JSON.parse(json) : returned;
  const content = [toBlock(typeof value === "string" && !structured ? value : json)];
  if (structured || isJsonObject(value)) return { content, structuredContent: value, isError: false };
  return succeeded(content);
}

/** Deeper values are looked through with care: they may be in themselves. */
export const DEEPEST_PLAIN = 100;

/** Whether JSON loses nothing of a value, told as fast as can be: what it says of others is not certain. */
export function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return isText(value) || (depth > 0 && value === undefined);
  if (depth > DEEPEST_PLAIN) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (!isPlain(item, depth + 1)) return false;
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value instanceof Date && isPlain(+value, 1);
  for (const name in value) if (!isPlain((value as JsonObject)[name], depth + 1)) return false;
  return true;
}

function isText(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || value === null;
}

/** Whether a value, or an item of a list, may be a block or a result as they stand on the wire. */
export function isOfTheWire(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((item) => !Array.isArray(item) && isOfTheWire(item));
  return (
    isJsonObject(value) && (Array.isArray(value["content"]) || /^(?:text|image|audio)$/.test(String(value["type"])))
  );
}

/** Says that it succeeded: the member may be left out, but people who read transcripts look for it. */
export function succeeded(content: ContentBlock[]): CallToolResult {
  return { content, isError: false };
}

export function isBlockList(value: unknown): value is readonly (string | Block)[] {
  if (!Array.isArray(value) || !value.some((item) => item instanceof Block)) return false;
  return value.every((item) => typeof item === "string" || item instanceof Block);
}

export function toBlock(item: string | Block | ContentBlock): ContentBlock {
  if (typeof item === "string") return { type: "text", text: item };
  if (item instanceof Block) return item.block;
  const known = typeof (item as Partial<ContentBlock> | null | undefined)?.type === "string";
  requireThat(
    known,
    "`content` is a list of texts and blocks",
    item,
    "write text(...), image(...) or another of these",
  );
  return item.type === "resource" && isJsonObject((item as Partial<typeof item>).resource ?? item)
    ? nestResource(item)
    : item;
}

/** Whether a function of an author's said yes: true alone is. A promise is told of, for it says nothing while somebody waits. */
export function saidYes(what: string, answer: unknown, warn: (text: string) => void): boolean {
  if (isThenable(answer)) {
    warn(`${what} returned a promise, which counts as no: return true or false at once`);
    Promise.resolve(answer).catch(() => undefined);
  }
  return answer === true;
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
