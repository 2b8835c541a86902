// What a tool returned that JSON would lose or change without a word: mended where it is plain what was meant, refused with its
// place and what to write where not. Loaded with the first such value.
import type { MaybePromise } from "../endpoint/call.js";
import { LocalError } from "../jsonrpc/errors.js";
import { isJsonObject, isThenable } from "../jsonrpc/message.js";
import type { ContentBlock } from "../protocol/content.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import {
  Block,
  dataResult,
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
    return mendedContent(result(value).value);
  }
  if (isResult(value, (content) => content.length > 0 && content.every(isOfTheWire))) {
    throw new LocalError("WIRE_RESULT", WIRE_RESULT);
  }
  const made = mended(value);
  return isThenable(made)
    ? Promise.resolve(made).then((data) => dataResult(data, JSON.stringify(data), structured))
    : dataResult(made, JSON.stringify(made), structured);
}

/** A result whose structured content is as JSON can carry it. */
export function mendedContent(whole: CallToolResult): MaybePromise<CallToolResult> {
  const { structuredContent } = whole;
  const made = structuredContent === undefined ? undefined : mended(structuredContent);
  if (isThenable(made)) return Promise.resolve(made).then((data) => ({ ...whole, structuredContent: data }));
  return made === structuredContent ? whole : { ...whole, structuredContent: made };
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
  if (!Array.isArray(value)) return isBlock(value) ? [toBlock(value)] : undefined;
  if (!value.every((item) => typeof item === "string" || isBlock(item)) || !value.some(isBlock)) return undefined;
  return value.map(toBlock);
}

/** One of our blocks, or one as it stands on the wire. */
function isBlock(value: unknown): value is Block | ContentBlock {
  if (value instanceof Block) return true;
  if (!isJsonObject(value)) return false;
  const { type } = value;
  const members = typeof type === "string" && Object.hasOwn(BLOCK_MEMBERS, type) ? BLOCK_MEMBERS[type] : undefined;
  if (members?.every((name) => typeof value[name] === "string") !== true) return false;
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
  if (place === undefined && (typeof value === "function" || typeof value === "symbol")) {
    throw lost(place, `a ${typeof value}`, typeof value === "function" ? "call it" : "return text");
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
