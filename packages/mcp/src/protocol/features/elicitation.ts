// Asking the client: the person behind it by form or page (2025-06-18, 2025-11-25), and the questions a 2026-07-28
// server puts into its answer.
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import type { Meta } from "../meta.js";
import { fault, type MethodRecord, optionalString, type ParamsFault } from "../method.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "./sampling.js";

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

// Questions a 2026-07-28 server puts into its answer, and the client's replies on the retry.

/** One question. It is not a JSON-RPC message: no id, no envelope. */
export type InputRequest =
  | { method: "elicitation/create"; params: ElicitRequestParams }
  | { method: "sampling/createMessage"; params: CreateMessageRequestParams }
  | { method: "roots/list"; params?: { _meta?: Meta } };

/** One reply: a bare result without `resultType`. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult;

/** Questions of a multi round-trip request, by a key of the server's own. */
export interface InputRequests {
  [key: string]: InputRequest;
}

/** The answers, under the keys of their questions. */
export interface InputResponses {
  [key: string]: InputResponse;
}

/** The two members that a retry adds to the params of an interactive method (2026-07-28). */
export interface InputResponseRequestParams {
  inputResponses?: InputResponses;
  requestState?: string;
  _meta?: Meta;
}

/** Checks the two members a retry adds: an object of objects, and a string. */
export function checkInputResponses(params: JsonObject): ParamsFault | undefined {
  const responses = params["inputResponses"];
  if (responses !== undefined) {
    if (!isJsonObject(responses)) return fault(["inputResponses"], "an object");
    for (const key in responses) {
      if (!isJsonObject(responses[key])) return fault(["inputResponses", key], "an object");
    }
  }
  return optionalString(params, "requestState");
}

/** The same method, able to answer with questions and to take the replies. */
export function interactive<Params extends object>(
  record: MethodRecord<Params>,
): MethodRecord<Params & InputResponseRequestParams> {
  return {
    ...record,
    interactive: true,
    check: (params) => record.check(params) ?? checkInputResponses(params),
  };
}

// The folders a client works in. They inform; they are not access control.

/** A folder the client works in. It informs; it is no access control (client/roots). */
export interface Root {
  /** A `file://` URI. */
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** Result of `roots/list`: the folders the client lets the server know of. */
export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}

/** The name of the switch that stands for one choice of a field, where a form cannot have a field of several choices. */
export function optionKey(field: string, choice: string): string {
  return `${field}[${choice}]`;
}
