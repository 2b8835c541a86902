// Which expressions of a source stand for a server: names, and members of objects and classes.
import type { AnyNode } from "acorn";
import { asWord, type Imports, serversFrom } from "./imports.js";
import { isFunction, methodCall, type Source, walk } from "./source-tree.js";

/** What holds a server: a name of the file as it is, a member of anything with a dot before it. */
type Holder = string;

/** The servers of one source. */
export class Servers {
  readonly #source: Source;
  readonly #local: string | undefined;
  readonly #held = new Set<Holder>();
  /** Functions of the file that make one. */
  readonly #makers: ReadonlySet<string>;

  constructor(source: Source, imports: Imports, path: string) {
    this.#source = source;
    this.#local = imports.local("McpServer");
    const { servers, makers } = serversFrom(source, path);
    for (const name of servers) this.#held.add(name);
    this.#makers = makers;
    // What is given from one holder to another may stand before what says that the first is one.
    let found: number;
    do {
      found = this.#held.size;
      walk(source.program, (node, parents) => this.#find(node, parents));
    } while (this.#held.size > found);
  }

  /** Whether an expression is a server. */
  is(node: AnyNode): boolean {
    const holder = holderOf(node);
    if (holder === undefined || !this.#held.has(holder)) return false;
    // The member `server` of a server is the low-level one, whatever else is called so.
    return node.type !== "MemberExpression" || !this.is(node.object);
  }

  /** Whether an expression is the call of a function that makes one. */
  isMade(node: AnyNode): boolean {
    return node.type === "CallExpression" && node.callee.type === "Identifier" && this.#makers.has(node.callee.name);
  }

  /** What holds one, is given one, has its type, or is registered at. */
  #find(node: AnyNode, parents: readonly AnyNode[]): void {
    const { type } = node;
    if (type === "VariableDeclarator" && this.#stands(node.init)) this.#take(node.id);
    if (type === "AssignmentExpression" && this.#stands(node.right)) this.#take(node.left);
    if ((type === "PropertyDefinition" || type === "Property") && parents.at(-1)?.type !== "ObjectPattern") {
      const typed = type === "PropertyDefinition" && this.#isTyped(node.key.end);
      if (typed || this.#stands(node.value)) this.#takeMember(node.key, node.computed);
    }
    if (type === "CallExpression") {
      const called = methodCall(node);
      if (called !== undefined && /^register(?:Tool|Resource|Prompt)$/.test(called.name)) this.#take(called.object);
    }
    if (isFunction(node))
      for (const param of node.params) {
        if (param.type === "Identifier" && this.#isTyped(param.end)) this.#held.add(param.name);
      }
  }

  #stands(node: AnyNode | null | undefined): boolean {
    if (node === null || node === undefined) return false;
    const makes = node.type === "NewExpression" && node.callee.type === "Identifier" && node.callee.name === this.#local;
    return makes || this.is(node);
  }

  #take(node: AnyNode): void {
    const holder = holderOf(node);
    if (holder !== undefined && !(node.type === "MemberExpression" && this.is(node.object))) this.#held.add(holder);
  }

  #takeMember(key: AnyNode, computed: boolean): void {
    const name = computed ? undefined : nameOf(key);
    if (name !== undefined) this.#held.add(`.${name}`);
  }

  /** Whether the type that begins at a place is that of the SDK's server. */
  #isTyped(at: number): boolean {
    if (this.#local === undefined) return false;
    const types = this.#source.text.slice(at, this.#source.typesFrom(at));
    return new RegExp(String.raw`^[?!]?\s*:\s*${asWord(this.#local)}`).test(types);
  }
}

function holderOf(node: AnyNode): Holder | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression" || node.computed) return undefined;
  const name = nameOf(node.property);
  return name === undefined ? undefined : `.${name}`;
}

function nameOf(key: AnyNode): string | undefined {
  if (key.type === "Identifier") return key.name;
  return key.type === "PrivateIdentifier" ? `#${key.name}` : undefined;
}
