// Parses one source file into the facts the layer rules ask about: imports, re-exports, literals, functions, names.
import { parseSync } from "rolldown/utils";

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const REEXPORTS = new Set(["ExportAllDeclaration", "ExportNamedDeclaration"]);

/**
 * @typedef {{ specifier: string, line: number, names?: string[], dynamic: boolean }} Import  `names` is what it takes at run time, where known
 * @typedef {{ value: string, line: number }} Text
 * @typedef {{ name: string, line: number, lines: number }} Span
 */

/** Reads the facts of `text`; `path` only decides the dialect and names the file in errors. */
export function parseFile(path, text) {
  const { program, comments, errors } = parseSync(path, text, { lang: dialectOf(path) });
  const lineStarts = startsOfLines(text);
  const facts = {
    path,
    lines: lineStarts.length - (text.endsWith("\n") ? 1 : 0),
    opening: openingComment(text, comments),
    errors: errors.map((error) => ({ value: error.message, line: lineAt(lineStarts, error.labels?.[0]?.start ?? 0) })),
    imports: [],
    reExports: [],
    exports: [],
    texts: [],
    functions: [],
    anys: [],
    globals: [],
  };
  const code = codeLines(text, comments, lineStarts);
  const context = {
    facts,
    code,
    imported: new Set(),
    bound: new Set(),
    exported: [],
    at: (n) => lineAt(lineStarts, n),
  };
  walk(program, undefined, "", context);
  for (const { name, line } of context.exported)
    if (context.imported.has(name)) facts.reExports.push({ value: name, line });
  facts.globals = facts.globals.filter((use) => !context.bound.has(use.value));
  return facts;
}

function dialectOf(path) {
  if (path.endsWith(".tsx")) return "tsx";
  return path.endsWith(".ts") ? "ts" : "js";
}

function walk(node, parent, key, context) {
  visit(node, parent, key, context);
  for (const name in node) {
    const child = node[name];
    if (Array.isArray(child)) {
      for (const item of child) if (typeof item?.type === "string") walk(item, node, name, context);
    } else if (typeof child?.type === "string") walk(child, node, name, context);
  }
}

function visit(node, parent, key, context) {
  const { facts, at } = context;
  if (FUNCTIONS.has(node.type)) visitFunction(node, parent, context);
  else if (node.type === "VariableDeclarator") bindNames(node.id, context.bound);
  else if (node.type === "Identifier") visitIdentifier(node, parent, key, context);
  else if (node.type === "TSAnyKeyword") facts.anys.push({ value: "any", line: at(node.start) });
  else if (node.type === "Literal" && typeof node.value === "string") addText(node.value, node, context);
  else if (node.type === "TemplateElement") addText(node.value.cooked ?? node.value.raw, node, context);
  else if (node.type === "ImportDeclaration") visitImport(node, context);
  else if (node.type === "ImportExpression") addImport(node.source, context, undefined, true);
  else if (node.type === "TSImportType") addImport(node.source ?? node.argument, context, []);
  else if (REEXPORTS.has(node.type)) visitExport(node, context);
}

function addText(value, node, { facts, at }) {
  facts.texts.push({ value, line: at(node.start) });
}

function addImport(source, { facts, at }, names, dynamic = false) {
  const literal = source?.type === "TSLiteralType" ? source.literal : source;
  if (typeof literal?.value !== "string") return;
  facts.imports.push({ specifier: literal.value, line: at(literal.start), names, dynamic });
}

/** The names a declaration takes at run time: none of a type import, undefined when it takes the whole module. */
function namesOf({ importKind, specifiers }) {
  if (importKind === "type") return [];
  if (specifiers.length === 0 || specifiers.some(({ type }) => type !== "ImportSpecifier")) return undefined;
  return specifiers.filter((one) => one.importKind !== "type").map(({ imported }) => imported.name);
}

function visitImport(node, context) {
  addImport(node.source, context, namesOf(node));
  for (const { local } of node.specifiers) {
    context.imported.add(local.name);
    context.bound.add(local.name);
  }
}

function visitExport(node, context) {
  if (node.source) {
    addImport(node.source, context);
    context.facts.reExports.push({ value: node.source.value, line: context.at(node.start) });
    return;
  }
  for (const name of declaredNames(node.declaration)) {
    context.facts.exports.push({ name, line: context.at(node.start) });
  }
  for (const { local, start } of node.specifiers ?? []) {
    context.exported.push({ name: local.name, line: context.at(start) });
  }
}

function declaredNames(declaration) {
  if (!declaration) return [];
  const ids = declaration.declarations?.map(({ id }) => id) ?? [declaration.id];
  return ids.filter((id) => id?.type === "Identifier").map(({ name }) => name);
}

function visitFunction(node, parent, { facts, code, at, bound }) {
  if (!node.body) return;
  const line = at(node.start);
  let lines = 0;
  for (let n = line; n <= at(node.end); n++) if (code[n]) lines++;
  const name = node.id?.name ?? parent?.key?.name ?? parent?.id?.name ?? "(anonymous)";
  facts.functions.push({ name, line, lines });
  for (const param of node.params) bindNames(param, bound);
}

/** Records a use of a name that may be a global; member names, keys and bindings are not uses. */
function visitIdentifier(node, parent, key, { facts, bound, at }) {
  if (parent?.type === "FunctionDeclaration" && key === "id") bound.add(node.name);
  else if (parent?.type.startsWith("TS") && !parent.type.endsWith("Expression")) return;
  else if (isMember(parent, key)) {
    if (parent.object.name === "globalThis") facts.globals.push({ value: node.name, line: at(node.start) });
  } else if (!isKey(parent, key)) facts.globals.push({ value: node.name, line: at(node.start) });
}

function isMember(parent, key) {
  return parent?.type === "MemberExpression" && key === "property" && !parent.computed;
}

function isKey(parent, key) {
  return key === "key" && !parent.computed;
}

function bindNames(pattern, bound) {
  if (pattern.type === "Identifier") bound.add(pattern.name);
  else if (pattern.type === "AssignmentPattern") bindNames(pattern.left, bound);
  else if (pattern.type === "ObjectPattern")
    for (const p of pattern.properties) bindNames(p.value ?? p.argument, bound);
}

function startsOfLines(text) {
  const starts = [0];
  for (let n = text.indexOf("\n"); n !== -1; n = text.indexOf("\n", n + 1)) starts.push(n + 1);
  return starts;
}

/** Finds the 1-based line of an offset by bisection. */
function lineAt(starts, offset) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}

/** Tells for each 1-based line whether anything but blanks and comments stands on it. */
function codeLines(text, comments, starts) {
  const pieces = [];
  let from = 0;
  for (const comment of comments) {
    pieces.push(text.slice(from, comment.start), text.slice(comment.start, comment.end).replace(/[^\n]/g, " "));
    from = comment.end;
  }
  const bare = (pieces.join("") + text.slice(from)).split("\n");
  return [false, ...starts.map((_, n) => bare[n].trim() !== "")];
}

/** Returns the text of the comment block a file opens with (after a `#!` line), or "" when code comes first. */
function openingComment(text, comments) {
  let from = text.startsWith("#!") ? text.indexOf("\n") + 1 : 0;
  const words = [];
  for (const comment of comments) {
    if (comment.end <= from) continue;
    if (text.slice(from, comment.start).trim() !== "") break;
    words.push(comment.value.replace(/^[\s*]+/gm, ""));
    from = comment.end;
  }
  return words.join(" ").trim();
}
