// Reads what a source file exports and which modules it loads, as the compiler will emit them.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "rolldown/utils";

interface Named {
  readonly type: string;
  readonly name?: string;
  readonly value?: string;
}

/** The few members of a parsed statement that are read here. */
interface Statement {
  readonly type: string;
  readonly exportKind?: "type" | "value";
  readonly source?: { readonly value: string } | null;
  readonly specifiers?: readonly { readonly exported: Named; readonly exportKind?: "type" | "value" }[];
}

function statements(path: string): readonly Statement[] {
  return parseSync(path, readFileSync(path, "utf8")).program.body as unknown as readonly Statement[];
}

/** What a file loads from where it imports or re-exports. The parser lists it without handing over the whole tree. */
function sources(path: string): string[] {
  const text = readFileSync(path, "utf8");
  const { staticImports, staticExports } = parseSync(path, text).module;
  const loads = ({ start }: { start: number }): boolean => !/^(?:im|ex)port type\b/.test(text.slice(start, start + 12));
  const given = staticExports.filter(loads).flatMap(({ entries }) => entries.map(({ moduleRequest }) => moduleRequest));
  const asked = staticImports.filter(loads).map(({ moduleRequest }) => moduleRequest);
  return [...asked, ...given].flatMap((request) => (request === null ? [] : [request.value]));
}

/**
 * The names a file re-exports, sorted, with `type ` before those that do not exist at run time.
 * Throws for `export *` and for anything declared in the file: an entry only lists names.
 */
export function exportedNames(path: string): string[] {
  const names: string[] = [];
  for (const { type, source, exportKind, specifiers } of statements(path)) {
    if (type !== "ExportNamedDeclaration" || !source)
      throw new Error(`${path}: ${type}, list names from other files only`);
    for (const one of specifiers ?? []) {
      const isType = exportKind === "type" || one.exportKind === "type";
      names.push(`${isType ? "type " : ""}${one.exported.name ?? one.exported.value}`);
    }
  }
  return names.sort();
}

/** The files that are loaded when `entry` is, itself included: what its imports lead to, those of types only excepted. */
export function loadedModules(entry: string): string[] {
  const seen = new Set<string>([entry]);
  for (const path of seen) {
    for (const source of sources(path)) {
      if (!source.startsWith(".")) continue;
      seen.add(join(dirname(path), path.endsWith(".ts") ? source.replace(/\.js$/, ".ts") : source));
    }
  }
  return [...seen];
}
