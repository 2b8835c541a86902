// Compiles the keywords that look at one value: its type, the values allowed, numbers and strings.

import { charge } from "./budget.js";
import { equal } from "./equality.js";
import type { Keyword, Keywords } from "./keyword.js";
import { list, literal, nearest, plural } from "./show.js";
import { isObject, type Check } from "./trace.js";

type Test = (value: unknown) => boolean;

/** The test of each type name. */
export const typeTests: Readonly<Record<string, Test>> = {
  string: (value) => typeof value === "string",
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isObject,
};

function withArticle(type: string): string {
  if (type === "null") return type;
  return `${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

const type: Keyword = (argument) => {
  const names = typeof argument === "string" ? [argument] : (argument as readonly string[]);
  const tests = names.map((name) => typeTests[name] as Test);
  const expected = `must be ${names.map(withArticle).join(" or ")}`;
  const test = anyTest(tests);
  return (value, trace) => test(value) || (trace === null ? false : trace.refuse("type", expected, value));
};

function anyTest(tests: readonly Test[]): Test {
  const [first = isObject, second] = tests;
  if (second === undefined) return first;
  if (tests.length === 2) return (value) => first(value) || second(value);
  return (value) => tests.some((test) => test(value));
}

const enumeration: Keyword = (argument) => {
  const allowed = argument as readonly unknown[];
  const scalars = new Set(allowed.filter((value) => typeof value !== "object" || value === null));
  const structures = allowed.filter((value) => typeof value === "object" && value !== null);
  const strings = allowed.filter((value) => typeof value === "string");
  const expected = `must be ${allowed.length === 1 ? "" : "one of "}${list(allowed.map(literal))}`;
  return (value, trace) => {
    if (scalars.has(value)) return true;
    if (typeof value === "object" && value !== null) {
      charge(structures.length);
      for (const structure of structures) if (equal(structure, value)) return true;
    }
    if (trace === null) return false;
    const near = typeof value === "string" ? nearest(value, strings) : undefined;
    return trace.refuse("enum", near === undefined ? expected : `${expected} (did you mean ${literal(near)}?)`, value);
  };
};

const constant: Keyword = (argument) => {
  const expected = `must be ${literal(argument)}`;
  return (value, trace) => equal(argument, value) || (trace === null ? false : trace.refuse("const", expected, value));
};

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
    if (!Number.isSafeInteger(value) || !Number.isSafeInteger(step)) charge(20);
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
  for (let i = 0; i < text.length; i++) if ((text.codePointAt(i) ?? 0) > 0xffff) (count--, i++);
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
