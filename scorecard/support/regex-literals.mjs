// Finds every regular expression of our sources: literals, and those made of text.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** `literals`: file, pattern, flags. `made`: file and the text of each `RegExp(...)`. */
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
      visit(parseAst(source, { lang: "ts" }, path), (node) => {
        if (node.type === "Literal" && node.regex) literals.push({ file, ...node.regex });
        const isMade = node.type === "NewExpression" || node.type === "CallExpression";
        if (!isMade || node.callee?.name !== "RegExp") return;
        const constant = constants(node.arguments);
        if (constant === undefined) made.push({ file, text: source.slice(node.start, node.end) });
        else literals.push({ file, ...constant });
      });
    }
  }
  const key = ({ file, pattern, text }) => `${file} ${pattern ?? text}`;
  return { literals: literals.sort((a, b) => (key(a) < key(b) ? -1 : 1)), made };
}

/** Pattern and flags, where both are written out: then it is as good as a literal. */
function constants([pattern, flags]) {
  if (typeof pattern?.value !== "string") return undefined;
  if (flags === undefined) return { pattern: pattern.value, flags: "" };
  return typeof flags.value === "string" ? { pattern: pattern.value, flags: flags.value } : undefined;
}

function visit(node, see) {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) return node.forEach((one) => visit(one, see));
  if (typeof node.type === "string") see(node);
  for (const [key, value] of Object.entries(node)) if (key !== "parent") visit(value, see);
}
