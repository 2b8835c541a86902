// Finds, in built declarations, every type that the signatures behind an entry lead to.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "rolldown/utils";

interface Syntax {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A declaration file: what it declares, and under which names it takes and gives what. */
interface Declarations {
  readonly own: Map<string, Syntax[]>;
  readonly taken: Map<string, readonly [path: string, name: string]>;
  readonly given: Map<string, readonly [path: string, name: string]>;
}

const files = new Map<string, Declarations>();

const nameOf = (node: unknown): string => (node as { readonly name?: string } | undefined)?.name ?? "";
const list = (node: unknown): readonly Syntax[] => (node ?? []) as readonly Syntax[];

function read(path: string): Declarations {
  const known = files.get(path);
  if (known !== undefined) return known;
  const found: Declarations = { own: new Map(), taken: new Map(), given: new Map() };
  files.set(path, found);
  const { body } = parseSync(path, readFileSync(path, "utf8")).program as unknown as { readonly body: Syntax[] };
  for (const node of body) readStatement(path, node, found);
  return found;
}

function readStatement(path: string, node: Syntax, { own, taken, given }: Declarations): void {
  const source = (node["source"] as { readonly value?: string } | null)?.value;
  const from = source?.startsWith(".") === true ? join(dirname(path), source.replace(/\.js$/, ".d.ts")) : undefined;
  if (node.type === "ImportDeclaration") {
    for (const one of list(node["specifiers"]))
      if (from !== undefined && one["imported"] !== undefined)
        taken.set(nameOf(one["local"]), [from, nameOf(one["imported"])]);
    return;
  }
  const declared = node["declaration"] as Syntax | null | undefined;
  if (node.type === "ExportNamedDeclaration" && !declared) {
    for (const one of list(node["specifiers"]))
      given.set(nameOf(one["exported"]), [from ?? path, nameOf(one["local"])]);
    return;
  }
  const shown = declared ?? node;
  const names = shown["id"] ? [shown["id"]] : list(shown["declarations"]).map(({ id }) => id);
  for (const name of names.map(nameOf)) {
    own.set(name, [...(own.get(name) ?? []), shown]);
    if (declared) given.set(name, [path, name]);
  }
}

/** Where `name`, as it is used in `path`, is declared: `path#name`; undefined for what comes from outside. */
function declaredAt(path: string, name: string): string | undefined {
  const { own, taken, given } = read(path);
  if (own.has(name)) return `${path}#${name}`;
  const [from, there] = taken.get(name) ?? given.get(name) ?? [];
  if (from === undefined || there === undefined || from === path) return undefined;
  const [onFrom, onName] = read(from).given.get(there) ?? [];
  return onFrom === undefined || onName === undefined ? undefined : declaredAt(onFrom, onName);
}

/** Adds every name of a type in `node` to `found`. */
function collect(node: unknown, found: Set<string>): void {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) return node.forEach((one) => collect(one, found));
  const { type, typeName, exprName, expression, superClass, accessibility, ...rest } = node as Syntax;
  if (type === "PropertyDefinition" && accessibility === "private") return;
  for (const name of [typeName, exprName, superClass]) found.add(nameOf(name));
  if (type === "TSClassImplements" || type === "TSInterfaceHeritage") found.add(nameOf(expression));
  collect(expression, found);
  for (const value of Object.values(rest)) collect(value, found);
}

/**
 * What an entry gives away, and every type that this leads to, as `path#name`, with the one that first led there. The
 * names in `inside` are not followed.
 */
export function reachableTypes(
  entry: string,
  inside: readonly string[] = [],
): { readonly given: Set<string>; readonly reached: Map<string, string> } {
  const given = new Set<string>();
  for (const name of read(entry).given.keys()) {
    const at = declaredAt(entry, name);
    if (at !== undefined) given.add(at);
  }
  const reached = new Map([...given].map((at) => [at, ""]));
  for (const at of reached.keys()) {
    const [path = "", name = ""] = at.split("#");
    const names = new Set<string>();
    collect(read(path).own.get(name), names);
    for (const other of names) {
      const there = other === "" ? undefined : declaredAt(path, other);
      if (there !== undefined && !reached.has(there) && !inside.includes(other)) reached.set(there, name);
    }
  }
  return { given, reached };
}

/** The other entries whose types a program that imports this one has too: those it takes names from. */
export function companions(entry: string): string[] {
  const from = [...read(entry).given.values()].map(([path]) => path).filter((path) => dirname(path) === dirname(entry));
  return [...new Set(from)].filter((path) => path !== entry);
}
