// Checks the form a server wants filled in, writes the short way of asking out in full, and checks what a handler asks by hand.
import { ExactNumber } from "../jsonrpc/exact-numbers.js";
import { isJsonObject, type JsonObject, peerWords } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/errors.js";
import {
  type ElicitValue,
  optionKey,
  type PrimitiveSchemaDefinition,
  type RequestedSchema,
} from "./features/elicitation.js";
import { isUri } from "./method.js";
import { shownValue, unknownMember } from "../schema/schema.js";
import { schemaFault } from "../schema/standard-schema.js";

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

// Reads what a person filled into a form: fills in defaults, leaves out what was not asked for, names what does not fit.

/** What does not fit in an answer. */
interface AnswerFault {
  readonly field: string;
  /** One sentence: `age must be at least 18`. */
  readonly message: string;
}

/** An answer that was read. `content` is only to be used when `faults` is empty. */
interface FormAnswer {
  readonly content: { [name: string]: ElicitValue };
  readonly faults: readonly AnswerFault[];
}

/** Reads the `content` of an accepted form. It comes from the other side, so nothing about it is taken for granted. */
export function readAnswer(form: RequestedSchema, content: unknown): FormAnswer {
  if (content !== undefined && !isJsonObject(content)) {
    return { content: {}, faults: [{ field: "", message: "the content must be an object" }] };
  }
  const given = content ?? {};
  const values: [string, ElicitValue][] = [];
  const faults: AnswerFault[] = [];
  for (const [name, field] of Object.entries(form.properties)) {
    const value = (Object.hasOwn(given, name) ? given[name] : foldedSwitches(given, name, field)) ?? field.default;
    if (value === undefined) {
      if (form.required?.includes(name)) faults.push({ field: name, message: `${name} is required` });
      continue;
    }
    const constraint = valueFault(field, value);
    if (constraint === undefined) values.push([name, value as ElicitValue]);
    else faults.push({ field: name, message: `${name} must be ${constraint}` });
  }
  return { content: Object.fromEntries(values), faults };
}

function foldedSwitches(
  given: { readonly [name: string]: unknown },
  name: string,
  field: PrimitiveSchemaDefinition,
): string[] | undefined {
  return field.type === "array" ? switchedOn(given, name, choicesOf(field)) : undefined;
}

/** What the value should have been, or undefined when it fits. */
function valueFault(field: PrimitiveSchemaDefinition, value: unknown): string | undefined {
  switch (field.type) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "true or false";
    case "number":
    case "integer":
      return numberFault(field, value instanceof ExactNumber ? Number(value) : value);
    case "array":
      return choiceListFault(field, value);
    case "string":
      return typeof value === "string" ? stringFault(field, value) : "a string";
  }
}

function numberFault(
  field: Extract<PrimitiveSchemaDefinition, { type: "number" | "integer" }>,
  value: unknown,
): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return "a number";
  if (field.type === "integer" && !Number.isInteger(value)) return "a whole number";
  if (field.minimum !== undefined && value < field.minimum) return `at least ${field.minimum}`;
  if (field.maximum !== undefined && value > field.maximum) return `at most ${field.maximum}`;
  return undefined;
}

function stringFault(field: Extract<PrimitiveSchemaDefinition, { type: "string" }>, value: string): string | undefined {
  const choices = choicesOf(field);
  if (choices.length > 0) return choices.includes(value) ? undefined : oneOf(choices);
  const {
    minLength = 0,
    maxLength = Number.POSITIVE_INFINITY,
    format,
  } = field as { minLength?: number; maxLength?: number; format?: string };
  const length = minLength > 0 || maxLength < value.length ? [...value].length : value.length;
  if (length < minLength) return `at least ${minLength} characters long`;
  if (length > maxLength) return `at most ${maxLength} characters long`;
  return format === undefined || matchesFormat(format, value) ? undefined : `a valid ${format}`;
}

function choiceListFault(
  field: Extract<PrimitiveSchemaDefinition, { type: "array" }>,
  value: unknown,
): string | undefined {
  const choices = choicesOf(field);
  if (!Array.isArray(value) || !value.every((each) => choices.includes(each))) return `a list of ${oneOf(choices)}`;
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = field;
  if (value.length < minItems) return `a list of at least ${minItems}`;
  return value.length > maxItems ? `a list of at most ${maxItems}` : undefined;
}

/** The values a field can be chosen from; empty when it is filled in freely. */
function choicesOf(field: PrimitiveSchemaDefinition): readonly string[] {
  if (field.type === "array") {
    return "anyOf" in field.items ? field.items.anyOf.map((choice) => choice.const) : field.items.enum;
  }
  if ("enum" in field) return field.enum;
  return "oneOf" in field ? field.oneOf.map((choice) => choice.const) : [];
}

function oneOf(choices: readonly string[]): string {
  return `one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`;
}

// Names the switches that stand for a field of several choices where a form cannot have one, and reads them back.

/** The choices switched on, or undefined when the content has no switch of the field. */
function switchedOn(
  content: { readonly [name: string]: unknown },
  field: string,
  choices: readonly string[],
): string[] | undefined {
  const keys = choices.map((choice) => optionKey(field, choice));
  if (!keys.some((key) => key in content)) return undefined;
  return choices.filter((_, index) => content[keys[index] as string] === true);
}

// Checks the four formats a form's text field may ask for.

const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)*$/u;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt]([01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Whether the text has the format. An unknown format constrains nothing. */
function matchesFormat(format: string, text: string): boolean {
  switch (format) {
    case "email":
      return EMAIL.test(text);
    case "uri":
      return isUri(text);
    case "date":
      return isDate(text);
    case "date-time":
      return isDate(DATE_TIME.exec(text)?.[1] ?? "");
    default:
      return true;
  }
}

function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (day === undefined) return false;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

// What an author asks, before it is made a form.

const QUESTION_MEMBERS = ["message", "schema", "url"];
const QUESTION = 'write ctx.elicit({ message: "Really?", schema: { sure: { type: "boolean" } } })';

/** Throws BAD_QUESTION with what to write. */
export function checkQuestion(input: unknown): void {
  if (!isJsonObject(input)) throw badQuestion(`a question is one object, not ${peerWords(input)}: ${QUESTION}`);
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue;
    if (name === "requestedSchema") throw badQuestion('"requestedSchema" is called "schema" here');
    if (name === "mode")
      throw badQuestion('"mode" is left out: what has "url" opens a page, what has "schema" is a form');
    if (!QUESTION_MEMBERS.includes(name)) throw badQuestion(unknownMember(name, QUESTION_MEMBERS));
  }
  const { message, schema, url } = input;
  if (typeof message !== "string") {
    throw badQuestion(`"message" is the text the person reads, not ${peerWords(message)}: ${QUESTION}`);
  }
  if ((schema === undefined) === (url === undefined)) {
    throw badQuestion(`a question has either "schema", a form, or "url", a page to open: ${QUESTION}`);
  }
  const fault = schemaFault(schema);
  if (fault !== undefined) throw badQuestion(`"schema" ${fault}`);
}

function badQuestion(what: string): LocalError {
  return new LocalError("BAD_QUESTION", `elicit: ${what}`);
}

// What a handler asks by hand.

const BY_HAND =
  'write inputRequired({ requests: { sure: { method: "elicitation/create", params: { message, requestedSchema } } } })';
const QUESTIONS = ["elicitation/create", "sampling/createMessage", "roots/list"];

/** What is wrong with what a handler asks by hand; undefined when nothing is. */
export function askedFault({
  requests,
  state,
}: {
  readonly requests: unknown;
  readonly state: unknown;
}): string | undefined {
  if (!isJsonObject(requests)) return `"requests" is an object of questions by name: ${BY_HAND}`;
  const asked = Object.entries(requests);
  if (asked.length === 0 && state === undefined) return `it asks nothing and keeps no state: ${BY_HAND}`;
  for (const [name, request] of asked) {
    const { method, params } = Object(request) as { readonly method?: unknown; readonly params?: unknown };
    const named = `the request ${JSON.stringify(name)}`;
    if (!QUESTIONS.includes(method as string))
      return `${named} has the method ${shownValue(method)}, which is ${QUESTIONS.join(", ")}: ${BY_HAND}`;
    if (method !== "roots/list" && !isJsonObject(params)) return `${named} needs "params": ${BY_HAND}`;
  }
  if (!isLost(state)) return undefined;
  return `"state" is JSON, which keeps nothing of a Map or Set: write Object.fromEntries(map), or [...set]`;
}

/** Whether JSON keeps nothing of a value, or of a part of it: an object of a class without members of its own. */
function isLost(value: unknown): boolean {
  if (typeof value !== "object" || value === null || "toJSON" in value) return false;
  const members: unknown[] = Object.values(value);
  if (members.length > 0) return members.some(isLost);
  return !Array.isArray(value) && ![Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
}
