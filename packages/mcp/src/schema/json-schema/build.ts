// Builds the check of every subschema: closures over closures, with no generated code.

import { arrayKeywords } from "./array-keywords.js";
import { charge, MAX_LEVELS, run, tooExpensive } from "./budget.js";
import type { Catalogue, Node, Resource } from "./catalogue.js";
import { below, isSchemaObject } from "./inspect.js";
import { always, join, never, type Keyword, type Site } from "./keyword.js";
import { logicKeywords } from "./logic-keywords.js";
import { objectKeywords } from "./object-keywords.js";
import { fastObject } from "./object-shape.js";
import type { Pattern, PatternEngine } from "./pattern.js";
import type { Target, Targets } from "./references.js";
import { SchemaError } from "./schema-error.js";
import type { Check } from "./trace.js";
import { valueKeywords } from "./value-keywords.js";

/** The tests that `format` asserts, by name. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>;

const keywords: ReadonlyMap<string, Keyword> = new Map(
  [valueKeywords, arrayKeywords, objectKeywords, logicKeywords].flatMap((group) => Object.entries(group)),
);

export interface BuildOptions {
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
    const hidden = resource.dialect.draft === "draft-07" && schema["$ref"] !== undefined;
    let type: Check | undefined;
    const body: Check[] = [];
    const last: Check[] = [];
    const used: string[] = [];
    for (const keyword of hidden ? ["$ref"] : Object.keys(schema)) {
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
      throw new SchemaError("invalid-schema", place, `cannot be used as a regular expression: ${reason}`);
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
