// Expands a parsed template with values.
import { LocalError } from "../../jsonrpc/local-error.js";
import { encodeReserved, encodeValue } from "./encode.js";
import type { Expression, Operator, Variable } from "./parse.js";

export type TemplateValue =
  | string
  | number
  | boolean
  | readonly (string | number | boolean)[]
  | { readonly [key: string]: string | number | boolean }
  | null
  | undefined;

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
