// Relays long results of tools, where nobody but the relay can see them: their long strings are checked as the bytes they came in, and
// written so. To decode and parse them only to write them again takes twice as long as all else. And what waits for an answer was made
// before it came, and V8 counts whatever old memory names as used until its next full collection: so it gets the answer without them.
import { type Call, ReadyResult } from "../endpoint/call.js";
import { exactJson, exactValue } from "../jsonrpc/exact-numbers.js";
import {
  asOneText,
  isJsonObject,
  type JsonObject,
  type RequestId,
  type SuccessMessage,
  type TextBytes,
  type TextPieces,
} from "../jsonrpc/message.js";
import type { AnswerTaker } from "../jsonrpc/outgoing.js";
import { DEFAULT_LIMITS } from "../jsonrpc/limits.js";
import { classify, parseJson } from "../jsonrpc/parse.js";
import type { Implementation } from "../protocol/capabilities.js";

/** Strings of fewer characters, or bytes, are not worth it. */
const LONG = 64 * 1024;

let ownCall: { readonly call?: unknown } | undefined;

/** Whether it is the function that clients are made with: who has put another in its place sees what it gives. */
export function isOwnCall(call: unknown): boolean {
  if (ownCall === undefined) {
    ownCall = {};
    // There is a client, so its code is there: nothing is loaded for a gateway that has none yet.
    import("../client/client.js").then(
      (client) => (ownCall = { call: client.ownCall }),
      // Without it no function counts as that one: long answers go the way of all others.
      () => undefined,
    );
  }
  return call !== undefined && call === ownCall.call;
}

/** How far a request came, and its answer where that is a long one. */
export class Sent implements AnswerTaker {
  /** What it was sent under last; undefined while it was not. */
  id: RequestId | undefined;
  /** The server has begun: it answered a part of it, or asked something for it. */
  begun = false;
  /** The long strings of the answer, in whose places marks stand. */
  #strings: LongStrings | undefined;
  #came: JsonObject | undefined;
  #passed: JsonObject | undefined;

  get sent(): boolean {
    return this.id !== undefined;
  }

  /** For the transport: a long body whose long strings are those of an answer's blocks has marks in their places. */
  shorten(body: Uint8Array, part: Part): string | undefined {
    const strings = LongStrings.of(body, part);
    if (strings === undefined || !isMarked(strings, this.id)) return undefined;
    this.#strings = strings;
    return strings.text;
  }

  /** For the client: puts an answer without its long strings in the place of one that has some. */
  take(message: SuccessMessage): false {
    if (this.#strings !== undefined) return false;
    const { result } = message;
    if (!isPlain(result) || !result.content.some(isLong)) return false;
    this.#came = result;
    this.#passed = { ...result, content: result.content.map(withoutLong) };
    message.result = this.#passed;
    return false;
  }

  /** The answer as it came, of what the client made of the one without its strings; undefined where it had none. For one call. */
  whole(read: JsonObject): LongAnswer | undefined {
    const [strings, came, passed] = [this.#strings, this.#came, this.#passed];
    this.#strings = this.#came = undefined;
    if (strings !== undefined) return { result: read, strings };
    if (came === undefined || passed === undefined) return undefined;
    if (read === passed) return { result: came };
    if (read["content"] !== passed["content"])
      throw new TypeError("The content of a long answer was changed on its way");
    return { result: { ...read, content: came["content"] } };
  }
}

/** `strings`: what its marks stand for. */
export interface LongAnswer {
  readonly result: JsonObject;
  readonly strings?: LongStrings;
}

/** The answer as every other is, for who keeps it. */
export function asKept({ result, strings }: LongAnswer): JsonObject {
  return strings === undefined ? result : (exactValue(asOneText(strings.putInto(exactJson(result)))) as JsonObject);
}

/** A long answer that is written once: of what waits for it nothing has it any more when it is. */
export function writtenOnce(call: Call, { result, strings }: LongAnswer, identity: Implementation): ReadyResult {
  let held: JsonObject | undefined = result;
  return new ReadyResult((codec) => {
    if (held === undefined) throw new TypeError("A long answer is written once");
    const text = codec.resultPieces(call.record, held, identity);
    const pieces = strings === undefined ? text : strings.putInto(asOneText(text));
    if (typeof pieces !== "string") held = undefined;
    return pieces;
  });
}

/** A tool's result of which nobody makes a copy: of a resource that stands in one clients do, as of the list it stands in. */
function isPlain(result: JsonObject): result is JsonObject & { content: unknown[] } {
  const { content, resultType = "complete" } = result;
  return resultType === "complete" && Array.isArray(content) && !content.some(isEmbedded);
}

const isEmbedded = (block: unknown): boolean => isJsonObject(block) && block["type"] === "resource";

const LONG_MEMBERS: Readonly<Record<string, string>> = { text: "text", image: "data", audio: "data" };

/** The member of a block that may hold a long string, and what it holds. */
function contentOf(block: unknown): { readonly member: string; readonly text: string } | undefined {
  if (!isJsonObject(block)) return undefined;
  const member = LONG_MEMBERS[String(block["type"])];
  const text = member === undefined ? undefined : block[member];
  return member === undefined || typeof text !== "string" ? undefined : { member, text };
}

const isLong = (block: unknown): boolean => (contentOf(block)?.text.length ?? 0) >= LONG;

function withoutLong(block: unknown): unknown {
  const { member, text } = contentOf(block) ?? { member: "", text: "" };
  return text.length < LONG ? block : { ...(block as JsonObject), [member]: "" };
}

/** Whether it is the answer to this request, and its marks are contents of blocks and nothing else. */
function isMarked(strings: LongStrings, id: RequestId | undefined): boolean {
  // Whatever breaks a rule or a limit is for who reads every other message.
  const message = parseJson(strings.text, DEFAULT_LIMITS);
  if (!isJsonObject(message) || message["id"] !== id || classify(message) !== "success") return false;
  const result = message["result"] as JsonObject;
  // An older client is told structured content as a text, unless it is there already: then texts are read.
  if (result["structuredContent"] !== undefined || !isPlain(result)) return false;
  return result.content.filter((block) => strings.has(contentOf(block)?.text)).length === strings.count;
}

type Part = (from: number, to: number) => TextBytes;

/** Begins a mark. Nobody outside can know it, so that no string passes for one. */
let begin: string | undefined;

/** The long strings of a JSON text. */
export class LongStrings {
  /** The text, with a mark in the place of each. */
  readonly text: string;
  /** As they stand between their quotes. */
  readonly #strings: readonly TextBytes[];

  /** Undefined where there are none, or they are not most of it, or it is seen not to be JSON. `body` is UTF-8. */
  static of(body: Uint8Array, part: Part): LongStrings | undefined {
    if (scanner === undefined) scanner = newScanner();
    const places = scanner?.longPlaces(body) ?? [];
    if (places.length === 0) return undefined;
    const bytes = places.reduce((sum, [from, to]) => sum + to - from, 0);
    return bytes * 2 < body.length ? undefined : new LongStrings(body, places, part);
  }

  private constructor(body: Uint8Array, places: readonly Place[], part: Part) {
    begin ??= `long string ${crypto.randomUUID()} `;
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    let [text, at] = ["", 0];
    for (const [number, [from, to]] of places.entries()) {
      text += `${decoder.decode(body.subarray(at, from))}${begin}${number};`;
      at = to;
    }
    this.text = text + decoder.decode(body.subarray(at));
    this.#strings = places.map(([from, to]) => part(from, to));
  }

  get count(): number {
    return this.#strings.length;
  }

  /** Whether it is a mark. */
  has(text: string | undefined): boolean {
    return begin !== undefined && text?.startsWith(begin) === true;
  }

  /** A JSON text whose strings have marks, or parts of them, with what they stand for. */
  putInto(json: string): TextPieces {
    const [first = "", ...parts] = json.split(begin as string);
    const pieces: (string | TextBytes)[] = [first];
    for (const part of parts) {
      const end = part.indexOf(";");
      pieces.push(this.#strings[Number(part.slice(0, end))] as TextBytes, part.slice(end + 1));
    }
    return pieces;
  }
}

// Looks through the bytes of a JSON text for its long strings. WebAssembly looks at 16 bytes at once: in JavaScript this took a fifth of
// a long call, and most of one with many escapes.

type Place = readonly [from: number, to: number];

const QUOTE = 0x22;

/** Strings that are looked at: a text most of which are long ones has few, and limits of messages are not judged yet. */
const MOST_STRINGS = 4_096;

interface EndOfString {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly endOfString: (at: number, end: number) => number;
}

/** Finds strings in one body at a time: it has a part of it, the window, in a memory of its own. */
class Scanner {
  readonly #endOfString: EndOfString["endOfString"];
  readonly #memory: Uint8Array;
  /** Half of the memory: blocks of bytes that begin in the window are read to their ends. */
  readonly #room: number;
  #from = 0;
  #end = 0;

  constructor({ memory, endOfString }: EndOfString) {
    this.#endOfString = endOfString;
    this.#memory = new Uint8Array(memory.buffer);
    this.#room = this.#memory.length / 2;
  }

  /**
   * Where the long strings are, without their quotes; undefined where there are too many strings, or one is not found to be what JSON has.
   */
  longPlaces(body: Uint8Array): Place[] | undefined {
    // The window may be of another body.
    this.#from = this.#end = 0;
    const places: Place[] = [];
    let looked = 0;
    for (let quote = body.indexOf(QUOTE); quote >= 0;) {
      const end = this.#endOf(body, quote + 1);
      if (end < 0 || ++looked > MOST_STRINGS) return undefined;
      if (end - quote > LONG) places.push([quote + 1, end]);
      quote = body.indexOf(QUOTE, end + 1);
    }
    return places;
  }

  /** The index of the quote that ends the string whose first character is at `start`; negative where none is found. */
  #endOf(body: Uint8Array, start: number): number {
    for (let at = start; ;) {
      if (at >= this.#end) this.#load(body, at);
      const found = this.#endOfString(at - this.#from, this.#end - this.#from);
      if (found >= 0) return this.#from + found;
      // No end of it comes, or there is an escape in the last five bytes of all: behind a long string of a result more follows.
      if (found === -1 || this.#end === body.length) return -1;
      at = this.#from - 2 - found;
      this.#load(body, at);
    }
  }

  #load(body: Uint8Array, from: number): void {
    this.#from = from;
    this.#end = Math.min(from + this.#room, body.length);
    this.#memory.set(body.subarray(from, this.#end));
  }
}

/** Null where WebAssembly cannot be had, or not with 16 bytes at once: then long answers go the way of all others. */
let scanner: Scanner | null | undefined;

function newScanner(): Scanner | null {
  try {
    const code = Uint8Array.from(atob(END_OF_STRING), (character) => character.charCodeAt(0));
    return new Scanner(new WebAssembly.Instance(new WebAssembly.Module(code)).exports as unknown as EndOfString);
  } catch {
    return null;
  }
}

/** What end-of-string.wat is assembled to, by `node scripts/assemble.mjs`. */
const END_OF_STRING =
  "AGFzbQEAAAABBwFgAn9/AX8DAgEABQMBAAIHGAIGbWVtb3J5AgALZW5kT2ZTdHJpbmcAAAqHAwGEAwIFewN/QSL9DyECQdwA/Q8hA0Ef/Q8hBANAIAAg" +
  "AU8EQEF+IAFrDwsgAP0AAAAhBSAFIAL9IyAFIAP9I/1QIAUgBP0q/VD9ZCEHIAdFBEAgAEEQaiEAA0AgACABTw0CIAD9AAAAIQUgAP0AABAhBiAFIAL9" +
  "IyAFIAP9I/1QIAUgBP0q/VAgBiAC/SMgBiAD/SP9UCAGIAT9Kv1Q/VD9Uw0CIABBIGohAAwACwsgACAHaGohACAAIAFPDQAgAC0AACEIIAhBIkYEQCAA" +
  "DwsgCEHcAEcEQEF/DwsgAEEGaiABSwRAQX4gAGsPCyAALQABIQggAEECaiEAIAhB7gBGDQAgCEEiRg0AIAhB3ABGDQAgCEH0AEYNACAIQfIARg0AIAhB" +
  "L0YNACAIQeIARg0AIAhB5gBGDQAgCEH1AEcEQEF/DwtBBCEJA0AgAC0AACEIIAhBMGtBCk8EQCAIQSByQeEAa0EGTwRAQX8PCwsgAEEBaiEAIAlBAWsh" +
  "CSAJDQALDAALAAs=";
