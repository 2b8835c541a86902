// Compiles the keywords that look at the items of an array.

import { findEqualPair } from "./equality.js";
import { plural } from "./show.js";
import { charge, type Check, checkMember } from "./run.js";
import type { Keyword, Keywords } from "./logic-keywords.js";

/** A check of the items from index `start` on. */
function itemsFrom(start: number, check: Check): Check {
  return (value, trace, seen) => {
    if (!Array.isArray(value)) return true;
    if (value.length > start && seen !== null) seen.allItems = true;
    charge(1 + (value.length >> 3));
    let valid = true;
    for (let i = start; i < value.length; i++) {
      if (checkMember(check, value[i], i, trace)) continue;
      if (trace === null) return false;
      valid = false;
    }
    return valid;
  };
}

/** No item may stand at index `start` or after it. */
function noItemsFrom(start: number, keyword: string): Check {
  return (value, trace) => {
    if (!Array.isArray(value) || value.length <= start) return true;
    if (trace === null) return false;
    return trace.fail(keyword, `must have at most ${plural(start, "item")}, but it has ${value.length}`);
  };
}

function rest(start: number, schema: unknown, keyword: string, sub: (schema: unknown) => Check): Check {
  return schema === false ? noItemsFrom(start, keyword) : itemsFrom(start, sub(schema));
}

const prefixItems: Keyword = (argument, site) => {
  const checks = (argument as readonly unknown[]).map((schema) => site.sub(schema));
  return (value, trace, seen) => {
    if (!Array.isArray(value)) return true;
    const count = Math.min(value.length, checks.length);
    charge(count);
    if (seen !== null) seen.items = Math.max(seen.items, count);
    let valid = true;
    for (let i = 0; i < count; i++) {
      if (checkMember(checks[i] as Check, value[i], i, trace)) continue;
      if (trace === null) return false;
      valid = false;
    }
    return valid;
  };
};

const items: Keyword = (argument, site) => {
  // In draft-07 a list of schemas means what `prefixItems` means now.
  if (Array.isArray(argument)) return prefixItems(argument, site);
  const isCurrent = site.node.resource.dialect.draft === "2020-12";
  const before = isCurrent ? ((site.schema["prefixItems"] as readonly unknown[] | undefined)?.length ?? 0) : 0;
  return rest(before, argument, "items", site.sub);
};

const additionalItems: Keyword = (argument, site) => {
  const before = site.schema["items"];
  return Array.isArray(before) ? rest(before.length, argument, "additionalItems", site.sub) : undefined;
};

const unevaluatedItems: Keyword = (argument, site) => {
  const check = site.sub(argument);
  return (value, trace, seen) => {
    if (!Array.isArray(value) || seen === null) return true;
    charge(value.length);
    let valid = true;
    for (let i = 0; i < value.length; i++) {
      if (seen.hasItem(i)) continue;
      if (checkMember(check, value[i], i, trace)) continue;
      if (trace === null) return false;
      valid = false;
    }
    seen.allItems = true;
    return valid;
  };
};

const contains: Keyword = (argument, site) => {
  const check = site.sub(argument);
  const isCurrent = site.node.resource.dialect.draft === "2020-12";
  const { kinds } = site.node.resource.dialect;
  const limit = (name: string): number | undefined =>
    kinds.has(name) ? (site.schema[name] as number | undefined) : undefined;
  const least = limit("minContains") ?? 1;
  const most = limit("maxContains") ?? Infinity;
  return (value, trace, seen) => {
    if (!Array.isArray(value)) return true;
    charge(1 + (value.length >> 3));
    let count = 0;
    for (let i = 0; i < value.length; i++) {
      if (!check(value[i], null, null)) continue;
      count++;
      if (isCurrent && seen !== null) seen.indexes.add(i);
      else if (count >= least && most === Infinity) return true;
    }
    if (count >= least && count <= most) return true;
    if (trace === null) return false;
    const few = count < least;
    const expected = few ? `at least ${plural(least, "item")}` : `at most ${plural(most, "item")}`;
    const keyword = !few ? "maxContains" : least === 1 ? "contains" : "minContains";
    return trace.fail(keyword, `must have ${expected} that match its "contains" schema, but it has ${count}`);
  };
};

const minItems: Keyword = (argument) => {
  const limit = argument as number;
  return (value, trace) => {
    if (!Array.isArray(value) || value.length >= limit) return true;
    if (trace === null) return false;
    return trace.fail("minItems", `must have at least ${plural(limit, "item")}, but it has ${value.length}`);
  };
};

const maxItems: Keyword = (argument) => {
  const limit = argument as number;
  return (value, trace) => {
    if (!Array.isArray(value) || value.length <= limit) return true;
    if (trace === null) return false;
    return trace.fail("maxItems", `must have at most ${plural(limit, "item")}, but it has ${value.length}`);
  };
};

const uniqueItems: Keyword = (argument) => {
  if (argument !== true) return undefined;
  return (value, trace) => {
    if (!Array.isArray(value) || value.length < 2) return true;
    const pair = findEqualPair(value);
    if (pair === undefined) return true;
    if (trace === null) return false;
    return trace.fail("uniqueItems", `must not have equal items, but items ${pair[0]} and ${pair[1]} are equal`);
  };
};

export const arrayKeywords: Keywords = {
  minItems,
  maxItems,
  prefixItems,
  items,
  additionalItems,
  contains,
  uniqueItems,
  unevaluatedItems,
};
