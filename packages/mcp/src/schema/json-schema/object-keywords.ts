// Compiles the keywords that look at the members of an object.

import type { Pattern } from "./pattern.js";
import { list, nearest, plural, quote } from "./show.js";
import { charge, type Check, checkMember, has, isObject, type Seen, Trace } from "./run.js";
import { all, type Keyword, type Keywords, type Site } from "./logic-keywords.js";

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
  const hint = near === undefined ? "" : ` (did you mean ${quote(near)}?)`;
  const allowed = names.length === 0 ? "none is allowed" : `allowed are ${list(names)}`;
  return trace.fail(constraint, `must not have the property ${quote(name)}${hint}; ${allowed}`);
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
      valid = trace.fail("required", `must have required property ${quote(name)}`);
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
    return trace.fail("propertyNames", `has the property name ${quote(name)}, which ${reason}`);
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
        const sentence = `must have property ${quote(other)} because it has ${quote(name)}`;
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
