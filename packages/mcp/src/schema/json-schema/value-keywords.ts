// Compiles the keywords that look at one value: its type, the values allowed, numbers and strings.
import { nearest } from "../schema.js";
import {
  type Check,
  type SchemaObject,
  Seen,
  Trace,
  charge,
  equal,
  isObject,
  list,
  literal,
  plural,
  quoteValue,
} from "./run.js";
import type { Node } from "./schema-index.js";
import type { Pattern } from "./pattern.js";

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
    const hint = near === undefined ? "" : ` (did you mean ${quoteValue(near)}?)`;
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

// Defines how a keyword is turned into a check, how checks are joined, and the keywords that join schemas.

/** The subschema being compiled, as a keyword sees it. */
export interface Site {
  readonly node: Node;
  readonly schema: SchemaObject;
  /** The test that `format` asserts under this name; undefined when it asserts nothing. */
  format(name: string): ((text: string) => boolean) | undefined;
  /** Compiles a subschema that stands inside this one. */
  sub(schema: unknown): Check;
  /** Compiles a regular expression that stands at `keyword`. */
  pattern(source: string, keyword: string): Pattern;
  /** The check of the subschema that a reference leads to, built later. */
  reference(keyword: "$ref" | "$dynamicRef"): Check;
}

/** Makes the check of one keyword from its value, whose shape is already checked; undefined when it asserts nothing. */
export type Keyword = (argument: unknown, site: Site) => Check | undefined;

export type Keywords = Readonly<Record<string, Keyword>>;

export const always: Check = () => true;

export const never: Check = (_value, trace) =>
  trace === null ? false : trace.fail("false schema", "is not allowed here");

/** One check out of several: all must pass, and with a trace all of them write down their faults. */
export function all(checks: readonly Check[]): Check {
  const [first = always, second] = checks;
  if (second === undefined) return first;
  if (checks.length === 2) {
    return (value, trace, seen) => {
      const valid = first(value, trace, seen);
      return valid || trace !== null ? second(value, trace, seen) && valid : false;
    };
  }
  return (value, trace, seen) => {
    let valid = true;
    for (let i = 0; i < checks.length; i++) {
      if ((checks[i] as Check)(value, trace, seen)) continue;
      if (trace === null) return false;
      valid = false;
    }
    return valid;
  };
}

/** Joins the checks of one schema: `type` first, since the rest says nothing new when it fails; `unevaluated…` last. */
export function join(type: Check | undefined, body: readonly Check[], last: readonly Check[]): Check {
  const rest = last.length === 0 ? all(body) : allThen(all(body), all(last));
  if (type === undefined) return rest;
  if (body.length + last.length === 0) return type;
  return (value, trace, seen) => type(value, trace, seen) && rest(value, trace, seen);
}

/** Runs `last` with all that `body` evaluated, and nothing that a schema further out did. */
function allThen(body: Check, last: Check): Check {
  return (value, trace, outer) => {
    const own = new Seen();
    if (!body(value, trace, own) || !last(value, trace, own)) return false;
    outer?.merge(own);
    return true;
  };
}

/** Alternatives whose reasons are told when none of them matched. */
const MAX_REASONS = 4;

const allOf: Keyword = (argument, site) => {
  const checks = (argument as readonly unknown[]).map((schema) => site.sub(schema));
  const every = all(checks);
  return (value, trace, seen) => {
    charge(checks.length);
    return every(value, trace, seen);
  };
};

/** Runs one alternative; what it evaluated counts only when it matched. */
function matches(check: Check, value: unknown, seen: Seen | null): boolean {
  charge(1);
  if (seen === null) return check(value, null, null);
  const own = new Seen();
  if (!check(value, null, own)) return false;
  seen.merge(own);
  return true;
}

/** Says why none of `checks` matched. Always false. */
function failAlternatives(keyword: string, checks: readonly Check[], value: unknown, trace: Trace): false {
  const reasons = checks.slice(0, MAX_REASONS).map((check) => firstReason(check, value));
  const more = checks.length > MAX_REASONS ? `; and ${checks.length - MAX_REASONS} more` : "";
  return trace.fail(
    keyword,
    `must match one of ${checks.length} schemas, but it matches none: ${reasons.join("; ")}${more}`,
  );
}

function firstReason(check: Check, value: unknown): string {
  const inner = new Trace();
  check(value, inner, null);
  return inner.faults[0]?.message ?? "it is not allowed";
}

const anyOf: Keyword = (argument, site) => {
  const checks = (argument as readonly unknown[]).map((schema) => site.sub(schema));
  return (value, trace, seen) => {
    let valid = false;
    for (let i = 0; i < checks.length; i++) {
      if (!matches(checks[i] as Check, value, seen)) continue;
      if (seen === null) return true;
      valid = true;
    }
    return valid || (trace === null ? false : failAlternatives("anyOf", checks, value, trace));
  };
};

const oneOf: Keyword = (argument, site) => {
  const checks = (argument as readonly unknown[]).map((schema) => site.sub(schema));
  return (value, trace, seen) => {
    let count = 0;
    for (let i = 0; i < checks.length; i++) {
      if (matches(checks[i] as Check, value, seen) && ++count === 2) break;
    }
    if (count === 1) return true;
    if (trace === null) return false;
    if (count === 0) return failAlternatives("oneOf", checks, value, trace);
    const matched = checks.flatMap((check, i) => (matches(check, value, null) ? [i + 1] : []));
    return trace.fail(
      "oneOf",
      `must match exactly one of ${checks.length} schemas, but it matches numbers ${list(matched)}`,
    );
  };
};

const not: Keyword = (argument, site) => {
  const check = site.sub(argument);
  return (value, trace) => {
    charge(1);
    if (!check(value, null, null)) return true;
    return trace === null ? false : trace.refuse("not", `must not match the schema under "not"`, value);
  };
};

const condition: Keyword = (argument, site) => {
  const test = site.sub(argument);
  const branch = (keyword: string): Check | undefined => {
    const schema = site.schema[keyword];
    return schema === undefined ? undefined : site.sub(schema);
  };
  const yes = branch("then");
  const no = branch("else");
  return (value, trace, seen) => {
    const chosen = matches(test, value, seen) ? yes : no;
    return chosen === undefined || chosen(value, trace, seen);
  };
};

export const logicKeywords: Keywords = {
  $ref: (_argument, site) => site.reference("$ref"),
  $dynamicRef: (_argument, site) => site.reference("$dynamicRef"),
  allOf,
  anyOf,
  oneOf,
  not,
  if: condition,
};
