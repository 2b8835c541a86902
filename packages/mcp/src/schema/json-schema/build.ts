// Builds the check of every subschema: closures over closures, with no generated code.

import { arrayKeywords } from "./array-keywords.js";
import type { Catalogue, Node, Resource } from "./catalogue.js";
import { objectKeywords } from "./object-keywords.js";
import type { Pattern, PatternEngine } from "./pattern.js";
import type { Target, Targets } from "./references.js";
import { valueKeywords } from "./value-keywords.js";
import { charge, type Check, MAX_LEVELS, run, tooExpensive } from "./run.js";
import { below, isSchemaObject, SchemaError } from "./schema-error.js";
import { always, join, type Keyword, logicKeywords, never, type Site } from "./logic-keywords.js";

/** The tests that `format` asserts, by name. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>;

const keywords: ReadonlyMap<string, Keyword> = new Map(
  [valueKeywords, arrayKeywords, objectKeywords, logicKeywords].flatMap((group) => Object.entries(group)),
);

interface BuildOptions {
  readonly engine: PatternEngine;
  readonly formats: Formats | undefined;
}

export class Builder {
  /** The resources entered by the validation that runs now, outermost first; undefined when no `$dynamicRef` asks. */
  readonly scope: Resource[] | undefined;
  readonly #catalogue: Catalogue;
  readonly #targets: Targets;
  readonly #options: BuildOptions;
  readonly #patterns = new Map<string, Pattern>();
  readonly #queue: Node[] = [];

  constructor(catalogue: Catalogue, targets: Targets, options: BuildOptions) {
    this.#catalogue = catalogue;
    this.#targets = targets;
    this.#options = options;
    if (!catalogue.references.some(({ keyword }) => keyword === "$dynamicRef")) return;
    this.scope = [];
    for (const { dynamic } of catalogue.resources.values()) this.#queue.push(...dynamic.values());
  }

  /** Builds `schema` and all it leads to: references from a queue, so that a long chain of them is no deep recursion. */
  build(schema: unknown): Check {
    const check = this.sub(schema);
    for (let node = this.#queue.pop(); node !== undefined; node = this.#queue.pop()) this.#check(node);
    return check;
  }

  /** The check of a subschema that stands where it is used. */
  readonly sub = (schema: unknown): Check => {
    if (!isSchemaObject(schema)) return schema === false ? never : always;
    return this.#check(this.#catalogue.nodeOf(schema));
  };

  #check(node: Node): Check {
    if (node.check !== undefined) return node.check;
    const check = this.#join(node);
    const isRoot = this.scope !== undefined && node.schema === node.resource.root;
    return (node.check = isRoot ? this.#inScope(node.resource, check) : check);
  }

  #join(node: Node): Check {
    const { schema, resource } = node;
    const site = this.#site(node);
    let type: Check | undefined;
    const body: Check[] = [];
    const last: Check[] = [];
    const used: string[] = [];
    for (const keyword of node.isBareReference ? ["$ref"] : Object.keys(schema)) {
      const check = resource.dialect.kinds.has(keyword) ? keywords.get(keyword)?.(schema[keyword], site) : undefined;
      if (check === undefined) continue;
      used.push(keyword);
      if (keyword === "type") type = check;
      else (keyword.startsWith("unevaluated") ? last : body).push(check);
    }
    return fastObject(site, used, join(type, body, last));
  }

  #site(node: Node): Site {
    return {
      node,
      schema: node.schema,
      sub: this.sub,
      format: (name) => {
        const { formats } = this.#options;
        return formats !== undefined && Object.hasOwn(formats, name) ? formats[name] : undefined;
      },
      pattern: (source, keyword) => this.#pattern(source, below(node.pointer, keyword)),
      reference: (keyword) => this.#reference(node, this.#targets.get(node)?.[keyword], keyword === "$dynamicRef"),
    };
  }

  #pattern(source: string, place: string): Pattern {
    const known = this.#patterns.get(source);
    if (known !== undefined) return known;
    try {
      const pattern = this.#options.engine(source);
      this.#patterns.set(source, pattern);
      return pattern;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const code = error instanceof SyntaxError ? "invalid-schema" : "unsafe-pattern";
      throw new SchemaError(code, place, `cannot be used as a regular expression: ${reason}`);
    }
  }

  #reference(from: Node, target: Target | undefined, isDynamic: boolean): Check {
    if (target === undefined) throw new Error("a reference was not resolved");
    const { schema, resource, anchor } = target;
    if (!isSchemaObject(schema)) return schema ? always : never;
    const to = this.#catalogue.nodeOf(schema);
    this.#queue.push(to);
    const weight = from.level + 1;
    const find =
      isDynamic && anchor !== undefined && resource.dynamic.has(anchor) ? this.#rebound(anchor, to) : undefined;
    const follow: Check = (value, trace, seen) => {
      charge(1);
      if ((run.levels += weight) > MAX_LEVELS) throw tooExpensive;
      const check = (find === undefined ? to.check : find()) as Check;
      const valid = check(value, trace, seen);
      run.levels -= weight;
      return valid;
    };
    return this.scope !== undefined && resource !== from.resource ? this.#inScope(resource, follow) : follow;
  }

  /** Finds what a `$dynamicRef` means now: the anchor of that name in the outermost resource entered that has one. */
  #rebound(anchor: string, otherwise: Node): () => Check | undefined {
    return () => {
      for (const { dynamic } of this.scope ?? []) {
        const node = dynamic.get(anchor);
        if (node !== undefined) return node.check;
      }
      return otherwise.check;
    };
  }

  #inScope(resource: Resource, check: Check): Check {
    const { scope } = this;
    if (scope === undefined) return check;
    return (value, trace, seen) => {
      scope.push(resource);
      const valid = check(value, trace, seen);
      scope.pop();
      return valid;
    };
  }
}

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
function fastObject(site: Site, used: readonly string[], general: Check): Check {
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
