// Finds the faults that can be planted in a source file: each mutant takes one decision, guard, limit or effect out of it.
import { createHash } from "node:crypto";
import { parseSync } from "rolldown/utils";

/**
 * `number` is the same for the same fault as long as its line stays as it is, `source` as long as the whole file does. `replace` takes the place of the text from `start` to `end`, an expression unless `statement`. `find` and `after` are the line as
 * it was and as it would be; `once` says that the place is run when its module is loaded and never again.
 * @typedef {{ number: number, file: string, source: string, line: number, start: number, end: number, replace: string, statement: boolean, once: boolean, find: string, after: string, what: string }} Mutant
 */

const FLIPPED = new Map([
  ["===", "!=="],
  ["!==", "==="],
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["&&", "||"],
  ["||", "&&"],
  ["??", "&&"],
  ["+", "-"],
  ["-", "+"],
]);
/** Effects whose absence must be noticed. */
const CALLS = /(?:sync|close|abort|destroy|kill|end|record|refuse|throwIfAborted|confirm|clear|delete|judge)$/i;
/** Texts of messages and comments are no decisions, and what builds them is none either. */
const SKIPPED = new Set(["TSTypeAliasDeclaration", "TSInterfaceDeclaration", "ImportDeclaration", "TemplateLiteral"]);
const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** All mutants of a file's text. */
export function mutantsOf(file, text) {
  const { program, errors } = parseSync(file, text, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const source = createHash("sha256").update(text).digest("base64url").slice(0, 16);
  const found = [];
  const visit = (node, parent, once) => {
    const change = ({ start, end }, replace, what, { statement = false, shown = { start, end, replace } } = {}) => {
      if (text.slice(start, end) === replace) return;
      const line = text.slice(0, start).split("\n").length;
      const whole = text.slice(0, shown.start) + shown.replace + text.slice(shown.end);
      const at = text.slice(0, shown.start).split("\n").length;
      const [find, after] = [text, whole].map((all) => all.split("\n")[at - 1]?.trim() ?? "");
      const alike = found.filter((each) => each.find === find && each.after === after && each.what === what).length;
      const number = numberOf([file, find, after, what, alike]);
      found.push({ number, file, source, line, start, end, replace, statement, once, find, after, what });
    };
    mutate(node, parent, { text, change });
  };
  walk(program, { parent: undefined, once: true }, visit);
  return found;
}

function numberOf(parts) {
  return createHash("sha256").update(JSON.stringify(parts)).digest().readUIntBE(0, 6);
}

function walk(node, { parent, once }, visit) {
  if (node === null || typeof node !== "object") return;
  if (Array.isArray(node)) {
    for (const each of node) walk(each, { parent, once }, visit);
    return;
  }
  if (typeof node.type !== "string" || SKIPPED.has(node.type) || node.type.startsWith("TSType")) return;
  visit(node, parent, once);
  const within = once && !FUNCTIONS.has(node.type) && node.type !== "PropertyDefinition";
  for (const [key, value] of Object.entries(node))
    if (key !== "parent" && key !== "typeAnnotation" && !(key === "key" && node.computed === false))
      walk(value, { parent: node, once: within }, visit);
}

/** One more or less of a size in bytes or a time in milliseconds is no fault that anybody could notice. */
const LARGEST_BOUNDARY = 64;

function isBoundary(node, parent) {
  if (node.type !== "Literal" || typeof node.value !== "number" || parent?.type === "TSLiteralType") return false;
  return node.value <= LARGEST_BOUNDARY && !(parent?.type === "BinaryExpression" && parent.operator === "*");
}

const CONDITIONED = new Set(["IfStatement", "WhileStatement", "ConditionalExpression"]);

function mutate(node, parent, { text, change }) {
  const source = (each) => text.slice(each.start, each.end);
  if (CONDITIONED.has(node.type)) {
    change(node.test, `!(${source(node.test)})`, "a condition negated");
    if (node.type !== "WhileStatement") change(node.test, "false", "a condition never met");
  }
  if (node.type === "IfStatement" && node.alternate === null) {
    const body = node.consequent.type === "BlockStatement" ? node.consequent.body.at(-1) : node.consequent;
    if (body?.type === "ThrowStatement" || body?.type === "ReturnStatement")
      change(node, ";", "a guard taken out", { statement: true });
  }
  if (node.type === "BinaryExpression" || node.type === "LogicalExpression") mutateOperator(node, { text, change });
  if (isBoundary(node, parent)) {
    change(node, `(${node.raw} + 1)`, "a number one more");
    if (node.value > 0) change(node, `(${node.raw} - 1)`, "a number one less");
  }
  if (node.type === "Literal" && typeof node.value === "boolean" && parent?.type !== "TSLiteralType")
    change(node, String(!node.value), "the other truth value");
  if (node.type === "ExpressionStatement") {
    const call = node.expression.type === "AwaitExpression" ? node.expression.argument : node.expression;
    if (call.type === "CallExpression" && CALLS.test(source(call.callee)))
      change(node, ";", "a call left out", { statement: true });
  }
  if (node.type === "ArrayExpression" && node.elements.length > 1)
    for (const element of node.elements)
      if (element?.type === "Literal" || element?.type === "ArrayExpression")
        change(
          element,
          element.type === "Literal" ? '"\\u0000none"' : '["\\u0000none", "none"]',
          "one of a list left out",
        );
}

function mutateOperator(node, { text, change }) {
  const flipped = FLIPPED.get(node.operator);
  if (flipped === undefined) return;
  const between = text.slice(node.left.end, node.right.start);
  const operator = between.replace(node.operator, flipped);
  const [left, right] = [node.left, node.right].map((side) => `(${text.slice(side.start, side.end)})`);
  change(node, left + operator + right, `${node.operator} as ${flipped}`, {
    shown: { start: node.left.end, end: node.right.start, replace: operator },
  });
}
