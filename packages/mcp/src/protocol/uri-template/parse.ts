// Parses the text of a URI template into literals and expressions.
import { LocalError } from "../../jsonrpc/local-error.js";
import { encodeReserved } from "./encode.js";

export type Operator = "" | "+" | "#" | "." | "/" | ";" | "?" | "&";

export interface Variable {
  readonly name: string;
  readonly explode: boolean;
  /** At most this many characters of the value are used; undefined: all. */
  readonly prefix: number | undefined;
}

export interface Expression {
  readonly operator: Operator;
  readonly variables: readonly Variable[];
}

/** Longer templates are mistakes, and each character is compared for every request that names a resource. */
const MAX_LENGTH = 1_024;
/** Matching costs time for each variable; real templates have a handful. */
const MAX_VARIABLES = 20;

const OPERATORS = "+#./;?&";
const RESERVED_OPERATORS = "=,!@|";
const VARIABLE =
  /^((?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*)(?:(\*)|:([1-9][0-9]{0,3}))?$/;
// oxlint-disable-next-line no-control-regex -- control characters cannot stand in a URI
const LITERAL_FAULT = /[\u0000-\u001f\u007f-\u009f "<>\\^`{|}]|%(?![0-9A-Fa-f]{2})/u;

/** Literals are percent-encoded already in what this returns. */
export function parseTemplate(text: string): (string | Expression)[] {
  if (text.length > MAX_LENGTH) throw invalid(text, MAX_LENGTH, `it is longer than ${MAX_LENGTH} characters`);
  const parts: (string | Expression)[] = [];
  let variables = 0;
  for (let at = 0; at < text.length;) {
    const open = text.indexOf("{", at);
    const end = open < 0 ? text.length : open;
    if (end > at) parts.push(parseLiteral(text, at, end));
    if (open < 0) break;
    const close = text.indexOf("}", open);
    if (close < 0) throw invalid(text, open, 'this "{" is never closed');
    const expression = parseExpression(text, open + 1, close);
    variables += expression.variables.length;
    if (variables > MAX_VARIABLES) throw invalid(text, open, `it has more than ${MAX_VARIABLES} variables`);
    parts.push(expression);
    at = close + 1;
  }
  return parts;
}

function parseLiteral(text: string, from: number, to: number): string {
  const literal = text.slice(from, to);
  const fault = LITERAL_FAULT.exec(literal);
  if (fault !== null) throw invalid(text, from + fault.index, `${JSON.stringify(fault[0])} cannot stand in a URI`);
  return encodeReserved(literal);
}

function parseExpression(text: string, from: number, to: number): Expression {
  const first = text.charAt(from);
  if (RESERVED_OPERATORS.includes(first) && from < to)
    throw invalid(text, from, `the operator "${first}" has no meaning yet`);
  const operator = (from < to && OPERATORS.includes(first) ? first : "") as Operator;
  let at = from + operator.length;
  const variables = text
    .slice(at, to)
    .split(",")
    .map((spec) => {
      const variable = parseVariable(spec);
      if (variable === undefined) throw invalid(text, at, `${JSON.stringify(spec)} is not a variable`);
      at += spec.length + 1;
      return variable;
    });
  return { operator, variables };
}

function parseVariable(spec: string): Variable | undefined {
  const [, name, explode, prefix] = VARIABLE.exec(spec) ?? [];
  if (name === undefined) return undefined;
  return { name, explode: explode !== undefined, prefix: prefix === undefined ? undefined : Number(prefix) };
}

function invalid(text: string, index: number, what: string): LocalError {
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return new LocalError("INVALID_TEMPLATE", `URI template ${JSON.stringify(shown)}, character ${index + 1}: ${what}`);
}
