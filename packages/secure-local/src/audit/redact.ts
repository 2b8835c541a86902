// Copies a value with its secrets replaced and its size bounded, at any depth.
import { holdsKnownDigits } from "./number-secrets.js";
import { isSecretKey, REDACTED, redactText, replaceKnown } from "./secret-shapes.js";

/** Deeper than any call a person would want to read; the parser of messages stops at 64. */
const MAX_DEPTH = 32;
/** Characters of text kept in one record: enough for a long query, small enough that a log line stays a line. */
export const MAX_TEXT = 16_384;
/** Values kept in one record, so that a list of a million zeros costs little. */
const MAX_VALUES = 2_000;

interface Budget {
  text: number;
  values: number;
}

/** A copy that is safe to log. Never throws: what cannot be copied is named instead. */
export function redactValue(value: unknown): unknown {
  return copy(value, 0, { text: MAX_TEXT, values: MAX_VALUES });
}

/** One text that is safe to log. */
export function redactString(text: string): string {
  return bounded(text, { text: MAX_TEXT, values: 1 });
}

/** What stands for a secret in a policy, and in a text in which its value was known. */
const STANDS_FOR_SECRET = /(\$\{secret:[^${}]*\}|\[secret [^[\]]*\])/;
/** What comes before a secret and is none: after the split a rule would take it for the value. */
const BEFORE_SECRET =
  /(?:(?:authorization|cookie)["']?[ \t]{0,10}[=:][ \t]{0,10}["']?)?(?:(?:bearer|basic|token)[ \t]{0,10})?$/i;

/** The same of a command or address as the policy has it: the names of its secrets stay, or nobody could read it. */
export function redactLaunch(text: string): string {
  const parts = replaceKnown(text).split(STANDS_FOR_SECRET);
  return parts.map((part, at) => (at % 2 === 1 ? part : withoutSecrets(part, at + 1 < parts.length))).join("");
}

function withoutSecrets(part: string, isFollowed: boolean): string {
  const end = isFollowed ? part.search(BEFORE_SECRET) : part.length;
  return redactString(part.slice(0, end)) + part.slice(end);
}

function copy(value: unknown, depth: number, budget: Budget): unknown {
  switch (typeof value) {
    case "string":
      return bounded(value, budget);
    case "number":
      return holdsKnownDigits(value) ? REDACTED : value;
    case "boolean":
      return value;
    case "object":
      if (value === null) return null;
      if (depth >= MAX_DEPTH) return "[too deep]";
      if (saysItself(value)) return copy(itself(value), depth + 1, budget);
      return Array.isArray(value) ? copyArray(value, depth, budget) : copyObject(value, depth, budget);
    case "undefined":
      return undefined;
    default:
      return `[${typeof value}]`;
  }
}

/** Numbers kept by their digits, dates and the like, which have no members to copy. */
function saysItself(value: object): value is { toJSON(): unknown } {
  return "toJSON" in value && typeof value.toJSON === "function";
}

function itself(value: { toJSON(): unknown }): unknown {
  try {
    return value.toJSON();
  } catch {
    return "[unreadable]";
  }
}

function copyArray(values: readonly unknown[], depth: number, budget: Budget): unknown[] {
  const out: unknown[] = [];
  for (const [index, value] of values.entries()) {
    if (--budget.values < 0) {
      out.push(`[${values.length - index} more]`);
      break;
    }
    out.push(copy(value, depth + 1, budget));
  }
  return out;
}

function copyObject(object: object, depth: number, budget: Budget): Record<string, unknown> {
  const out: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const keys = Object.keys(object);
  for (const [index, key] of keys.entries()) {
    if (--budget.values < 0) {
      out["…"] = `[${keys.length - index} more]`;
      break;
    }
    const name = bounded(key, budget);
    out[name] = isSecretKey(key) ? REDACTED : copy(property(object, key), depth + 1, budget);
  }
  return out;
}

function property(object: object, key: string): unknown {
  try {
    return (object as Record<string, unknown>)[key];
  } catch {
    return "[unreadable]";
  }
}

function bounded(text: string, budget: Budget): string {
  if (text.length <= budget.text) {
    budget.text -= text.length;
    return redactText(text);
  }
  // Rather one lost half of a surrogate pair than a record that grows with what a caller sends.
  const kept = redactText(text.slice(0, budget.text));
  const cut = text.length - budget.text;
  budget.text = 0;
  return `${kept}[${cut} characters cut]`;
}
