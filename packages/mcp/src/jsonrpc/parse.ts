// Parses one JSON text strictly: bounded in size, depth and count, without duplicate keys or `__proto__`.
import { ErrorCode } from "./error-codes.js";
import { excerpt, identify } from "./identify.js";
import type { JsonRpcLimits } from "./limits.js";
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
  if (text.length <= Math.min(SHORT, limits.messageBytes, limits.members, limits.values)) {
    const value = parseShort(text, limits.depth);
    if (value !== undefined) return value;
  }
  if (text.length > limits.messageBytes) return refused(excerpt(text), tooLong(limits));
  const members = countMembers(text, limits);
  if (typeof members === "string") return refused(excerpt(text), `Message refused: ${members}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return new ParseFault(ErrorCode.ParseError, `Parse error: the message is not JSON${place(error)}`);
  }
  const keys = typeof value === "object" && value !== null ? countKeys(value, limits.depth) : 0;
  if (keys === members) return value;
  const whole: Excerpt = { head: text, tail: undefined };
  return refused(
    whole,
    keys < 0 ? 'Message refused: it has the key "__proto__"' : "Message refused: it has a duplicate key",
  );
}

/**
 * The value of a text too short to break any limit but that of depth; undefined where something is wrong with it. Mostly
 * it has no more colons than the value has keys: then none of them is in a string, and nothing has to be scanned.
 */
function parseShort(text: string, depth: number): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const keys = typeof value === "object" && value !== null ? countKeys(value, depth) : 0;
  let left = keys;
  for (let at = text.indexOf(":"); at >= 0 && left >= 0; at = text.indexOf(":", at + 1)) left--;
  return left === 0 || countColons(text) === keys ? value : undefined;
}

/** The sentence for a message over the size limit, wherever that is noticed. */
export function tooLong(limits: JsonRpcLimits): string {
  return `Message refused: it is longer than ${limits.messageBytes} bytes`;
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
function place(error: unknown): string {
  const { message } = error as SyntaxError;
  const position = /at position \d+/.exec(message);
  if (position) return ` (${position[0]})`;
  return /end of JSON|Unterminated/.test(message) ? " (it ends too early)" : "";
}
