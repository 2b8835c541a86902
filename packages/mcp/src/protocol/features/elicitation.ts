// Asking the person behind the client: by form, or by a page they open (since 2025-06-18 and 2025-11-25).
import type { Meta } from "../meta.js";

interface Described {
  title?: string;
  description?: string;
}

/** A field of a form that is text. */
export interface StringSchema extends Described {
  type: "string";
  minLength?: number;
  maxLength?: number;
  format?: "email" | "uri" | "date" | "date-time";
  default?: string;
}

/** A field of a form that is a number, or a whole one. */
export interface NumberSchema extends Described {
  type: "number" | "integer";
  minimum?: number;
  maximum?: number;
  default?: number;
}

/** A field of a form that is yes or no. */
export interface BooleanSchema extends Described {
  type: "boolean";
  default?: boolean;
}

/** A field of a form: one of a list of values. */
export interface UntitledSingleSelectEnumSchema extends Described {
  type: "string";
  enum: readonly string[];
  default?: string;
}

/** One of the choices of a titled enum. */
export interface TitledChoice {
  const: string;
  title: string;
}

/** A field of a form: one of a list whose values have titles. */
export interface TitledSingleSelectEnumSchema extends Described {
  type: "string";
  oneOf: readonly TitledChoice[];
  default?: string;
}

/** A field of a form: some of a list of values. */
export interface UntitledMultiSelectEnumSchema extends Described {
  type: "array";
  items: { type: "string"; enum: readonly string[] };
  minItems?: number;
  maxItems?: number;
  default?: readonly string[];
}

/** A field of a form: some of a list whose values have titles. */
export interface TitledMultiSelectEnumSchema extends Described {
  type: "array";
  items: { anyOf: readonly TitledChoice[] };
  minItems?: number;
  maxItems?: number;
  default?: readonly string[];
}

/** The 2025-06-18 way to give choices a title. */
export interface LegacyTitledEnumSchema extends Described {
  type: "string";
  enum: readonly string[];
  enumNames?: readonly string[];
  default?: string;
}

/** A field of a form whose value is one, or some, of those listed. */
export type EnumSchema =
  | UntitledSingleSelectEnumSchema
  | TitledSingleSelectEnumSchema
  | UntitledMultiSelectEnumSchema
  | TitledMultiSelectEnumSchema
  | LegacyTitledEnumSchema;

/** What one field of a form may be. */
export type PrimitiveSchemaDefinition = StringSchema | NumberSchema | BooleanSchema | EnumSchema;

/** The flat schema of a form. */
export interface RequestedSchema {
  type: "object";
  $schema?: string;
  properties: { [name: string]: PrimitiveSchemaDefinition };
  required?: readonly string[];
}

/** A form for the person: a sentence and flat fields (client/elicitation). */
export interface ElicitRequestFormParams {
  /** Absent means form. */
  mode?: "form";
  message: string;
  requestedSchema: RequestedSchema;
  _meta?: Meta;
}

/** A page for the person to open, for what no form may ask (client/elicitation). */
export interface ElicitRequestURLParams {
  mode: "url";
  message: string;
  url: string;
  /** 2025-11-25 only, where it is required. */
  elicitationId?: string;
  _meta?: Meta;
}

/** Params of `elicitation/create`: a form or a page. */
export type ElicitRequestParams = ElicitRequestFormParams | ElicitRequestURLParams;

/** What one field of an accepted form may hold. */
export type ElicitValue = string | number | boolean | string[];

/** What the person did; only an accepted form has `content` (client/elicitation). */
export interface ElicitResult {
  action: "accept" | "decline" | "cancel";
  /** Only with `accept`, and only for forms. */
  content?: { [name: string]: ElicitValue };
  _meta?: Meta;
}
