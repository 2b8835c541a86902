// Expands a parsed template with values.
import { LocalError } from "../../jsonrpc/errors.js";

// Percent-encoding as URI templates want it.

const BEYOND_UNRESERVED = /[!'()*]/g;
const LONE_SURROGATE = /[\ud800-\udfff]/gu;
const NOT_IN_URI = /(?:[^A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2}))+/gu;

/** Encodes everything but unreserved characters. */
function encodeValue(text: string): string {
  return encodeURIComponent(text.replace(LONE_SURROGATE, "\uFFFD")).replace(BEYOND_UNRESERVED, hex);
}

/** Keeps reserved characters and what is encoded already. */
function encodeReserved(text: string): string {
  return text.replace(NOT_IN_URI, encodeValue);
}

function hex(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** A value for a variable of a URI template: text, a list, or names with values. */
export type TemplateValue =
  | string
  | number
  | boolean
  | readonly (string | number | boolean)[]
  | { readonly [key: string]: string | number | boolean }
  | null
  | undefined;

/** Values for the variables of a URI template (RFC 6570), by name. */
export interface TemplateValues {
  readonly [name: string]: TemplateValue;
}

/** How an operator writes (RFC 6570, appendix A). */
interface Style {
  readonly first: string;
  readonly separator: string;
  readonly named: boolean;
  /** What follows the name of an empty value. */
  readonly ifEmpty: string;
  readonly encode: (text: string) => string;
}

const STYLES: { readonly [operator in Operator]: Style } = {
  "": { first: "", separator: ",", named: false, ifEmpty: "", encode: encodeValue },
  "+": { first: "", separator: ",", named: false, ifEmpty: "", encode: encodeReserved },
  "#": { first: "#", separator: ",", named: false, ifEmpty: "", encode: encodeReserved },
  ".": { first: ".", separator: ".", named: false, ifEmpty: "", encode: encodeValue },
  "/": { first: "/", separator: "/", named: false, ifEmpty: "", encode: encodeValue },
  ";": { first: ";", separator: ";", named: true, ifEmpty: "", encode: encodeValue },
  "?": { first: "?", separator: "&", named: true, ifEmpty: "=", encode: encodeValue },
  "&": { first: "&", separator: "&", named: true, ifEmpty: "=", encode: encodeValue },
};

export function expandTemplate(parts: readonly (string | Expression)[], values: TemplateValues): string {
  return parts.map((part) => (typeof part === "string" ? part : expandExpression(part, values))).join("");
}

function expandExpression({ operator, variables }: Expression, values: TemplateValues): string {
  const style = STYLES[operator];
  const written = variables.flatMap((variable) => {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined;
    return value === undefined || value === null ? [] : expandVariable(style, variable, value);
  });
  return written.length === 0 ? "" : style.first + written.join(style.separator);
}

/** What one variable adds: nothing, one piece, or with `*` one piece for each member. */
function expandVariable(style: Style, variable: Variable, value: NonNullable<TemplateValue>): string[] {
  if (typeof value !== "object") {
    const text = String(value);
    const used = variable.prefix === undefined ? text : [...text].slice(0, variable.prefix).join("");
    return [named(style, variable.name, style.encode(used))];
  }
  if (variable.prefix !== undefined) throw notCut(variable);
  const pairs: [string | undefined, string][] = Array.isArray(value)
    ? value.map((item) => [undefined, style.encode(String(item))])
    : Object.entries(value).map(([key, item]) => [style.encode(key), style.encode(String(item))]);
  if (pairs.length === 0) return [];
  if (variable.explode) return pairs.map(([key, item]) => exploded(style, variable.name, key, item));
  const list = pairs.map(([key, item]) => (key === undefined ? item : `${key},${item}`)).join(",");
  return [named(style, variable.name, list)];
}

/** RFC 6570, section 2.4.1: a prefix of a list or a map is an error of whoever gives it. */
function notCut({ name, prefix }: Variable): LocalError {
  const text = `The template takes the first ${prefix} characters of "${name}", which is a list or a map: give it a text`;
  return new LocalError("INVALID_VALUE", text);
}

function exploded(style: Style, name: string, key: string | undefined, item: string): string {
  if (key === undefined) return named(style, name, item);
  return item === "" && style.named ? key + style.ifEmpty : `${key}=${item}`;
}

function named(style: Style, name: string, text: string): string {
  if (!style.named) return text;
  return text === "" ? name + style.ifEmpty : `${name}=${text}`;
}

// Parses the text of a URI template into literals and expressions.

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
