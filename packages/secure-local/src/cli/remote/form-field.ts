// Reads what a person typed as the value of one field of a form, or says what is wrong with it.
import type { PrimitiveSchemaDefinition } from "@secure-local/mcp/client";

export interface Field {
  readonly name: string;
  readonly schema: PrimitiveSchemaDefinition;
  readonly required: boolean;
}

/** `value` is undefined for an optional field that is left out. */
export type Read = { readonly value: string | number | boolean | string[] | undefined } | { readonly fault: string };

type Schema<T extends PrimitiveSchemaDefinition["type"]> = Extract<PrimitiveSchemaDefinition, { type: T }>;

const YES = ["y", "yes", "true"];
const NO = ["n", "no", "false"];
const FORMATS = {
  email: [/^[^\s@]+@[^\s@]+$/, "an e-mail address"],
  uri: [/^[a-z][a-z0-9+.-]*:\S+$/i, "a URI, as in https://example.com/"],
  date: [/^\d{4}-\d\d-\d\d$/, "a date, as in 2026-01-31"],
  "date-time": [
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/i,
    "a time, as in 2026-01-31T12:00:00Z",
  ],
} as const;

export function readField(text: string, { schema, required }: Field): Read {
  if (text === "") {
    if (schema.default !== undefined) return { value: schema.default as string };
    return required ? { fault: "This is needed." } : { value: undefined };
  }
  if (schema.type === "boolean") return readBoolean(text);
  if (schema.type === "number" || schema.type === "integer") return readNumber(text, schema);
  if (schema.type === "array") return readSeveral(text, schema);
  return readText(text, schema as Schema<"string">);
}

function readBoolean(text: string): Read {
  const word = text.toLowerCase();
  if (YES.includes(word)) return { value: true };
  return NO.includes(word) ? { value: false } : { fault: "Answer yes or no." };
}

function readNumber(text: string, { type, minimum, maximum }: Schema<"number" | "integer">): Read {
  const value = Number(text);
  if (!Number.isFinite(value)) return { fault: "That is no number." };
  if (type === "integer" && !Number.isSafeInteger(value)) return { fault: "That is no whole number." };
  if (minimum !== undefined && value < minimum) return { fault: `At least ${minimum}, please.` };
  if (maximum !== undefined && value > maximum) return { fault: `At most ${maximum}, please.` };
  return { value };
}

function readText(text: string, schema: Schema<"string">): Read {
  const values = valuesOf(schema);
  if (values !== undefined) {
    const value = choose(text, values);
    return value === undefined ? { fault: choiceFault(values) } : { value };
  }
  const { minLength, maxLength, format } = schema as { minLength?: number; maxLength?: number; format?: string };
  const length = [...text].length;
  if (minLength !== undefined && length < minLength) return { fault: `At least ${minLength} characters, please.` };
  if (maxLength !== undefined && length > maxLength) return { fault: `At most ${maxLength} characters, please.` };
  const rule = Object.hasOwn(FORMATS, format ?? "") ? FORMATS[format as keyof typeof FORMATS] : undefined;
  return rule === undefined || rule[0].test(text) ? { value: text } : { fault: `This has to be ${rule[1]}.` };
}

function readSeveral(text: string, { items, minItems = 0, maxItems = Infinity }: Schema<"array">): Read {
  const values = valuesOf(items) ?? [];
  const chosen = text.split(",").map((word) => choose(word.trim(), values));
  if (chosen.includes(undefined)) return { fault: `${choiceFault(values)} Several with commas between.` };
  const value = [...new Set(chosen as string[])];
  if (value.length < minItems) return { fault: `At least ${minItems} of them, please.` };
  return value.length > maxItems ? { fault: `At most ${maxItems} of them, please.` } : { value };
}

function valuesOf(schema: object): readonly string[] | undefined {
  const {
    enum: names,
    oneOf,
    anyOf,
  } = schema as {
    readonly enum?: readonly string[];
    readonly oneOf?: readonly { readonly const: string }[];
    readonly anyOf?: readonly { readonly const: string }[];
  };
  return names ?? (oneOf ?? anyOf)?.map((choice) => choice.const);
}

/** A choice by itself, or by its place in the list. */
function choose(word: string, values: readonly string[]): string | undefined {
  return values.find((each) => each === word) ?? (/^\d{1,4}$/.test(word) ? values[Number(word) - 1] : undefined);
}

function choiceFault(values: readonly string[]): string {
  return `One of the choices, by its number (1 to ${values.length}) or its value.`;
}
