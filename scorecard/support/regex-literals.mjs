// Finds every regular expression of our sources: literals, what is made of constants and as good as one, and what is made of text.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";
import { Constants } from "./constant-patterns.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** `literals`: file, pattern, flags, also of what is made of constants. `made`: file and the text of every other `RegExp(...)`. */
export function regularExpressions() {
  const literals = [];
  const made = [];
  for (const folder of [
    "packages/mcp/src",
    "packages/secure-local/src",
    "packages/mcp-tools/src",
    "packages/inspection/src",
  ]) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (!name.endsWith(".ts")) continue;
      const path = join(root, folder, name);
      const file = relative(root, path);
      const source = readFileSync(path, "utf8");
      const program = parseAst(source, { lang: "ts" }, path);
      const constants = new Constants(declaratorsOf(program));
      visit(program, (node) => {
        if (node.type === "Literal" && node.regex) literals.push({ file, ...node.regex });
        const isMade = node.type === "NewExpression" || node.type === "CallExpression";
        if (!isMade || node.callee?.name !== "RegExp") return;
        const constant = constants.pattern(node.arguments);
        if (constant === undefined) made.push({ file, text: source.slice(node.start, node.end) });
        else literals.push({ file, ...constant });
      });
    }
  }
  const key = ({ file, pattern, text }) => `${file} ${pattern ?? text}`;
  return { literals: literals.sort((a, b) => (key(a) < key(b) ? -1 : 1)), made };
}

/** Everything in a file that a name is given to, parameters too: a name with two meanings is no constant. */
function declaratorsOf(program) {
  const found = [];
  visit(program, (node) => {
    if (node.type === "VariableDeclaration")
      for (const { id, init } of node.declarations) found.push({ id, init, isConst: node.kind === "const" });
    for (const id of node.params?.items ?? node.params ?? []) found.push({ id, isConst: false });
  });
  return found;
}

function visit(node, see) {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) return node.forEach((one) => visit(one, see));
  if (typeof node.type === "string") see(node);
  for (const [key, value] of Object.entries(node)) if (key !== "parent") visit(value, see);
}
