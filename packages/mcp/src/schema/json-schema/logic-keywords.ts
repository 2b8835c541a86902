// Defines how a keyword is turned into a check, how checks are joined, and the keywords that join schemas.

import type { Node } from "./catalogue.js";
import type { Pattern } from "./pattern.js";
import { list } from "./show.js";
import { charge, type Check, Seen, Trace } from "./run.js";
import type { SchemaObject } from "./schema-error.js";

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
