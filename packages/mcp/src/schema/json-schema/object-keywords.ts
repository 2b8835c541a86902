// Compiles the keywords that look at the members of an object.
import { nearest } from "../schema.js";
import type { Pattern } from "./pattern.js";
import {
  type Check,
  type Seen,
  Trace,
  charge,
  checkMember,
  findEqualPair,
  has,
  isObject,
  list,
  plural,
  quoteValue,
} from "./run.js";
import { all, type Keyword, type Keywords, type Site } from "./value-keywords.js";

type Members = Readonly<Record<string, unknown>>;

/** Properties of a schema up to which each is looked up in the value; above, each member is looked up in the schema. */
const FEW = 24;

const properties: Keyword = (argument, site) => {
  const map = argument as Members;
  const names = Object.keys(map);
  const checks = names.map((name) => site.sub(map[name]));
  return names.length > FEW ? manyProperties(names, checks) : fewProperties(names, checks);
};

function fewProperties(names: readonly string[], checks: readonly Check[]): Check {
  return (value, trace, seen) => {
    if (!isObject(value)) return true;
    charge(names.length);
    let valid = true;
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string;
      if (!has(value, name)) continue;
      seen?.names.add(name);
      if (checkMember(checks[i] as Check, value[name], name, trace)) continue;
      if (trace === null) return false;
      valid = false;
    }
    return valid;
  };
}

function manyProperties(names: readonly string[], checks: readonly Check[]): Check {
  const byName = new Map(names.map((name, i) => [name, checks[i] as Check]));
  return forEachMember((value, name, trace, seen) => {
    const check = byName.get(name);
    if (check === undefined) return true;
    seen?.names.add(name);
    return checkMember(check, value[name], name, trace);
  });
}

type MemberCheck = (value: Record<string, unknown>, name: string, trace: Trace | null, seen: Seen | null) => boolean;

/** Applies `check` to every member that an object has of its own. */
function forEachMember(check: MemberCheck): Check {
  return (value, trace, seen) => {
    if (!isObject(value)) return true;
    let valid = true;
    for (const name in value) {
      charge(1);
      if (!has(value, name) || check(value, name, trace, seen)) continue;
      if (trace === null) return false;
      valid = false;
    }
    return valid;
  };
}

const patternProperties: Keyword = (argument, site) => {
  const rules = patternRules(argument as Members, site).map(([source, pattern]) => {
    return { pattern, check: site.sub((argument as Members)[source]) };
  });
  return forEachMember((value, name, trace, seen) => {
    let valid = true;
    for (const { pattern, check } of rules) {
      charge(1);
      if (!pattern.test(name)) continue;
      seen?.names.add(name);
      if (!checkMember(check, value[name], name, trace)) valid = false;
    }
    return valid;
  });
};

function patternRules(map: Members | undefined, site: Site): [string, Pattern][] {
  return Object.keys(map ?? {}).map((source) => [source, site.pattern(source, "patternProperties")]);
}

const additionalProperties: Keyword = (argument, site) => {
  const names = Object.keys((site.schema["properties"] as Members | undefined) ?? {});
  const known = new Set(names);
  const patterns = patternRules(site.schema["patternProperties"] as Members | undefined, site).map(([, one]) => one);
  const check = site.sub(argument);
  return forEachMember((value, name, trace, seen) => {
    if (known.has(name)) return true;
    if (patterns.length > 0) {
      charge(patterns.length);
      if (patterns.some((pattern) => pattern.test(name))) return true;
    }
    seen?.names.add(name);
    if (argument === false) return trace === null ? false : unknownName(trace, "additionalProperties", name, names);
    return checkMember(check, value[name], name, trace);
  });
};

function unknownName(trace: Trace, constraint: string, name: string, names: readonly string[]): false {
  const near = nearest(name, names);
  const hint = near === undefined ? "" : ` (did you mean ${quoteValue(near)}?)`;
  const allowed = names.length === 0 ? "none is allowed" : `allowed are ${list(names)}`;
  return trace.fail(constraint, `must not have the property ${quoteValue(name)}${hint}; ${allowed}`);
}

const unevaluatedProperties: Keyword = (argument, site) => {
  const check = site.sub(argument);
  const names = Object.keys((site.schema["properties"] as Members | undefined) ?? {});
  return forEachMember((value, name, trace, seen) => {
    if (seen === null || seen.hasName(name)) return true;
    if (argument === false) return trace === null ? false : unknownName(trace, "unevaluatedProperties", name, names);
    seen.names.add(name);
    return checkMember(check, value[name], name, trace);
  });
};

const required: Keyword = (argument) => {
  const names = argument as readonly string[];
  if (names.length === 0) return undefined;
  return (value, trace) => {
    if (!isObject(value)) return true;
    charge(names.length);
    let valid = true;
    for (const name of names) {
      if (has(value, name)) continue;
      if (trace === null) return false;
      valid = trace.fail("required", `must have required property ${quoteValue(name)}`);
    }
    return valid;
  };
};

const propertyNames: Keyword = (argument, site) => {
  const check = site.sub(argument);
  return forEachMember((_value, name, trace) => {
    if (check(name, null, null)) return true;
    if (trace === null) return false;
    const inner = new Trace();
    check(name, inner, null);
    const reason = inner.faults[0]?.message ?? "is not allowed";
    return trace.fail("propertyNames", `has the property name ${quoteValue(name)}, which ${reason}`);
  });
};

function countMembers(value: Record<string, unknown>): number {
  let count = 0;
  for (const name in value) if (has(value, name)) count++;
  charge(count);
  return count;
}

const minProperties: Keyword = (argument) => {
  const limit = argument as number;
  return (value, trace) => {
    if (!isObject(value) || countMembers(value) >= limit) return true;
    if (trace === null) return false;
    const came = countMembers(value);
    const expected = plural(limit, "property", "properties");
    return trace.fail("minProperties", `must have at least ${expected}, but it has ${came}`);
  };
};

const maxProperties: Keyword = (argument) => {
  const limit = argument as number;
  return (value, trace) => {
    if (!isObject(value) || countMembers(value) <= limit) return true;
    if (trace === null) return false;
    const came = countMembers(value);
    return trace.fail(
      "maxProperties",
      `must have at most ${plural(limit, "property", "properties")}, but it has ${came}`,
    );
  };
};

const dependentRequired: Keyword = (argument) => {
  const rules = Object.entries(argument as Readonly<Record<string, readonly string[]>>);
  return (value, trace) => {
    if (!isObject(value)) return true;
    let valid = true;
    for (const [name, needed] of rules) {
      charge(1);
      if (!has(value, name)) continue;
      charge(needed.length);
      for (const other of needed) {
        if (has(value, other)) continue;
        if (trace === null) return false;
        const sentence = `must have property ${quoteValue(other)} because it has ${quoteValue(name)}`;
        valid = trace.fail("dependentRequired", sentence);
      }
    }
    return valid;
  };
};

const dependentSchemas: Keyword = (argument, site) => {
  const map = argument as Members;
  const rules = Object.keys(map).map((name) => ({ name, check: site.sub(map[name]) }));
  return (value, trace, seen) => {
    if (!isObject(value)) return true;
    let valid = true;
    for (const { name, check } of rules) {
      charge(1);
      if (!has(value, name) || check(value, trace, seen)) continue;
      if (trace === null) return false;
      valid = false;
    }
    return valid;
  };
};

/** The draft-07 keyword that 2020-12 split into `dependentRequired` and `dependentSchemas`. */
const dependencies: Keyword = (argument, site) => {
  const entries = Object.entries(argument as Members);
  const names = entries.filter(([, value]) => Array.isArray(value));
  const schemas = entries.filter(([, value]) => !Array.isArray(value));
  const parts = [
    dependentRequired(Object.fromEntries(names), site),
    dependentSchemas(Object.fromEntries(schemas), site),
  ];
  return all(parts.filter((part) => part !== undefined));
};

export const objectKeywords: Keywords = {
  required,
  properties,
  patternProperties,
  additionalProperties,
  propertyNames,
  minProperties,
  maxProperties,
  dependentRequired,
  dependentSchemas,
  dependencies,
  unevaluatedProperties,
};

// Compiles the keywords that look at the items of an array.

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
