// Plants faults in a source file: each mutant takes one decision, guard, limit or effect out of it.
import { parseSync } from "rolldown/utils";

/** @typedef {{ file: string, line: number, find: string, replace: string, what: string, text: string }} Mutant  `text` is the whole file */

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
/** Texts of messages and comments are no decisions. */
const SKIPPED = new Set(["TSTypeAliasDeclaration", "TSInterfaceDeclaration", "ImportDeclaration", "TemplateLiteral"]);

/** All mutants of a file's text. */
export function mutantsOf(file, text) {
  const { program, errors } = parseSync(file, text, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const found = [];
  const change = (node, replace, what) => {
    const whole = text.slice(0, node.start) + replace + text.slice(node.end);
    if (whole === text) return;
    const line = text.slice(0, node.start).split("\n").length;
    const [find, after] = [text, whole].map((all) => all.split("\n")[line - 1]?.trim() ?? "");
    found.push({ file, line, find, replace: after, what, text: whole });
  };
  walk(program, undefined, (node, parent) => mutate(node, parent, { text, change }));
  return found;
}

function walk(node, parent, visit) {
  if (node === null || typeof node !== "object") return;
  if (Array.isArray(node)) {
    for (const each of node) walk(each, parent, visit);
    return;
  }
  if (typeof node.type !== "string" || SKIPPED.has(node.type) || node.type.startsWith("TSType")) return;
  visit(node, parent);
  for (const [key, value] of Object.entries(node))
    if (key !== "parent" && key !== "typeAnnotation") walk(value, node, visit);
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
    if (body?.type === "ThrowStatement" || body?.type === "ReturnStatement") change(node, ";", "a guard taken out");
  }
  if (node.type === "BinaryExpression" || node.type === "LogicalExpression") {
    const flipped = FLIPPED.get(node.operator);
    if (flipped !== undefined) {
      const between = text.slice(node.left.end, node.right.start);
      const operator = between.replace(node.operator, flipped);
      change({ start: node.left.end, end: node.right.start }, operator, `${node.operator} as ${flipped}`);
    }
  }
  if (isBoundary(node, parent)) {
    change(node, `(${node.raw} + 1)`, "a number one more");
    if (node.value > 0) change(node, `(${node.raw} - 1)`, "a number one less");
  }
  if (node.type === "Literal" && typeof node.value === "boolean" && parent?.type !== "TSLiteralType")
    change(node, String(!node.value), "the other truth value");
  if (node.type === "ExpressionStatement") {
    const call = node.expression.type === "AwaitExpression" ? node.expression.argument : node.expression;
    if (call.type === "CallExpression" && CALLS.test(source(call.callee))) change(node, ";", "a call left out");
  }
  if (node.type === "ArrayExpression" && node.elements.length > 1)
    for (const element of node.elements)
      if (element?.type === "Literal" || element?.type === "ArrayExpression")
        change(
          { start: element.start, end: element.end },
          element.type === "Literal" ? '"\\u0000none"' : '["\\u0000none", "none"]',
          "one of a list left out",
        );
}
