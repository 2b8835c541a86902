// Compiles the keywords that look at one value: its type, the values allowed, numbers and strings.

import { equal } from "./equality.js";
import { list, literal, nearest, plural, quote } from "./show.js";
import { charge, type Check, isObject, type Trace } from "./run.js";
import type { Keyword, Keywords } from "./logic-keywords.js";

/** The check of each type name. */
const typeChecks: Readonly<Record<string, Check>> = {
  string: (value, trace) => typeof value === "string" || refuseType(value, trace, "string"),
  number: (value, trace) => Number.isFinite(value) || refuseType(value, trace, "number"),
  integer: (value, trace) => Number.isInteger(value) || refuseType(value, trace, "integer"),
  boolean: (value, trace) => typeof value === "boolean" || refuseType(value, trace, "boolean"),
  null: (value, trace) => value === null || refuseType(value, trace, "null"),
  array: (value, trace) => Array.isArray(value) || refuseType(value, trace, "array"),
  object: (value, trace) => isObject(value) || refuseType(value, trace, "object"),
};

function refuseType(value: unknown, trace: Trace | null, ...types: readonly string[]): false {
  if (trace === null) return false;
  const words = types.map((type) => (type === "null" ? type : `${/^[aio]/.test(type) ? "an" : "a"} ${type}`));
  return trace.refuse("type", `must be ${words.join(" or ")}`, value);
}

const type: Keyword = (argument) => {
  if (typeof argument === "string") return typeChecks[argument];
  const types = argument as readonly string[];
  const checks = types.map((name) => typeChecks[name] as Check);
  const [first, second] = checks as [Check, Check | undefined];
  if (second === undefined) return first;
  return (value, trace) => {
    if (first(value, null, null) || second(value, null, null)) return true;
    for (let i = 2; i < checks.length; i++) if ((checks[i] as Check)(value, null, null)) return true;
    return trace === null ? false : refuseType(value, trace, ...types);
  };
};

const enumeration: Keyword = (argument) => {
  const allowed = argument as readonly unknown[];
  const scalars = new Set(allowed);
  const structures = allowed.filter((value) => typeof value === "object" && value !== null);
  return (value, trace) => {
    if (typeof value !== "object" || value === null) {
      if (scalars.has(value)) return true;
    } else {
      charge(structures.length);
      for (const structure of structures) if (equal(structure, value)) return true;
    }
    if (trace === null) return false;
    const near = typeof value === "string" ? nearest(value, allowed) : undefined;
    const hint = near === undefined ? "" : ` (did you mean ${quote(near)}?)`;
    return trace.refuse("enum", `must be ${allowed.length === 1 ? "" : "one of "}${list(allowed)}${hint}`, value);
  };
};

const constant: Keyword = (argument) => (value, trace) =>
  equal(argument, value) || (trace === null ? false : trace.refuse("const", `must be ${literal(argument)}`, value));

/** A keyword that bounds numbers. */
function bound(keyword: string, words: string, holds: (value: number, limit: number) => boolean): Keyword {
  return (argument) => {
    const limit = argument as number;
    return (value, trace) => {
      if (typeof value !== "number" || holds(value, limit)) return true;
      return trace === null ? false : trace.refuse(keyword, `must be ${words} ${limit}`, value);
    };
  };
}

/** Whether `value` is `step` times an integer, by the decimal numbers that were written, not by their binary neighbours. */
export function isMultiple(value: number, step: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0;
  if (!Number.isFinite(value)) return false;
  const a = decimal(value);
  const b = decimal(step);
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = a.digits * 10n ** BigInt(a.exponent - exponent);
  return scaled % (b.digits * 10n ** BigInt(b.exponent - exponent)) === 0n;
}

function decimal(value: number): { digits: bigint; exponent: number } {
  const [mantissa = "0", exponent = "0"] = value.toExponential().split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

const multipleOf: Keyword = (argument) => {
  const step = argument as number;
  return (value, trace) => {
    if (typeof value !== "number") return true;
    if (!Number.isSafeInteger(value) || !Number.isSafeInteger(step)) charge(50);
    if (isMultiple(value, step)) return true;
    return trace === null ? false : trace.refuse("multipleOf", `must be a multiple of ${step}`, value);
  };
};

/** Whether `text` has at least `limit` characters: a code point is one, so UTF-16 length settles most cases. */
function hasCharacters(text: string, limit: number): boolean {
  if (text.length < limit) return false;
  return text.length >= limit * 2 || countCharacters(text) >= limit;
}

function countCharacters(text: string): number {
  charge(text.length >> 8);
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    if ((text.codePointAt(i) ?? 0) <= 0xffff) continue;
    count--;
    i++;
  }
  return count;
}

const minLength: Keyword = (argument) => {
  const limit = argument as number;
  return (value, trace) => {
    if (typeof value !== "string" || hasCharacters(value, limit)) return true;
    if (trace === null) return false;
    const came = plural(countCharacters(value), "character");
    return trace.fail("minLength", `must have at least ${plural(limit, "character")}, but it has ${came}`);
  };
};

const maxLength: Keyword = (argument) => {
  const limit = argument as number;
  return (value, trace) => {
    if (typeof value !== "string" || value.length <= limit || !hasCharacters(value, limit + 1)) return true;
    if (trace === null) return false;
    const came = plural(countCharacters(value), "character");
    return trace.fail("maxLength", `must have at most ${plural(limit, "character")}, but it has ${came}`);
  };
};

const pattern: Keyword = (argument, site) => {
  const source = argument as string;
  const expression = site.pattern(source, "pattern");
  return (value, trace) => {
    if (typeof value !== "string" || expression.test(value)) return true;
    return trace === null ? false : trace.refuse("pattern", `must match the pattern ${literal(source)}`, value);
  };
};

const format: Keyword = (argument, site) => {
  const name = argument as string;
  const test = site.format(name);
  if (test === undefined) return undefined;
  const check: Check = (value, trace) => {
    if (typeof value !== "string" || test(value)) return true;
    return trace === null ? false : trace.refuse("format", `must be in the format "${name}"`, value);
  };
  return check;
};

export const valueKeywords: Keywords = {
  type,
  enum: enumeration,
  const: constant,
  minimum: bound("minimum", "at least", (value, limit) => value >= limit),
  maximum: bound("maximum", "at most", (value, limit) => value <= limit),
  exclusiveMinimum: bound("exclusiveMinimum", "more than", (value, limit) => value > limit),
  exclusiveMaximum: bound("exclusiveMaximum", "less than", (value, limit) => value < limit),
  multipleOf,
  minLength,
  maxLength,
  pattern,
  format,
};
