// What handlers returned that is not plainly right. Of a tool's data what JSON would lose or change without a word is mended where it is
// plain what was meant, and refused with its place and what to write where not; so is what clients would refuse of a resource, a
// template's list, a prompt and a completer. Loaded with the first such value.
import type { MaybePromise } from "../endpoint/call.js";
import { LocalError } from "../jsonrpc/errors.js";
import { isJsonObject, isThenable, type JsonObject, peerWords } from "../jsonrpc/message.js";
import type { ContentBlock } from "../protocol/content.js";
import type { Resource, ResourceContents, Role } from "../protocol/features/resources.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import { type MembersOf, valueFault } from "../schema/schema.js";
import {
  Block,
  dataResult,
  MIME,
  result,
  RESULT_MEMBERS,
  type ResultParts,
  succeeded,
  toBlock,
  ToolResult,
} from "./content.js";

/** The result of a value that is no plain data, or may not be. Throws NOT_JSON, WIRE_RESULT. */
export function mendedResult(value: unknown, structured: boolean): MaybePromise<CallToolResult> {
  const blocks = structured ? undefined : blocksOf(value);
  if (blocks !== undefined) return succeeded(blocks);
  if (isResult(value, (content) => content.some((item) => item instanceof Block))) {
    return mendedContent(result(value).value, value.content);
  }
  if (isResult(value, (content) => content.length > 0 && content.every(isOfTheWire))) {
    throw new LocalError("WIRE_RESULT", WIRE_RESULT);
  }
  const made = mended(value);
  return isThenable(made)
    ? Promise.resolve(made).then((data) => dataResult(data, JSON.stringify(data), structured))
    : dataResult(made, JSON.stringify(made), structured);
}

/**
 * A result whose structured content is as JSON can carry it. Throws BAD_CONTENT for a block, as its author gave it, that is not as
 * clients take it.
 */
export function mendedContent(whole: CallToolResult, given: readonly unknown[] = []): MaybePromise<CallToolResult> {
  requireBlocks(given, "The tool returned `content`");
  const { structuredContent } = whole;
  const made = structuredContent === undefined ? undefined : mended(structuredContent);
  if (isThenable(made)) return Promise.resolve(made).then((data) => ({ ...whole, structuredContent: data }));
  return made === structuredContent ? whole : { ...whole, structuredContent: made };
}

/** The result with what its output schema made of its structured content, and the same in the text that stands for it. */
export function conforming(whole: CallToolResult, value: unknown): MaybePromise<CallToolResult> {
  const { structuredContent: given, content } = whole;
  if (isSame(given, value)) return whole;
  const made = asJson(value);
  const shown = [JSON.stringify(given), JSON.stringify(given, undefined, 2)];
  const retold = content.map((block) => {
    const at = block.type === "text" ? shown.indexOf(block.text) : -1;
    return at === -1 ? block : { ...block, text: JSON.stringify(made, undefined, at === 0 ? undefined : 2) };
  });
  return { ...whole, content: retold, structuredContent: made };
}

/** A value as JSON carries it. Throws NOT_JSON for one that it cannot carry. */
export function asJson(value: unknown): unknown {
  const made = mended(value);
  if (isThenable(made)) throw lost(undefined, "a promise that its output schema made", "await it in the schema");
  return JSON.parse(JSON.stringify(made));
}

/** What a method of an author's own returned, as JSON can carry it. Throws NOT_JSON. */
export function methodMade(returned: JsonObject): MaybePromise<JsonObject> {
  try {
    return mended(returned) as MaybePromise<JsonObject>;
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    throw new LocalError(error.code, error.message.replace(/^The tool/, "The method"));
  }
}

/** Whether two values are the same data: the first one then keeps what is known of it, such as the digits of its numbers. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isPlainObject(one) || !isPlainObject(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]));
}

/** A list, or an object with nothing but its members. */
function isPlainObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/** The members that a block of each kind has besides `annotations` and `_meta`: what has others is data. */
const BLOCK_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
};
const SHARED_MEMBERS = ["type", "annotations", "_meta"];
const BLOCK_TYPES: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);
const WIRE_RESULT =
  "The tool returned a result in the form of the wire ({ content: [...] }), which this library takes for data: " +
  "return text, data, or result({ content, structuredContent }), which is made for that";

/** The blocks that a value is, alone or in a list, texts among them; undefined for data. */
function blocksOf(value: unknown): ContentBlock[] | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const blocks = list.filter((item) => typeof item === "string" || isBlock(item));
  if (blocks.length < list.length || !blocks.some(isBlock)) return undefined;
  requireBlocks(blocks, "The tool returned content");
  return blocks.map(toBlock);
}

function requireBlocks(given: readonly unknown[], what: string): void {
  for (const [index, item] of given.entries()) {
    const fault = blockFault(item);
    if (fault !== undefined) throw bad(`${what}, of which [${index}]`, fault);
  }
}

/** One of our blocks, or one as it stands on the wire, be it that its MIME type is missing. */
function isBlock(value: unknown): value is Block | ContentBlock {
  if (value instanceof Block) return true;
  if (!isJsonObject(value)) return false;
  const { type } = value;
  const members = typeof type === "string" && Object.hasOwn(BLOCK_MEMBERS, type) ? BLOCK_MEMBERS[type] : undefined;
  const isThere = (name: string): boolean =>
    typeof value[name] === "string" || (name === "mimeType" && !(name in value));
  if (members?.every(isThere) !== true) return false;
  return Object.keys(value).every((name) => members.includes(name) || SHARED_MEMBERS.includes(name));
}

function isOfTheWire(item: unknown): boolean {
  return BLOCK_TYPES.has((item as { readonly type?: unknown } | null)?.type);
}

/** Whether a value has nothing but the members of a result, and such content. */
function isResult(value: unknown, such: (content: readonly unknown[]) => boolean): value is ResultParts {
  if (!isJsonObject(value) || !Array.isArray(value["content"])) return false;
  return Object.keys(value).every((member) => RESULT_MEMBERS.includes(member)) && such(value["content"]);
}

/** Where a value stands in what was returned; undefined for the whole of it. */
interface Place {
  readonly within: Place | undefined;
  readonly step: string | number;
}

/** One look through a value: what its promises became, and which of them are still to be waited for. */
interface Look {
  readonly settled: Map<unknown, unknown>;
  readonly waiting: Set<PromiseLike<unknown>>;
  /** The objects that the place looked at is in. */
  readonly within: Set<object>;
}

/**
 * The value as JSON can carry it: maps are objects, sets are lists, promises what they became. It is the same one where nothing had
 * to be mended. Throws NOT_JSON with the place of what cannot be mended.
 */
function mended(value: unknown, settled: Map<unknown, unknown> = new Map()): MaybePromise<unknown> {
  const look: Look = { settled, waiting: new Set(), within: new Set() };
  const found = mend(value, undefined, look);
  if (look.waiting.size === 0) return found;
  const kept = [...look.waiting].map((promise) =>
    Promise.resolve(promise).then((became) => void settled.set(promise, became)),
  );
  return Promise.all(kept).then(() => mended(value, settled));
}

function mend(value: unknown, place: Place | undefined, look: Look): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw lost(place, String(value), "return a number, or null where there is none");
  }
  if (typeof value === "bigint")
    throw lost(place, "a BigInt", "return String(value), or Number(value) where it is small");
  if (place === undefined && value === undefined)
    throw lost(place, "nothing", "return what its output schema describes");
  if (typeof value === "function" || typeof value === "symbol") {
    const member = place === undefined ? "" : ", or leave that member out";
    throw lost(place, `a ${typeof value}`, `${typeof value === "function" ? "call it" : "return text"}${member}`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (isThenable(value)) {
    if (look.settled.has(value)) return mend(look.settled.get(value), place, look);
    look.waiting.add(value);
    return undefined;
  }
  if (look.within.has(value)) throw lost(place, "an object that it is in itself", "leave that member out");
  look.within.add(value);
  try {
    return mendObject(value, place, look);
  } finally {
    look.within.delete(value);
  }
}

function mendObject(value: object, place: Place | undefined, look: Look): unknown {
  if (Array.isArray(value)) return mendList(value, place, look);
  if (isA(value, "Map")) return mendMap(value as ReadonlyMap<unknown, unknown>, place, look);
  if (isA(value, "Set")) return mendList([...(value as ReadonlySet<unknown>)], place, look);
  refuseLost(value, place);
  if (typeof (value as { readonly toJSON?: unknown }).toJSON === "function") return value;
  return mendMembers(value as Readonly<Record<string, unknown>>, place, look);
}

function mendList(list: readonly unknown[], place: Place | undefined, look: Look): readonly unknown[] {
  const mendedItems = list.map((item, index) => mend(item, { within: place, step: index }, look));
  return mendedItems.every((item, index) => item === list[index]) ? list : mendedItems;
}

function mendMap(map: ReadonlyMap<unknown, unknown>, place: Place | undefined, look: Look): unknown {
  const members = [...map];
  const odd = members.find(([key]) => typeof key !== "string");
  if (odd !== undefined) {
    const what = `a Map with a key that is no text (${typeof odd[0]})`;
    throw lost(place, what, "return [...map], or Object.fromEntries(map) with keys of text");
  }
  return mendMembers(Object.fromEntries(members) as Record<string, unknown>, place, look);
}

function mendMembers(value: Readonly<Record<string, unknown>>, place: Place | undefined, look: Look): unknown {
  let changed: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    const before = value[name];
    const after = mend(before, { within: place, step: name }, look);
    if (after === before) continue;
    changed ??= { ...value };
    Object.defineProperty(changed, name, { value: after, enumerable: true, configurable: true, writable: true });
  }
  return changed ?? value;
}

const BYTES = "return image(...), audio(...) or resource(uri, bytes)";
const ENTRIES = "return Object.fromEntries(value)";
const READ = "read it first";

/** Objects of which JSON keeps nothing, or nonsense, by the name of their class, and what to return instead. */
const LOST: readonly (readonly [string, string])[] = [
  ["Error", 'throw it, or throw new ToolError("words for the model"); inside of data write error.message'],
  ["Response", "return await response.json(), or its text"],
  ["Request", "return what of it should be told"],
  ["ReadableStream", READ],
  ["ArrayBuffer", BYTES],
  ["Uint8Array", BYTES],
  ["DataView", BYTES],
  ["Blob", "return image(new Uint8Array(await blob.arrayBuffer()), blob.type), or await blob.text()"],
  ["RegExp", "return String(value)"],
  ["Headers", ENTRIES],
  ["FormData", ENTRIES],
  ["URLSearchParams", "return String(value), or Object.fromEntries(value)"],
  ["WeakMap", "use a Map"],
  ["WeakSet", "use a Set"],
];

function refuseLost(value: object, place: Place | undefined): void {
  if (value instanceof Block) {
    const advice = "text(...) and the like are returned alone or in a list of texts and such; data beside them needs";
    throw lost(place, "a content block", `${advice} result({ content, structuredContent })`);
  }
  if (value instanceof ToolResult) throw lost(place, "a whole result", "return result(...) and ctx.fail(...) alone");
  const known = LOST.find(([name]) => isA(value, name));
  if (known !== undefined) throw lost(place, `${/^[AE]/.test(known[0]) ? "an" : "a"} ${known[0]}`, known[1]);
  if (ArrayBuffer.isView(value)) throw lost(place, `a ${value.constructor.name}`, "return [...value]");
  if (isA(value, "Date") && Number.isNaN((value as Date).getTime())) {
    throw lost(place, "a Date that is no date", "return a valid one, or null where there is none");
  }
  refuseEmpty(value, place);
}

/** An object of a class from which JSON takes nothing at all: an iterator, or one whose members are private. */
function refuseEmpty(value: object, place: Place | undefined): void {
  if (Object.keys(value).length > 0 || "toJSON" in value) return;
  if (Symbol.asyncIterator in value) {
    throw lost(place, "an async iterator", "collect it first: for await (const item of value) list.push(item)");
  }
  if (Symbol.iterator in value) throw lost(place, "an iterator", "return [...value]");
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: { readonly name?: string } } | null;
  // A plain object of another realm ends the chain as ours do.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return;
  const name = prototype.constructor?.name ?? "";
  const what = name === "" ? "an object without members of its own" : `an object of class ${name} without members`;
  throw lost(place, what, "return a plain object with what should be told, or give it toJSON()");
}

/** By class, since one of another realm is no `instanceof` ours; not by tag, which is free for anybody to choose. */
function isA(value: object, name: string): boolean {
  const known = (globalThis as Record<string, unknown>)[name];
  return typeof known === "function" && value instanceof known;
}

function lost(place: Place | undefined, what: string, advice: string): LocalError {
  const where = place === undefined ? "" : ` at ${stepsTo(place).replace(/^\./, "")}`;
  return new LocalError("NOT_JSON", `The tool returned ${what}${where}, which JSON cannot carry: ${advice}`);
}

/** The place as one writes it in code. */
function stepsTo({ within, step }: Place): string {
  const before = within === undefined ? "" : stepsTo(within);
  const isName = typeof step === "string" && /^[A-Za-z_$][\w$]*$/.test(step);
  return `${before}${isName ? `.${step}` : `[${JSON.stringify(step)}]`}`;
}

// What `read`, `list`, a prompt's `run` and a completer returned: in one of the promised forms, or what to write instead.

/** The contents that `read` returned as they stand on the wire. Throws BAD_CONTENT, WIRE_RESULT. */
export function readContents(returned: unknown): readonly ResourceContents[] {
  if (isJsonObject(returned) && Object.hasOwn(returned, "contents")) throw new LocalError("WIRE_RESULT", WIRE_CONTENTS);
  const list: readonly unknown[] = Array.isArray(returned) ? returned : [returned];
  for (const [index, contents] of list.entries()) {
    const fault = isContents(contents) ? contentsFault(contents) : unreadable(contents);
    if (fault === undefined) continue;
    throw bad(
      Array.isArray(returned) ? `\`read\` returned a list, of which [${index}]` : "What `read` returned",
      fault,
    );
  }
  return list as readonly ResourceContents[];
}

const WIRE_CONTENTS =
  "`read` returned { contents: [...] }, the form of the wire: return the text, the bytes, or the list of contents itself";
const JSON_TEXT = 'return JSON.stringify(value), with mimeType: "application/json" beside `read`';
const AS_BYTES = "return new Uint8Array(value)";

/** What to return from `read` instead of an object, by the name of its class. */
const READABLE: readonly (readonly [string, string])[] = [
  ["Response", "return await response.text(), or new Uint8Array(await response.arrayBuffer())"],
  ["Blob", "return await blob.text(), or new Uint8Array(await blob.arrayBuffer())"],
  ["ReadableStream", READ],
  ["Request", READ],
  ["ArrayBuffer", AS_BYTES],
  ["SharedArrayBuffer", AS_BYTES],
  ["DataView", "return new Uint8Array(value.buffer)"],
  ["Date", "return value.toISOString()"],
  ["URL", "return String(value)"],
  ["URLSearchParams", "return String(value)"],
  ["RegExp", "return String(value)"],
  ["Error", "throw it"],
  ["Map", "return JSON.stringify(Object.fromEntries(value))"],
  ["Set", "return JSON.stringify([...value])"],
];

/** Whether an object is meant as contents: a text, blob or URI of its own, and none that its class has for everybody. */
function isContents(value: unknown): value is JsonObject {
  return isJsonObject(value) && ["uri", "text", "blob"].some((name) => Object.hasOwn(value, name));
}

function unreadable(value: unknown): string {
  const none = value === null ? "return undefined where there is nothing" : JSON_TEXT;
  if (typeof value !== "object" || value === null) {
    const advice = typeof value === "string" ? "return one text, or { uri, text } for each" : none;
    return `is ${named(value)}, no text, bytes (Uint8Array) or contents ({ uri, text }): ${advice}`;
  }
  const [, known] = READABLE.find(([name]) => isA(value, name)) ?? [];
  const advice = known ?? (ArrayBuffer.isView(value) ? "return new Uint8Array(value.buffer)" : ofData(value));
  return `is ${named(value)}, no text, bytes (Uint8Array) or contents ({ uri, text }): ${advice}`;
}

function ofData(value: object): string {
  if (value instanceof Block || value instanceof ToolResult)
    return "content blocks are for tools and prompts; return the text or the bytes";
  if (Array.isArray(value) || !(Symbol.iterator in value || Symbol.asyncIterator in value)) return JSON_TEXT;
  return "collect it first, then return JSON.stringify(list)";
}

/** What is wrong with contents, as the end of a sentence; undefined when nothing is. */
function contentsFault({ uri, text, blob, mimeType, _meta }: JsonObject): string | undefined {
  if (typeof uri !== "string")
    return `has ${ofKind(uri, "uri")}: write { uri, text }, or return the text or the bytes alone`;
  if (text !== undefined && blob !== undefined) return 'has both "text" and "blob": write one of them';
  if (text === undefined && blob === undefined) return 'has neither "text" nor "blob": write { uri, text }';
  if (text !== undefined && typeof text !== "string")
    return `has ${ofKind(text, "text")}: write text: JSON.stringify(value)`;
  if (blob !== undefined && !isBase64(blob)) return `has ${noBase64(blob, "blob")}`;
  if (mimeType !== undefined && typeof mimeType !== "string") return `has ${ofKind(mimeType, "mimeType")}`;
  return _meta === undefined || isJsonObject(_meta) ? undefined : `has ${ofKind(_meta, "_meta")}: it is an object`;
}

function noBase64(value: unknown, member: string): string {
  if (typeof value !== "string") {
    return `${ofKind(value, member)}, no base64: write ${member}: Buffer.from(bytes).toString("base64")`;
  }
  const url = /^data:/i.test(value) ? "a data URL" : "no padded standard base64";
  return `"${member}" that is ${url}: write the base64 alone, as Buffer.from(bytes).toString("base64") makes it`;
}

/** Padded standard base64, judged without looking back: it may be megabytes. */
function isBase64(value: unknown): boolean {
  return typeof value === "string" && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);
}

function ofKind(value: unknown, member: string): string {
  return value === undefined ? `no "${member}"` : `${named(value)} as "${member}"`;
}

/** A value by what it is, for a sentence: its class where it has one, and what a plain object has. */
function named(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return `the text ${peerWords(JSON.stringify(value))}`;
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value === null || typeof value !== "object") return "null";
  if (Array.isArray(value)) return "a list";
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: { readonly name?: string } } | null;
  const name = prototype === null ? "Object" : (prototype.constructor?.name ?? "");
  if (name !== "Object") return name === "" ? "an object" : `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
  const members = Object.keys(value);
  return members.length === 0 ? "an empty object" : `an object with ${peerWords(members.slice(0, 5).join(", "))}`;
}

function bad(what: string, fault: string): LocalError {
  return new LocalError("BAD_CONTENT", `${what} ${fault}`);
}

/** One resource of a template's list, and one message of a prompt, as their authors write them. */
type ListedResource = Omit<Resource, "name"> & { readonly name?: string };
interface MessageInput {
  readonly role: Role;
  readonly content: string | Block | ContentBlock;
}
type CompletionReturn =
  | readonly string[]
  | { readonly values: readonly string[]; readonly total?: number; readonly hasMore?: boolean };

/** What a resource in a template's list may have, and of what kind. What else it has is not shown. */
const LISTED_MEMBERS: MembersOf<Omit<ListedResource, "uri">> = {
  name: "text",
  title: "text",
  description: "text",
  mimeType: "text",
  size: "number",
  icons: "list",
  annotations: "object",
  _meta: "object",
};

/** What the `list` of a template returned. Throws BAD_CONTENT naming the first that is no resource. */
export function listedIn(template: string, returned: unknown): readonly ListedResource[] {
  const what = `\`list\` of the template ${template} returned`;
  if (!Array.isArray(returned)) {
    const iterable = Symbol.iterator in Object(returned) && typeof returned !== "string";
    const advice = iterable ? "return [...value]" : 'return a list, as in [{ uri: "notes://7", name: "Note 7" }]';
    throw bad(what, `${named(returned)}, no list: ${advice}`);
  }
  for (const [index, listed] of (returned as readonly unknown[]).entries()) {
    const fault = listedFault(listed);
    if (fault !== undefined) throw bad(`${what} a list, of which [${index}]`, fault);
  }
  return returned as readonly ListedResource[];
}

function listedFault(listed: unknown): string | undefined {
  if (!isJsonObject(listed)) {
    const written = typeof listed === "string" ? peerWords(JSON.stringify(listed)) : '"notes://7"';
    return `is ${named(listed)}, no resource: write { uri: ${written} }`;
  }
  const { uri } = listed;
  if (typeof uri !== "string") return `has ${ofKind(uri, "uri")}: write { uri: "notes://7" }`;
  for (const [name, kind] of Object.entries(LISTED_MEMBERS)) {
    const fault = listed[name] === undefined ? undefined : valueFault(name, listed[name], kind);
    if (fault !== undefined) return `has a wrong member: ${fault}`;
  }
  return undefined;
}

const ONE_MESSAGE = 'write { role: "user", content: "..." }';

/** The messages that a prompt's `run` returned. Throws BAD_CONTENT naming the first that is none. */
export function promptMade(returned: unknown): {
  readonly description?: string | undefined;
  readonly messages: readonly MessageInput[];
} {
  const whole = isJsonObject(returned) && Object.hasOwn(returned, "messages") ? returned : { messages: returned };
  const { description, messages } = whole as { readonly description?: unknown; readonly messages: unknown };
  const given = whole === returned ? "The prompt returned as `messages`" : "The prompt returned";
  if (!Array.isArray(messages)) throw bad(given, noMessages(messages));
  for (const [index, message] of (messages as readonly unknown[]).entries()) {
    const fault = messageFault(message);
    if (fault !== undefined) throw bad(`${given} a list, of which [${index}]`, fault);
  }
  if (description !== undefined && typeof description !== "string")
    throw bad("The prompt returned", `${ofKind(description, "description")}, which is a text`);
  return { description, messages: messages as readonly MessageInput[] };
}

function noMessages(value: unknown): string {
  const advice =
    isJsonObject(value) && Object.hasOwn(value, "content") && Object.hasOwn(value, "role")
      ? "return it in a list, as in [{ role, content }]"
      : 'return a text, or a list as in [{ role: "user", content: "..." }]';
  return `${named(value)}, no text and no list of messages: ${advice}`;
}

function messageFault(message: unknown): string | undefined {
  if (!isJsonObject(message) || message instanceof Block) return `is ${named(message)}, no message: ${ONE_MESSAGE}`;
  const { role, content } = message;
  if (role !== "user" && role !== "assistant") {
    const system =
      role === "system" ? "there is no system in a prompt, so say it in a message of the user" : ONE_MESSAGE;
    return `has ${ofKind(role, "role")}, which is "user" or "assistant": ${system}`;
  }
  if (Array.isArray(content))
    return 'has a list as its "content", which is one text or block: write a message for each';
  const fault = blockFault(content);
  return fault && `has a "content" that ${fault}`;
}

/** What is wrong with a text or a content block, as the end of a sentence; undefined when nothing is. */
export function blockFault(value: unknown): string | undefined {
  if (typeof value === "string" || value instanceof Block) return undefined;
  if (!isJsonObject(value)) return `is ${named(value)}, no text and no block: write a text, text(...) or image(...)`;
  const { type } = value;
  if (type === "text")
    return typeof value["text"] === "string" ? undefined : `has ${ofKind(value["text"], "text")}: write text(...)`;
  if (type === "image" || type === "audio") return mediaFault(type, value);
  if (type === "resource") {
    const inner = value["resource"] ?? value;
    return isJsonObject(inner)
      ? contentsFault(inner)
      : `has ${named(inner)} as "resource": write resource(uri, contents)`;
  }
  if (type !== "resource_link") {
    const kinds = "text, image, audio, resource or resource_link";
    return `has ${ofKind(type, "type")}, which is ${kinds}: write text(...), image(...) or another of these`;
  }
  const missing = ["uri", "name"].find((name) => typeof value[name] !== "string");
  return missing && `has ${ofKind(value[missing], missing)}: write link({ uri, name })`;
}

function mediaFault(type: string, { data, mimeType }: JsonObject): string | undefined {
  if (!isBase64(data)) return `has ${noBase64(data, "data")}`;
  if (typeof mimeType === "string" && MIME.test(mimeType)) return undefined;
  return `has ${ofKind(mimeType, "mimeType")}: write mimeType: "${type === "image" ? "image/png" : "audio/wav"}"`;
}

/** What a completer returned: a Set is a list. Throws BAD_CONTENT with what to write. */
export function completionMade(returned: unknown): CompletionReturn {
  const list = listOf(returned);
  if (list !== undefined) {
    textsOf(list, "The completer returned a list");
    return list;
  }
  const whole = isJsonObject(returned) && Object.hasOwn(returned, "values") ? returned : undefined;
  const values = listOf(whole?.["values"]);
  if (whole === undefined || values === undefined) {
    const iterable = typeof returned !== "string" && Symbol.iterator in Object(returned);
    const advice = iterable
      ? "return [...value]"
      : "return a list of texts, [] where there is none, or { values, total }";
    throw bad(
      "The completer returned",
      `${named(whole === undefined ? returned : whole["values"])}, no list of texts: ${advice}`,
    );
  }
  textsOf(values, "The completer returned `values`");
  const { total, hasMore } = whole;
  const fault =
    (total === undefined ? undefined : valueFault("total", total, "number")) ??
    (hasMore === undefined ? undefined : valueFault("hasMore", hasMore, "flag"));
  if (fault !== undefined) throw bad("The completer returned a wrong member:", fault);
  return { ...whole, values };
}

function listOf(value: unknown): readonly string[] | undefined {
  if (Array.isArray(value)) return value as string[];
  return value instanceof Set ? [...(value as ReadonlySet<string>)] : undefined;
}

function textsOf(list: readonly unknown[], what: string): void {
  const index = list.findIndex((value) => typeof value !== "string");
  if (index === -1) return;
  throw bad(
    `${what}, of which [${index}]`,
    `is ${named(list[index])}, no text: write list.map((each) => String(each.name))`,
  );
}

/** What is wrong with one block of a question to the client's model, as the end of a sentence; undefined when nothing is. */
export function sampledFault(block: unknown): string | undefined {
  if (typeof block === "string" || block instanceof Block)
    return 'has no block of the wire as its content: write content: { type: "text", text: "..." }';
  const isTool = isJsonObject(block) && /^tool_(?:use|result)$/.test(String(block["type"]));
  return isTool ? undefined : blockFault(block);
}
