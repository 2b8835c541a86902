// What the package gives away, by subpath: each name with its doc comment and its declaration, read from the built types.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "rolldown/utils";
import { root } from "./run-command.mjs";

const PACKAGE = join(root, "packages/mcp");

const files = new Map();

/** A declaration file, parsed once: its declarations by name, and what it passes on from others. */
function declarationsOf(path) {
  let found = files.get(path);
  if (found !== undefined) return found;
  const text = readFileSync(path, "utf8");
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be read: ${errors[0].message}`);
  found = { own: new Map(), passed: new Map() };
  for (const node of program.body) {
    if (node.type !== "ExportNamedDeclaration" && node.type !== "ImportDeclaration")
      collect(found.own, node, { text, comments, node });
    else if (node.declaration) collect(found.own, node.declaration, { text, comments, node });
    else for (const each of node.specifiers) pass(found, node, each, dirname(path));
  }
  files.set(path, found);
  return found;
}

function collect(own, declaration, { text, comments, node }) {
  const names = declaration.id ? [declaration.id.name] : (declaration.declarations ?? []).map(({ id }) => id.name);
  const comment = comments
    .filter(({ end, value }) => value.startsWith("*") && end <= node.start && text.slice(end, node.start).trim() === "")
    .at(-1);
  for (const name of names) {
    const before = own.get(name);
    const source = text.slice(node.start, node.end).replace(/^export (declare )?/, "");
    // Overloads stand one below the other, under the first comment there is.
    own.set(name, {
      comment: before?.comment ?? (comment && plain(comment.value)),
      source: before === undefined ? source : `${before.source}\n${source}`,
    });
  }
}

/** `export { a as b } from "./x.js"`, and what an import makes known for an export without `from`. */
function pass({ passed }, node, specifier, folder) {
  if (node.source?.value === undefined || !node.source.value.startsWith(".")) {
    if (node.type === "ExportNamedDeclaration") passed.set(specifier.exported.name, { local: specifier.local.name });
    return;
  }
  const path = join(folder, node.source.value.replace(/\.js$/, ".d.ts"));
  const [known, there] =
    node.type === "ImportDeclaration"
      ? [specifier.local.name, specifier.imported?.name ?? "default"]
      : [specifier.exported.name, specifier.local.name];
  passed.set(known, { path, name: there });
}

function find(path, name) {
  const { own, passed } = declarationsOf(path);
  if (own.has(name)) return own.get(name);
  const next = passed.get(name);
  if (next === undefined) throw new Error(`${path} has no ${name}`);
  return next.path === undefined ? find(path, next.local) : find(next.path, next.name);
}

/** The words of a comment without its stars. */
function plain(value) {
  const lines = value.split("\n").map((line) => line.replace(/^\s*\*? ?/, "").trimEnd());
  return lines.join("\n").trim();
}

/** Subpaths in order, each with its names in order. */
export function publicNames() {
  const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  return Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === "object")
    .map(([subpath, { types }]) => {
      const entry = join(PACKAGE, types);
      const { passed, own } = declarationsOf(entry);
      const names = [...passed.keys(), ...own.keys()].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
      return { subpath, names: names.map((name) => ({ name, ...find(entry, name) })) };
    });
}

/** Names without a doc comment, as `subpath name`. */
export function undocumented() {
  return publicNames().flatMap(({ subpath, names }) =>
    names.filter(({ comment }) => !comment).map(({ name }) => `${subpath} ${name}`),
  );
}

/** One page of Markdown for a subpath. */
export function referencePage({ subpath, names }) {
  const title = `@secure-local/mcp${subpath.slice(1)}`;
  const entries = names.map(({ name, comment, source }) => {
    const declaration = ["```ts", source.replaceAll(/^ *#private;\n/gm, ""), "```"].join("\n");
    return [`## ${name}`, comment ?? "", declaration].filter((part) => part !== "").join("\n\n");
  });
  return [`# ${title}`, ...entries].join("\n\n");
}
