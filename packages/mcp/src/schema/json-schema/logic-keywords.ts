// Compiles the keywords that apply other schemas to the same value.

import { charge } from "./budget.js";
import { all, type Keyword, type Keywords } from "./keyword.js";
import { list } from "./show.js";
import { Seen, Trace, type Check } from "./trace.js";

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
    const matched = checks.flatMap((check, i) => (matches(check, value, null) ? [String(i + 1)] : []));
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
