// Parses one JSON text strictly: bounded in size, depth and count, without duplicate keys or `__proto__`.
import { ErrorCode } from "./errors.js";
import { type BrokenLimit, type JsonRpcLimits, limitText } from "./limits.js";
import type { Excerpt } from "./transport.js";
import { isJsonObject, isRequestId, type JsonObject, type RequestId } from "./message.js";

// Less than minus any count of keys, so that a sum holding it stays negative.
const FORBIDDEN_KEY = -Number.MAX_SAFE_INTEGER;
const TOO_DEEP = FORBIDDEN_KEY;
// Texts up to this length, which nearly all calls are, are parsed at once: they can do no harm before they are judged.
const SHORT = 4096;
// Encoders put it before a text; JSON must not have it (RFC 8259 §8.1).
const BOM = "\ufeff";

/**
 * The parsed value, or a `ParseFault` when `text` is not JSON (-32700) or is JSON that a rule refuses (-32600).
 * Never throws. A key is duplicated exactly when the text has more colons outside strings than the value has keys.
 */
export function parseJson(text: string, limits: JsonRpcLimits): unknown {
  if (text.length > limits.messageBytes) return overLimit(text, "messageBytes", limits);
  const short = text.length <= Math.min(SHORT, limits.members, limits.values);
  const early = short ? parsed(text) : undefined;
  if (short && isSound(text, early, limits.depth)) return noted(text, early);
  const members = countMembers(text, limits);
  if (typeof members === "string") return overLimit(text, members, limits);
  const value = short ? early : parsed(text);
  if (value instanceof Error) {
    const what = text.startsWith(BOM) ? "begins with a byte order mark" : `is not JSON${place(value)}`;
    return new ParseFault(ErrorCode.ParseError, `Parse error: the message ${what}`);
  }
  const keys = keysOf(value, limits.depth);
  if (keys === members) return noted(text, value);
  const whole: Excerpt = { head: text, tail: undefined };
  return refused(
    whole,
    keys < 0 ? 'Message refused: it has the key "__proto__"' : "Message refused: it has a duplicate key",
  );
}

let look: ((text: string, value: unknown) => void) | undefined;

/** From now on this is given each text that was parsed, and its value: a text that breaks no rule. */
export function lookAtParsed(looking: (text: string, value: unknown) => void): void {
  look = looking;
}

function noted(text: string, value: unknown): unknown {
  look?.(text, value);
  return value;
}

/** The value, or the error where the text is not JSON: once, for whoever floods us with such texts pays for one only. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}

/**
 * Whether a text too short to break any limit but that of depth breaks no rule. Mostly it has no more colons than the
 * value has keys: then none of them is in a string, and nothing has to be scanned.
 */
function isSound(text: string, value: unknown, depth: number): boolean {
  if (value instanceof Error) return false;
  const keys = keysOf(value, depth);
  let left = keys;
  for (let at = text.indexOf(":"); at >= 0 && left >= 0; at = text.indexOf(":", at + 1)) left--;
  return left === 0 || countColons(text) === keys;
}

/** All keys of the value, at any depth; less than none where one is forbidden or it is nested too deeply. */
function keysOf(value: unknown, depth: number): number {
  return typeof value === "object" && value !== null ? countKeys(value, depth) : 0;
}

/** The sentence for a message over the size limit, wherever that is noticed. */
export function tooLong(limits: JsonRpcLimits): string {
  return `Message refused: ${limitText("messageBytes", limits)}`;
}

function overLimit(text: string, limit: BrokenLimit, limits: JsonRpcLimits): ParseFault {
  const message = `Message refused: ${limitText(limit, limits)}`;
  return new ParseFault(ErrorCode.InvalidRequest, message, { ...identify(excerpt(text)), limit });
}

// Recursion is safe: `levels` bounds it, and what was scanned before has no more of them.
function countKeys(value: object, levels: number): number {
  if (levels === 0) return TOO_DEEP;
  let count = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i];
      if (typeof item === "object" && item !== null) count += countKeys(item, levels - 1);
    }
    return count;
  }
  // Own keys, even when somebody has added enumerable members to Object.prototype.
  const keys = Object.keys(value);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if (key === "__proto__") return FORBIDDEN_KEY;
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === "object" && member !== null) count += countKeys(member, levels - 1);
  }
  return count + keys.length;
}

function refused(seen: Excerpt, message: string): ParseFault {
  return new ParseFault(ErrorCode.InvalidRequest, message, identify(seen));
}

// Engines quote the text in their message; only where it broke off is passed on.
function place({ message }: Error): string {
  const position = /at position \d+/.exec(message);
  if (position) return ` (${position[0]})`;
  return /end of JSON|Unterminated/.test(message) ? " (it ends too early)" : "";
}

// Reads who a refused message is from (its request id), without parsing it and without being fooled by it.

interface Identity {
  /** Set only for a request whose id stands once at the top level. */
  readonly id: RequestId | undefined;
  /** True for an object that shows a method and no id: a notification, which is never answered. */
  readonly silent: boolean;
}

interface Members {
  ids: number;
  id: unknown;
  method: boolean;
  response: boolean;
}

// Many senders put the id last, after the params: then it stands right before the brace that ends the message.
const LAST_ID = /[{,]\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;
const NOBODY: Identity = { id: undefined, silent: false };
const NOTIFICATION: Identity = { id: undefined, silent: true };

// Enough for the members before the params, and for the id after them.
const HEAD_LENGTH = 4_096;
const TAIL_LENGTH = 256;
// An id longer than this is not worth reading out of a message that is refused anyway.
const LONGEST_ID = 1_024;

/** What `identify` needs to see of a text that is too costly to look at as a whole. */
export function excerpt(text: string): Excerpt {
  if (text.length <= HEAD_LENGTH) return { head: text, tail: undefined };
  return { head: text.slice(0, HEAD_LENGTH), tail: text.slice(-TAIL_LENGTH) };
}

/** Looks at the whole text when there is no `tail`. Linear in what it looks at. */
export function identify({ head, tail }: Excerpt): Identity {
  const members = topLevelMembers(head);
  if (members === undefined || !members.method || members.response) return NOBODY;
  if (members.ids === 0 && tail !== undefined) {
    const last = LAST_ID.exec(tail)?.[1];
    if (last !== undefined) {
      members.ids = 1;
      members.id = literal(last);
    }
  }
  if (members.ids === 0) return (tail ?? head).trimEnd().endsWith("}") ? NOTIFICATION : NOBODY;
  return members.ids === 1 && isRequestId(members.id) ? { id: members.id, silent: false } : NOBODY;
}

/** The request that an unreadable response answers; undefined for anything that shows no result and no error. */
export function answeredId({ head, tail }: Excerpt): RequestId | undefined {
  const members = topLevelMembers(head);
  if (members === undefined || members.method || !members.response || members.ids > 1) return undefined;
  const last = members.ids === 0 ? LAST_ID.exec(tail ?? head)?.[1] : undefined;
  const id = last === undefined ? members.id : literal(last);
  return isRequestId(id) ? id : undefined;
}

/** Whether a text begins as a response whose id has not been seen so far. */
export function isAnswerWithoutId(head: string): boolean {
  const members = topLevelMembers(head);
  return members !== undefined && members.response && members.ids === 0;
}

// Tolerant: reads members until the text ends or stops looking like an object.
function topLevelMembers(text: string): Members | undefined {
  const found: Members = { ids: 0, id: undefined, method: false, response: false };
  let at = skipSpace(text, text.startsWith(BOM) ? 1 : 0);
  if (text[at] !== "{") return undefined;
  do {
    const keyStart = skipSpace(text, at + 1);
    const keyEnd = text[keyStart] === '"' ? closingQuote(text, keyStart) : -1;
    if (keyEnd < 0) break;
    const colon = skipSpace(text, keyEnd + 1);
    if (text[colon] !== ":") break;
    const start = skipSpace(text, colon + 1);
    at = endOfValue(text, start);
    note(found, keyText(text.slice(keyStart, keyEnd + 1)), text.slice(start, Math.min(at, start + LONGEST_ID)));
  } while (text[at] === ",");
  return found;
}

function note(found: Members, key: string, raw: string): void {
  if (key === "id") {
    found.ids++;
    found.id = literal(raw.trimEnd());
  } else if (key === "method") {
    found.method = raw.startsWith('"');
  } else if (key === "result" || key === "error") {
    found.response = true;
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 32) at++;
  return at;
}

function keyText(raw: string): string {
  return raw.includes("\\") ? String(literal(raw)) : raw.slice(1, -1);
}

function literal(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

// A refusal of one message: returned, not thrown, because refusing is part of normal work.

/**
 * Why a text is no message: the code and words to answer with, and the id where it could still be read. Returned,
 * never thrown.
 */
export class ParseFault {
  readonly code: number;
  /** Names the rule that was broken and, where there is one, the limit. */
  readonly message: string;
  /** The request's own id, when it could be read beyond doubt. */
  readonly id: RequestId | undefined;
  /** True when the message expects no answer, however wrong it is: a notification or a response. */
  readonly silent: boolean;
  /** The limit that was broken, where it was one. */
  readonly limit: BrokenLimit | undefined;

  constructor(
    code: number,
    message: string,
    about: { id?: RequestId | undefined; silent?: boolean; limit?: BrokenLimit } = {},
  ) {
    this.code = code;
    this.message = message;
    this.id = about.id;
    this.silent = about.silent ?? false;
    this.limit = about.limit;
  }
}

// Counts the structure of a JSON text in one pass over its characters, before anything is allocated for it.

const QUOTE = 34;
const BACKSLASH = 92;
// Characters stepped through behind an escaped quote before the engine searches again.
const DENSE = 12;
// Characters that mean nothing, one after another, behind which the engine searches for one that does.
const SPARSE = 32;

// What a character means outside strings; 0 is nothing. JSON has no character above 127 there, so the table needs no
// more: what a higher one is taken for does not matter, for the parser refuses the text.
const STRING = 1;
const COLON = 2;
const COMMA = 3;
const OPEN = 4;
const CLOSE = 5;
const ROLES: Uint8Array = rolesOfCharacters();
const MEANINGFUL = /["[\]{}:,]/g;
const ESCAPES = /(?:\\[^])+/y;

function rolesOfCharacters(): Uint8Array {
  const roles = new Uint8Array(128);
  const pairs: [string, number][] = [
    ['"', STRING],
    [":", COLON],
    [",", COMMA],
    ["[{", OPEN],
    ["]}", CLOSE],
  ];
  for (const [characters, role] of pairs) {
    for (const character of characters) roles[character.charCodeAt(0)] = role;
  }
  return roles;
}

/**
 * The number of colons outside strings, which is the number of object members if `text` is JSON; or the name of the
 * limit it breaks. Says nothing about whether `text` is JSON.
 */
function countMembers(text: string, limits: JsonRpcLimits): number | BrokenLimit {
  const { length } = text;
  let depth = 0;
  let colons = 0;
  let values = 0;
  let idle = 0;
  for (let i = 0; i < length; i++) {
    const role = ROLES[text.charCodeAt(i) & 127] as number;
    if (role === 0) {
      if (++idle <= SPARSE) continue;
      i = nextMeaning(text, i + 1) - 1;
      idle = 0;
      continue;
    }
    idle = 0;
    if (role === STRING) {
      i = closingQuote(text, i);
      // No JSON has a string right behind a string: the parser stops at the same place.
      if (i < 0 || text.charCodeAt(i + 1) === QUOTE) break;
    } else if (role === COLON) {
      if (++colons > limits.members) return "members";
    } else if (role === CLOSE) {
      // Nor does it close what it has not opened.
      if (--depth < 0) break;
    } else {
      if (++values > limits.values) return "values";
      if (role === OPEN && ++depth > limits.depth) return "depth";
    }
  }
  return colons;
}

/** How much a text has of what a limit bounds, for the error that names it: the text is looked at once more, to its end. */
export function amountOf(limit: "depth" | "values" | "members", text: string): number {
  let depth = 0;
  const most = { depth: 0, values: 0, members: 0 };
  for (let i = 0; i < text.length; i++) {
    const role = ROLES[text.charCodeAt(i) & 127];
    if (role === STRING) i = closingQuote(text, i);
    if (i < 0) break;
    if (role === COLON) most.members++;
    if (role === COMMA || role === OPEN) most.values++;
    if (role === OPEN) most.depth = Math.max(most.depth, ++depth);
    if (role === CLOSE) depth--;
  }
  return most[limit];
}

/** The number of colons outside strings of a text that is JSON. */
function countColons(text: string): number {
  let colons = 0;
  for (let i = 0; i < text.length; i++) {
    const role = ROLES[text.charCodeAt(i) & 127] as number;
    if (role === COLON) colons++;
    if (role !== STRING) continue;
    const opening = i;
    i = text.indexOf('"', opening + 1);
    if (text.charCodeAt(i - 1) === BACKSLASH) i = closingQuote(text, opening);
    if (i < 0) break;
  }
  return colons;
}

/** The index of the next character that means something, or the length of the text. */
function nextMeaning(text: string, from: number): number {
  MEANINGFUL.lastIndex = from;
  return MEANINGFUL.test(text) ? MEANINGFUL.lastIndex - 1 : text.length;
}

/** The index of the quote that closes the string opened at `opening`, or -1. */
export function closingQuote(text: string, opening: number): number {
  // Empty strings by the million must not cost a search each.
  if (text.charCodeAt(opening + 1) === QUOTE) return opening + 1;
  let from = opening + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0 || !isEscaped(text, from, quote)) return quote;
    // Where one quote is escaped more may be near, and stepping is cheaper than searching for each.
    for (from = quote + 1; from < quote + DENSE; from++) {
      const code = text.charCodeAt(from);
      if (code === BACKSLASH) from++;
      else if (code === QUOTE) return from;
    }
    if (text.charCodeAt(from) === BACKSLASH) from = endOfEscapes(text, from);
  }
}

/** The index behind the escapes that follow each other from here on. */
function endOfEscapes(text: string, from: number): number {
  ESCAPES.lastIndex = from;
  return ESCAPES.test(text) ? ESCAPES.lastIndex : from;
}

/** Whether an odd number of backslashes, none before `from`, stands before the quote. */
function isEscaped(text: string, from: number, quote: number): boolean {
  let i = quote - 1;
  while (i >= from && text.charCodeAt(i) === BACKSLASH) i--;
  return ((quote - i) & 1) === 0;
}

/** The index of the comma or bracket that ends the value at `start`, or the length of the text. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const role = ROLES[text.charCodeAt(i) & 127];
    if (role === STRING) {
      i = closingQuote(text, i);
      if (i < 0) break;
    } else if (role === OPEN) {
      depth++;
    } else if (role === CLOSE) {
      if (depth-- === 0) return i;
    } else if (role === COMMA && depth === 0) {
      return i;
    }
  }
  return text.length;
}

// Tells the four kinds of message apart. The parsed object itself is the message: nothing is copied.

type MessageKind = "request" | "notification" | "success" | "failure";

/** The kind of a parsed message, or a fault that names the rule it breaks and keeps its id where it has a valid one. */
export function classify(value: unknown): MessageKind | ParseFault {
  if (!isJsonObject(value)) return new ParseFault(ErrorCode.InvalidRequest, "A message must be a JSON object");
  const { id, params, result, error } = value;
  if (typeof value["method"] !== "string") return classifyResponse(value);
  if (value["jsonrpc"] === "2.0" && result === undefined && error === undefined) {
    if (params === undefined || isJsonObject(params)) {
      if (id === undefined) return "notification";
      if (isRequestId(id)) return "request";
    }
  }
  return faultOfRequest(value);
}

function faultOfRequest({ jsonrpc, id, params }: JsonObject): ParseFault {
  if (id !== undefined && !isRequestId(id)) {
    return new ParseFault(ErrorCode.InvalidRequest, '"id" must be a string or an integer between ±(2^53 - 1)');
  }
  const about = { id, silent: id === undefined };
  if (jsonrpc !== "2.0") return new ParseFault(ErrorCode.InvalidRequest, '"jsonrpc" must be "2.0"', about);
  if (params !== undefined && !isJsonObject(params)) {
    return new ParseFault(ErrorCode.InvalidParams, '"params" must be an object', about);
  }
  return new ParseFault(ErrorCode.InvalidRequest, 'A request has neither "result" nor "error"', about);
}

function classifyResponse(value: JsonObject): MessageKind | ParseFault {
  const { jsonrpc } = value;
  // Servers that write out optional members give an answer a null error, and a refusal a null result.
  const result = value["result"] === null && isErrorObject(value["error"]) ? undefined : value["result"];
  const error = value["error"] === null && isJsonObject(result) ? undefined : value["error"];
  const id = isRequestId(value["id"]) ? value["id"] : undefined;
  const idAllowed = id !== undefined || value["id"] === undefined || value["id"] === null;
  if (result === undefined && error === undefined) {
    return new ParseFault(ErrorCode.InvalidRequest, '"method" must be a string', { id });
  }
  if (jsonrpc === "2.0" && error === undefined && id !== undefined && isJsonObject(result)) return "success";
  if (jsonrpc === "2.0" && result === undefined && isErrorObject(error) && idAllowed) return "failure";
  // A response is never answered; its id lets the request it belongs to fail at once instead of by timeout.
  return new ParseFault(ErrorCode.InvalidRequest, "The response is malformed", { id, silent: true });
}

function isErrorObject(value: unknown): boolean {
  return isJsonObject(value) && Number.isSafeInteger(value["code"]) && typeof value["message"] === "string";
}
