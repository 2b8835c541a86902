// Gathers what the variables of a template stood for in a URI.
import type { Node, ParamsNode, ValueNode } from "./nodes.js";

/** Values by variable. */
export interface TemplateMatch {
  [name: string]: string | string[];
}

/** Gathers values, and refuses what cannot have come from one expansion. */
export class Values {
  readonly #values = new Map<string, string | string[]>();
  readonly #prefixes = new Map<string, string>();

  /** Takes what a step of the template matched; false when no expansion could have written it. */
  take(node: Node, text: string): boolean {
    if (node.kind === "literal") return true;
    return node.kind === "params" ? this.#addPairs(node, text) : this.#add(node, text);
  }

  #add({ variable: { name, explode, prefix }, separator }: ValueNode, text: string): boolean {
    const list = explode ? text.split(separator).map(decoded) : [decoded(text)];
    if (list.includes(undefined)) return false;
    const value = (explode ? list : list[0]) as string | string[];
    if (prefix === undefined) return this.#agrees(name, value);
    this.#prefixes.set(name, value as string);
    return true;
  }

  #addPairs({ separator, variables }: ParamsNode, text: string): boolean {
    const seen = new Map<string, string[]>();
    for (const pair of text.split(separator)) {
      const equals = pair.indexOf("=");
      const name = equals < 0 ? pair : pair.slice(0, equals);
      const value = decoded(equals < 0 ? "" : pair.slice(equals + 1));
      const variable = variables.get(name);
      const list = seen.get(name);
      if (variable === undefined || value === undefined || (list !== undefined && !variable.explode)) return false;
      if (list === undefined) seen.set(name, [value]);
      else list.push(value);
    }
    for (const [name, list] of seen) {
      if (!this.#agrees(name, variables.get(name)?.explode === true ? list : (list[0] as string))) return false;
    }
    return true;
  }

  done(): TemplateMatch | undefined {
    for (const [name, prefix] of this.#prefixes) {
      const value = this.#values.get(name) ?? prefix;
      if (typeof value !== "string" || !value.startsWith(prefix)) return undefined;
      this.#values.set(name, value);
    }
    return Object.fromEntries(this.#values);
  }

  /** A variable that stands twice in a template has one value. */
  #agrees(name: string, value: string | string[]): boolean {
    const before = this.#values.get(name);
    if (before !== undefined) return JSON.stringify(before) === JSON.stringify(value);
    this.#values.set(name, value);
    return true;
  }
}

function decoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
