// Parses one JSON text strictly: bounded in size, depth and count, without duplicate keys or `__proto__`.
import { ErrorCode } from "./error-codes.js";
import { excerpt, identify } from "./identify.js";
import { type BrokenLimit, type JsonRpcLimits, limitText } from "./limits.js";
import { ParseFault } from "./parse-fault.js";
import { countColons, countMembers } from "./scan.js";
import type { Excerpt } from "./transport.js";

// Less than minus any count of keys, so that a sum holding it stays negative.
const FORBIDDEN_KEY = -Number.MAX_SAFE_INTEGER;
const TOO_DEEP = FORBIDDEN_KEY;
// Texts up to this length, which nearly all calls are, are parsed at once: they can do no harm before they are judged.
const SHORT = 4096;

/**
 * The parsed value, or a `ParseFault` when `text` is not JSON (-32700) or is JSON that a rule refuses (-32600).
 * Never throws. A key is duplicated exactly when the text has more colons outside strings than the value has keys.
 */
export function parseJson(text: string, limits: JsonRpcLimits): unknown {
  if (text.length > limits.messageBytes) return overLimit(text, "messageBytes", limits);
  const short = text.length <= Math.min(SHORT, limits.members, limits.values);
  const early = short ? parsed(text) : undefined;
  if (short && isSound(text, early, limits.depth)) return early;
  const members = countMembers(text, limits);
  if (typeof members === "string") return overLimit(text, members, limits);
  const value = short ? early : parsed(text);
  if (value instanceof Error) {
    return new ParseFault(ErrorCode.ParseError, `Parse error: the message is not JSON${place(value)}`);
  }
  const keys = keysOf(value, limits.depth);
  if (keys === members) return value;
  const whole: Excerpt = { head: text, tail: undefined };
  return refused(
    whole,
    keys < 0 ? 'Message refused: it has the key "__proto__"' : "Message refused: it has a duplicate key",
  );
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
