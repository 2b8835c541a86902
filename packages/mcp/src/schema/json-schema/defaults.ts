// Fills members that are missing from a value with the `default` of their schema.

import type { Catalogue, Node } from "./catalogue.js";
import type { Targets } from "./references.js";
import { charge, type Check, has, isObject, MAX_LEVELS, openBudget, run, tooExpensive } from "./run.js";
import { isSchemaObject, type SchemaObject } from "./schema-error.js";

/** Returns `value` itself when nothing was missing, and otherwise a copy of the parts that changed. */
export type Fill = (value: unknown) => unknown;

/** One place that may be filled: a named property, or an index of a list. */
interface Place {
  readonly name: string;
  /** The default; undefined when there is none. */
  readonly value: unknown;
  readonly size: number;
  /** Fills what is inside the place. */
  readonly fill: Fill | undefined;
}

const same: Fill = (value) => value;

/** Makes the fillers of one schema. */
export class Filler {
  readonly #catalogue: Catalogue;
  readonly #targets: Targets;
  readonly #compiled: (schema: unknown) => Check;
  readonly #fillers = new Map<Node, Fill>();
  readonly #queue: Node[] = [];

  /** `compiled` gives the check of a subschema: a default that its own schema refuses is not filled in. */
  constructor(catalogue: Catalogue, targets: Targets, compiled: (schema: unknown) => Check) {
    this.#catalogue = catalogue;
    this.#targets = targets;
    this.#compiled = compiled;
  }

  /** The filler of `root`; undefined when there is nothing to fill in anywhere. */
  fillerOf(root: unknown): Fill | undefined {
    if (!this.#catalogue.hasDefaults) return undefined;
    const fill = this.#sub(root);
    for (let node = this.#queue.pop(); node !== undefined; node = this.#queue.pop()) {
      if (!this.#fillers.has(node)) this.#fillers.set(node, this.#sub(node.schema) ?? same);
    }
    return fill;
  }

  #sub(schema: unknown): Fill | undefined {
    if (!isSchemaObject(schema)) return undefined;
    const node = this.#catalogue.nodeOf(schema);
    const own = node.isBareReference ? [] : [this.#members(schema), this.#items(schema), ...this.#parts(schema)];
    const steps = [...own, this.#reference(node)].filter((step) => step !== undefined);
    return steps.length === 0 ? undefined : (value) => steps.reduce((filled, step) => step(filled), value);
  }

  #parts({ allOf }: SchemaObject): (Fill | undefined)[] {
    return Array.isArray(allOf) ? allOf.map((part) => this.#sub(part)) : [];
  }

  #reference(node: Node): Fill | undefined {
    const target = this.#targets.get(node)?.["$ref"]?.schema;
    if (!isSchemaObject(target)) return undefined;
    const to = this.#catalogue.nodeOf(target);
    const weight = node.level + 1;
    this.#queue.push(to);
    return (value) => {
      charge(1);
      if ((run.levels += weight) > MAX_LEVELS) throw tooExpensive;
      const filled = (this.#fillers.get(to) ?? same)(value);
      run.levels -= weight;
      return filled;
    };
  }

  #members({ properties }: SchemaObject): Fill | undefined {
    if (!isObject(properties)) return undefined;
    const places = Object.keys(properties).map((name) => this.#place(name, properties[name]));
    const useful = places.filter(({ value, fill }) => value !== undefined || fill !== undefined);
    return useful.length === 0 ? undefined : (value) => (isObject(value) ? fillMembers(value, useful) : value);
  }

  #items({ items, prefixItems, additionalItems }: SchemaObject): Fill | undefined {
    const first = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
    const places = first.map((schema, index) => this.#place(String(index), schema));
    const rest = this.#sub(Array.isArray(items) ? additionalItems : items);
    const useful = rest !== undefined || places.some(({ value, fill }) => value !== undefined || fill !== undefined);
    return useful ? (value) => (Array.isArray(value) ? fillItems(value, places, rest) : value) : undefined;
  }

  #place(name: string, schema: unknown): Place {
    const value = this.#default(schema);
    const size = typeof value === "object" && value !== null ? JSON.stringify(value).length >> 3 : 0;
    return { name, value, size, fill: this.#sub(schema) };
  }

  #default(schema: unknown): unknown {
    const value = isSchemaObject(schema) ? schema["default"] : undefined;
    if (value === undefined) return undefined;
    openBudget();
    try {
      return this.#compiled(schema)(value, null, null) ? value : undefined;
    } catch {
      return undefined;
    }
  }
}

function fillMembers(object: Record<string, unknown>, places: readonly Place[]): Record<string, unknown> {
  charge(places.length);
  let result = object;
  for (const place of places) {
    const { name } = place;
    const old = has(object, name) ? object[name] : undefined;
    const filled = fillPlace(place, old);
    if (filled === old) continue;
    if (result === object) result = { ...object };
    // Not an assignment, which for `__proto__` would set the prototype.
    Object.defineProperty(result, name, { value: filled, enumerable: true, configurable: true, writable: true });
  }
  return result;
}

function fillItems(list: readonly unknown[], places: readonly Place[], rest: Fill = same): readonly unknown[] {
  charge(list.length + places.length);
  const result: unknown[] = [];
  let changed = false;
  for (let i = 0; i < Math.max(list.length, places.length); i++) {
    const place = places[i];
    const filled = place === undefined ? rest(list[i]) : fillPlace(place, list[i]);
    // A list cannot have gaps.
    if (filled === undefined && i >= list.length) break;
    changed ||= filled !== list[i];
    result.push(filled);
  }
  return changed ? result : list;
}

/** What stands at `place` once it is filled; undefined when nothing does and there is no default. */
function fillPlace({ value, size, fill = same }: Place, old: unknown): unknown {
  if (old !== undefined) return fill(old);
  if (typeof value !== "object" || value === null) return value;
  // A copy, so that whoever is handed it cannot change the schema.
  charge(size);
  return fill(structuredClone(value));
}
