// Asking the person behind the client: by form, or by a page they open (since 2025-06-18 and 2025-11-25).
import type { Meta } from "../meta.js";

interface Described {
  title?: string;
  description?: string;
}

export interface StringSchema extends Described {
  type: "string";
  minLength?: number;
  maxLength?: number;
  format?: "email" | "uri" | "date" | "date-time";
  default?: string;
}

export interface NumberSchema extends Described {
  type: "number" | "integer";
  minimum?: number;
  maximum?: number;
  default?: number;
}

export interface BooleanSchema extends Described {
  type: "boolean";
  default?: boolean;
}

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

export interface TitledSingleSelectEnumSchema extends Described {
  type: "string";
  oneOf: readonly TitledChoice[];
  default?: string;
}

export interface UntitledMultiSelectEnumSchema extends Described {
  type: "array";
  items: { type: "string"; enum: readonly string[] };
  minItems?: number;
  maxItems?: number;
  default?: readonly string[];
}

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
