// Checks the form a server wants filled in, and writes the short way of asking out in full.
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { PrimitiveSchemaDefinition, RequestedSchema } from "./features/elicitation.js";

/** A field of the short form: required unless it says otherwise. */
export type FormField = PrimitiveSchemaDefinition & { optional?: boolean };

/** The short form: `{ sure: { type: "boolean" } }`. */
export interface FormFields {
  [name: string]: FormField;
}

/** Fields of one form; a person fills it in. */
const MAX_FIELDS = 100;

const COMMON = ["type", "title", "description", "default"];
const KEYWORDS: { readonly [type: string]: readonly string[] } = {
  string: [...COMMON, "minLength", "maxLength", "format", "enum", "enumNames", "oneOf"],
  number: [...COMMON, "minimum", "maximum"],
  integer: [...COMMON, "minimum", "maximum"],
  boolean: COMMON,
  array: [...COMMON, "items", "minItems", "maxItems"],
};
const FORMATS: readonly unknown[] = ["email", "uri", "date", "date-time"];
const COUNTS = ["minLength", "maxLength", "minItems", "maxItems"];

/**
 * The full `requestedSchema` of a form given in full (`type: "object"` and `properties`) or in short.
 * Throws a LocalError with code `INVALID_FORM` that names the first field that no client could show.
 */
export function requestedSchema(form: RequestedSchema | FormFields): RequestedSchema {
  if (!isJsonObject(form)) throw invalid("it must be an object of fields");
  const full = isFull(form) ? form : expanded(form);
  const names = Object.keys(full.properties);
  if (names.length > MAX_FIELDS) throw invalid(`it has ${names.length} fields, at most ${MAX_FIELDS} are allowed`);
  for (const name of names) {
    const fault = fieldFault(full.properties[name]);
    if (fault !== undefined) throw invalid(`field "${name}" ${fault}`);
  }
  for (const name of full.required ?? []) {
    if (!Object.hasOwn(full.properties, name)) throw invalid(`it requires "${name}", which is not one of its fields`);
  }
  return full;
}

function isFull(form: RequestedSchema | FormFields): form is RequestedSchema {
  return form["type"] === "object" && isJsonObject(form["properties"]);
}

function expanded(form: FormFields): RequestedSchema {
  const properties: [string, PrimitiveSchemaDefinition][] = [];
  const required: string[] = [];
  for (const [name, field] of Object.entries(form)) {
    if (!isJsonObject(field)) throw invalid(`field "${name}" must be an object`);
    const { optional, ...schema } = field as FormField;
    properties.push([name, schema]);
    if (optional !== true) required.push(name);
  }
  return { type: "object", properties: Object.fromEntries(properties), required };
}

function fieldFault(field: unknown): string | undefined {
  if (!isJsonObject(field)) return "must be an object";
  const { type } = field;
  const keywords = typeof type === "string" && Object.hasOwn(KEYWORDS, type) ? KEYWORDS[type] : undefined;
  if (keywords === undefined) return `must have the type ${Object.keys(KEYWORDS).join(", ")}: forms are flat`;
  const stranger = Object.keys(field).find((keyword) => !keywords.includes(keyword));
  if (stranger !== undefined) return `cannot have "${stranger}"; a ${String(type)} field has ${keywords.join(", ")}`;
  return wordsFault(field) ?? boundsFault(field) ?? choicesFault(field) ?? defaultFault(field);
}

function wordsFault(field: JsonObject): string | undefined {
  const bad = ["title", "description"].find((key) => field[key] !== undefined && typeof field[key] !== "string");
  if (bad !== undefined) return `must have a string as its ${bad}`;
  const { format } = field;
  return format === undefined || FORMATS.includes(format) ? undefined : `has a format other than ${FORMATS.join(", ")}`;
}

function boundsFault(field: JsonObject): string | undefined {
  const count = COUNTS.find(
    (key) => field[key] !== undefined && !(Number.isSafeInteger(field[key]) && Number(field[key]) >= 0),
  );
  if (count !== undefined) return `must have a whole number of at least 0 as its ${count}`;
  const bound = ["minimum", "maximum"].find((key) => field[key] !== undefined && !Number.isFinite(field[key]));
  return bound && `must have a number as its ${bound}`;
}

function choicesFault({ type, enum: values, enumNames, oneOf, items }: JsonObject): string | undefined {
  if (type === "array") {
    const { enum: listed, anyOf } = isJsonObject(items) ? items : {};
    return isStrings(listed) || isTitled(anyOf) ? undefined : "must list its choices in items.enum or items.anyOf";
  }
  if (values !== undefined && !isStrings(values)) return "must have strings in its enum, at least one";
  if (oneOf !== undefined && !isTitled(oneOf)) return "must have { const, title } strings in its oneOf, at least one";
  const named =
    enumNames === undefined || (isStrings(enumNames) && isStrings(values) && enumNames.length === values.length);
  return named ? undefined : "must have as many enumNames as its enum has values";
}

function defaultFault(field: JsonObject): string | undefined {
  const { type, default: value } = field;
  if (value === undefined) return undefined;
  const fits =
    type === "array"
      ? Array.isArray(value) && value.every((each) => typeof each === "string")
      : typeof value === (type === "integer" ? "number" : type);
  return fits ? undefined : `must have a default of its own type`;
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string");
}

function isTitled(value: unknown): boolean {
  const titled = (each: unknown): boolean =>
    isJsonObject(each) && typeof each["const"] === "string" && typeof each["title"] === "string";
  return Array.isArray(value) && value.length > 0 && value.every(titled);
}

function invalid(what: string): LocalError {
  return new LocalError("INVALID_FORM", `The form cannot be shown: ${what}`);
}
