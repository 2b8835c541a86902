// A source of JavaScript or TypeScript as a tree whose nodes know their places, and what is to be written in place of them.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type AnyNode, type CallExpression, type ObjectExpression, parse, type Program, type Property } from "acorn";

/** What stands in one source where something could not be rewritten. */
export interface Leftover {
  readonly line: number;
  readonly what: string;
}

/** A function as a value, in any of its forms. */
export type FunctionNode = Extract<
  AnyNode,
  { type: "ArrowFunctionExpression" | "FunctionExpression" | "FunctionDeclaration" }
>;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A part of a source that was kept: where it stood, and where it stands. */
interface Kept {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** What an identifier stands for, where one place in the file says so. */
export interface Binding {
  readonly name: string;
  /** Its value; a function's declaration is its own. */
  readonly value: AnyNode;
  /** The statement that declares nothing else; undefined for one of several. */
  readonly statement: AnyNode | undefined;
}

/** One source, read once. Rewriting collects edits; nothing is changed before `written`. */
export class Source {
  readonly text: string;
  /** The same without types: blanks stand where they were. */
  readonly bare: string;
  readonly program: Program;
  readonly #left: { readonly at: number; readonly what: string }[] = [];
  /** How many places were rewritten. */
  rewritten = 0;
  readonly #edits: Edit[] = [];
  readonly #bindings = new Map<string, Binding[]>();
  readonly #uses = new Map<string, number>();

  /** Throws SyntaxError for what cannot be read. */
  constructor(text: string, path: string) {
    this.text = text;
    this.bare = /\.[cm]?tsx?$/.test(path) ? withoutTypes(text, path) : text;
    this.program = readProgram(this.bare);
    walk(this.program, (node, parents) => this.#learn(node, parents));
  }

  of(node: { readonly start: number; readonly end: number }): string {
    return this.text.slice(node.start, node.end);
  }

  replace(start: number, end: number, text: string): void {
    this.#edits.push({ start, end, text });
  }

  insert(at: number, text: string): void {
    this.replace(at, at, text);
  }

  /** Takes away what is around a part. */
  unwrap(outer: AnyNode, inner: AnyNode): void {
    this.replace(outer.start, inner.start, "");
    this.replace(inner.end, outer.end, "");
  }

  /** Takes a statement away, with its line where nothing else is on it. */
  remove({ start, end }: AnyNode): void {
    const before = /[^\S\n]*$/.exec(this.text.slice(0, start))?.[0].length ?? 0;
    const after = /^[^\S\n]*\n?/.exec(this.text.slice(end))?.[0].length ?? 0;
    this.replace(start - before, end + after, "");
  }

  left(at: number, what: string): void {
    this.#left.push({ at, what });
  }

  /** What a name stands for; undefined where it comes from elsewhere, or stands for several things. */
  binding(name: string): Binding | undefined {
    const found = this.#bindings.get(name) ?? [];
    return found.length === 1 ? found[0] : undefined;
  }

  /** How often a name is read or written, its declaration not counted. */
  usesOf(name: string): number {
    return this.#uses.get(name) ?? 0;
  }

  /** Whether the file gives this name to anything. */
  names(name: string): boolean {
    return this.#bindings.has(name) || this.#uses.has(name);
  }

  /** Where a text that stands for types ends, beginning at a place: at the next character that is left without them. */
  typesFrom(at: number): number {
    const rest = /^\s*/.exec(this.bare.slice(at))?.[0].length ?? 0;
    return this.text.slice(at, at + rest).trim() === "" ? at : at + rest;
  }

  /** Takes a type away that begins at a place; the blanks after it stay. */
  dropTypes(at: number): void {
    const end = this.typesFrom(at);
    if (end > at) this.replace(at, at + this.text.slice(at, end).trimEnd().length, "");
  }

  edited(start: number, end: number): boolean {
    return this.#edits.some((edit) => edit.start < end && start < edit.end);
  }

  /** The source as it is to be. */
  written(): string {
    return this.#write().text;
  }

  /** What was left, by the lines of the source as it is to be. */
  leftovers(): Leftover[] {
    const { text, places } = this.#write();
    const found = this.#left.map(({ at, what }) => {
      const kept = places.findLast(({ from }) => from <= at) ?? { from: 0, to: 0, length: 0 };
      return { line: lineNumberAt(text, kept.to + Math.min(at - kept.from, kept.length)), what };
    });
    return found.sort((a, b) => a.line - b.line);
  }

  /** With where each part that was kept went. */
  #write(): { readonly text: string; readonly places: readonly Kept[] } {
    const order = this.#edits.map((edit, at) => ({ ...edit, at }));
    order.sort((a, b) => a.start - b.start || precedence(a) - precedence(b) || a.at - b.at);
    const places: Kept[] = [];
    let [text, done] = ["", 0];
    for (const { start, end, text: instead } of order) {
      // What is inside of something that was replaced as a whole went with it.
      if (start < done) continue;
      places.push({ from: done, to: text.length, length: start - done });
      text += this.text.slice(done, start) + instead;
      done = end;
    }
    places.push({ from: done, to: text.length, length: this.text.length - done });
    return { text: text + this.text.slice(done), places };
  }

  #learn(node: AnyNode, parents: readonly AnyNode[]): void {
    const parent = parents.at(-1);
    if (node.type === "Identifier" && isUse(node, parent)) {
      this.#uses.set(node.name, (this.#uses.get(node.name) ?? 0) + 1);
    } else if (node.type === "VariableDeclarator" && node.id.type === "Identifier") {
      const alone = parent?.type === "VariableDeclaration" && parent.declarations.length === 1 ? parent : undefined;
      if (node.init) this.#bind({ name: node.id.name, value: node.init, statement: alone });
    } else if (node.type === "FunctionDeclaration" && node.id) {
      this.#bind({ name: node.id.name, value: node, statement: node });
    }
  }

  #bind(binding: Binding): void {
    this.#bindings.set(binding.name, [...(this.#bindings.get(binding.name) ?? []), binding]);
  }
}

/** At one place: what is put in, then the longest of what is replaced. */
function precedence({ start, end }: Edit): number {
  return start === end ? Number.NEGATIVE_INFINITY : -end;
}

/** Visits a tree from the top; `false` leaves out what is below. */
export function walk(
  node: AnyNode,
  visit: (node: AnyNode, parents: readonly AnyNode[]) => boolean | void,
  parents: readonly AnyNode[] = [],
): void {
  if (visit(node, parents) === false) return;
  const below = [...parents, node];
  for (const value of Object.values(node) as unknown[]) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(each)) walk(each, visit, below);
    }
  }
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
}

/** Not the name of a member, and not a declaration. */
function isUse(node: AnyNode, parent: AnyNode | undefined): boolean {
  if (parent === undefined) return false;
  if (parent.type === "MemberExpression") return parent.object === node || parent.computed;
  if (parent.type === "Property") return parent.value === node || parent.computed;
  if (parent.type === "VariableDeclarator") return parent.id !== node;
  return !/^(?:Import|FunctionDeclaration|ClassDeclaration|MethodDefinition|PropertyDefinition|LabeledStatement)/.test(
    parent.type,
  );
}

export function lineNumberAt(source: string, at: number): number {
  return source.slice(0, at).split("\n").length;
}

/** The value of a member written as `name: value`, `"name": value` or `name`. */
export function member(object: ObjectExpression, name: string): Property | undefined {
  return members(object).find((property) => keyOf(property) === name);
}

/** The members of an object that are written one by one. */
export function members(object: ObjectExpression): Property[] {
  return object.properties.filter((each): each is Property => each.type === "Property");
}

export function keyOf({ key, computed }: Pick<Property, "key" | "computed">): string | undefined {
  if (computed) return undefined;
  if (key.type === "Identifier") return key.name;
  return key.type === "Literal" ? String(key.value) : undefined;
}

/** `object.name(...)`: both; undefined for any other call. */
export function methodCall({
  callee,
}: CallExpression): { readonly object: AnyNode; readonly name: string } | undefined {
  if (callee.type !== "MemberExpression" || callee.computed || callee.property.type !== "Identifier") return undefined;
  return { object: callee.object, name: callee.property.name };
}

export function isFunction(node: AnyNode | undefined): node is FunctionNode {
  return node !== undefined && /^(?:Arrow)?Function(?:Expression|Declaration)$/.test(node.type);
}

/** Whether a value is a text by its own words, or by those of what it names. */
export function isWord(node: AnyNode, source: Source): boolean {
  if (node.type === "Literal") return typeof node.value === "string";
  if (node.type === "TemplateLiteral" || node.type === "BinaryExpression") return true;
  const held = node.type === "Identifier" ? source.binding(node.name)?.value : undefined;
  return held !== undefined && held.type !== "Identifier" && isWord(held, source);
}

const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"],
]);

/** Whether an object says what kind of tool it is, and is no list of schemas. */
export function isAnnotations(node: AnyNode): boolean {
  if (node.type !== "ObjectExpression" || node.properties.length === 0) return false;
  return members(node).every(
    (each) =>
      ANNOTATIONS.has(keyOf(each) ?? "") && (each.value.type === "Literal" || each.value.type === "UnaryExpression"),
  );
}

/** Whether an object is a JSON Schema: a list of schemas by name may have a member `type`, but its value is no text. */
export function isJsonSchema(node: ObjectExpression): boolean {
  const type = member(node, "type")?.value;
  return type?.type === "Literal" && typeof type.value === "string";
}

function readProgram(text: string): Program {
  const options = { ecmaVersion: "latest", allowHashBang: true, allowReturnOutsideFunction: true } as const;
  try {
    return parse(text, { ...options, sourceType: "module" });
  } catch (error) {
    // Scripts may say what modules may not; what neither may say is told as of a module.
    try {
      return parse(text, { ...options, sourceType: "script" });
    } catch {
      throw error;
    }
  }
}

interface Stripper {
  stripped(source: string, filename: string): string;
}

/** As bundled, beside this file; as a source, where the package keeps it. */
const STRIPPERS = ["./strip-types.cjs", "../../../launcher/strip-types.cjs"];

let stripper: Stripper | undefined;

function withoutTypes(text: string, path: string): string {
  stripper ??= createRequire(import.meta.url)(
    STRIPPERS.map((each) => fileURLToPath(new URL(each, import.meta.url))).find((each) => existsSync(each)) as string,
  ) as Stripper;
  const bare = stripped(stripper, text, path);
  if (bare.length === text.length) return bare;
  throw new SyntaxError("types cannot be told from code");
}

/**
 * What a stripper cannot only take out: it would have to write code for it. For reading, it may as well not be there. Sources
 * are of any length and may be a stranger's: nothing here looks at one place again and again.
 */
const WRITTEN_CODE: readonly ((text: string) => string)[] = [withoutModifiers, withoutCasts, withoutEnums];

/** `constructor(private readonly name: string)`: up to the first bracket that closes. */
function withoutModifiers(text: string): string {
  return text.replaceAll(/\bconstructor\s*\([^)]*/g, (parameters) =>
    parameters.replaceAll(/\b(?:public|private|protected|readonly|override)\s+(?=[\w$])/g, blanked),
  );
}

/** `<Type>value`, where a value may begin: from the first place where it may to the last bracket behind which one does. */
function withoutCasts(text: string): string {
  return text.replaceAll(/<[\w$.<>[\], |]*/g, (types, start: number) => {
    let last = types.lastIndexOf(">");
    while (last > 0 && !/^[\w$([{]/.test(text.charAt(start + last + 1))) last = types.lastIndexOf(">", last - 1);
    let first = 0;
    while (first >= 0 && first < last - 1 && !valueMayBegin(text, start + first)) first = types.indexOf("<", first + 1);
    if (first < 0 || first >= last - 1) return types;
    return types.slice(0, first) + blanked(types.slice(first, last + 1)) + types.slice(last + 1);
  });
}

/** Whether an operator, a bracket or a word that asks for a value stands before a place, with or without blanks. */
function valueMayBegin(text: string, at: number): boolean {
  let end = at;
  while (end > 0 && /\s/.test(text.charAt(end - 1))) end -= 1;
  if (end > 0 && "=(,?:".includes(text.charAt(end - 1))) return true;
  return end < at && /\b(?:return|await)$/.test(text.slice(Math.max(0, end - "return".length - 1), end));
}

/** One that does not end stays: the source cannot be read. */
function withoutEnums(text: string): string {
  return text.replaceAll(
    /^[^\S\n\r\u2028\u2029]*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+[\w$]+\s*\{[^}]*\}?/gm,
    (found) => (found.endsWith("}") ? blanked(found) : found),
  );
}

function blanked(text: string): string {
  return text.replaceAll(/\S/g, " ");
}

function stripped(by: Stripper, text: string, path: string): string {
  try {
    return by.stripped(text, path);
  } catch {
    let tamed = text;
    for (const without of WRITTEN_CODE) tamed = without(tamed);
    return by.stripped(tamed, path);
  }
}

/** From the last statement's end to a place: an import that spans lines is one. */
export function lineBefore(text: string, at: number): string {
  return text.slice(Math.max(text.lastIndexOf(";", at), text.lastIndexOf("import", at)), at).replace(/^;\s*/, "");
}

/** The name of the second argument of the handler a call stands in; undefined outside of any. */
export function extraAround(
  parents: readonly AnyNode[],
  handled: Pick<ReadonlySet<FunctionNode>, "has">,
): string | undefined {
  const fn = parents.findLast((each): each is FunctionNode => isFunction(each) && handled.has(each));
  const last = fn?.params.at(-1);
  return fn !== undefined && fn.params.length > 1 && last?.type === "Identifier" ? last.name : undefined;
}

/** What is done with the promise a call gives back, and the call that does it: `catch` of `call(...).catch(...)`. */
export function chainedOn(call: AnyNode, parents: readonly AnyNode[]): readonly [string | undefined, AnyNode?] {
  const [outer, holder] = [parents.at(-2), parents.at(-1)];
  if (holder?.type !== "MemberExpression" || holder.object !== call || outer?.type !== "CallExpression")
    return [undefined];
  return holder.property.type === "Identifier" ? [holder.property.name, outer] : [undefined];
}

/** The member `list` of a template: what lists as the SDK wants it gives an object with `resources`. */
export function listing(source: Source, list: AnyNode): string {
  const fn = list.type === "Identifier" ? source.binding(list.name)?.value : list;
  const takes = isFunction(fn) && fn.params.length === 0 ? "" : "ctx";
  if (isFunction(list) && takes === "" && list.body.type === "ObjectExpression") {
    const [only, ...more] = list.body.properties;
    const resources = member(list.body, "resources");
    if (resources !== undefined && only === resources && more.length === 0)
      return `list: ${list.async ? "async " : ""}() => ${arrowBody(source.of(resources.value))}`;
  }
  return `list: async (${takes}) => (await (${source.of(list)})(${takes})).resources`;
}

function arrowBody(text: string): string {
  return text.startsWith("{") ? `(${text})` : text;
}
