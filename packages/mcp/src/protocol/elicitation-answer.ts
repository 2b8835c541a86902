// Reads what a person filled into a form: fills in defaults, leaves out what was not asked for, names what does not fit.
import { isJsonObject } from "../jsonrpc/message.js";
import type { ElicitValue, PrimitiveSchemaDefinition, RequestedSchema } from "./features/elicitation.js";
import { switchedOn } from "./form-choices.js";
import { matchesFormat } from "./form-format.js";

/** What does not fit in an answer. */
export interface AnswerFault {
  readonly field: string;
  /** One sentence: `age must be at least 18`. */
  readonly message: string;
}

/** An answer that was read. `content` is only to be used when `faults` is empty. */
export interface FormAnswer {
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
      return numberFault(field, value);
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
