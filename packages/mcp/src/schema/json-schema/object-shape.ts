// Speeds up the commonest schema, a plain object with named members: one closure instead of one for each keyword.

import { charge } from "./budget.js";
import type { Site } from "./keyword.js";
import type { Check } from "./trace.js";

/** Keywords that the fast check answers for; any other asserting keyword rules it out. */
const covered: ReadonlySet<string> = new Set(["type", "properties", "required", "additionalProperties"]);
/** Members looked up one by one; above this it is faster to walk over the members of the value. */
const MAX_MEMBERS = 24;

const { prototype } = Object;

interface Shape {
  readonly names: readonly string[];
  readonly checks: readonly Check[];
  readonly required: readonly boolean[];
  readonly closed: boolean;
}

/** The check of an object schema: quick for valid plain objects, and `general` in every other case. */
export function fastObject(site: Site, used: readonly string[], general: Check): Check {
  const shape = used.every((keyword) => covered.has(keyword)) ? shapeOf(site) : undefined;
  if (shape === undefined) return general;
  const { names, checks, required, closed } = shape;
  const count = names.length;
  return (value, trace, seen) => {
    // The prototype also tells arrays and null apart, and makes sure that no member is inherited.
    if (trace !== null || seen !== null || !isPlain(value)) return general(value, trace, seen);
    charge(count);
    let present = 0;
    for (let i = 0; i < count; i++) {
      const member = value[names[i] as string];
      if (member === undefined) {
        if (required[i] === true) return false;
      } else {
        present++;
        if (!(checks[i] as Check)(member, null, null)) return false;
      }
    }
    if (!closed) return true;
    for (const _ in value) present--;
    return present === 0 || general(value, null, null);
  };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === prototype;
}

function shapeOf({ schema, sub }: Site): Shape | undefined {
  const { properties, required = [], additionalProperties = true } = schema;
  if (schema["type"] !== "object" || typeof additionalProperties !== "boolean") return undefined;
  const members = (properties ?? {}) as Readonly<Record<string, unknown>>;
  const names = Object.keys(members);
  const needed = required as readonly string[];
  // A name that every object inherits cannot be looked up without asking whose it is.
  if (names.length > MAX_MEMBERS || names.some((name) => name in prototype)) return undefined;
  if (needed.some((name) => !names.includes(name))) return undefined;
  return {
    names,
    checks: names.map((name) => sub(members[name])),
    required: names.map((name) => needed.includes(name)),
    closed: !additionalProperties,
  };
}
