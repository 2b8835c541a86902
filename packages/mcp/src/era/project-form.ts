// Projects a form for clients whose revision knows fewer kinds of fields.
import type { PrimitiveSchemaDefinition, RequestedSchema, TitledChoice } from "../protocol/features/elicitation.js";
import { optionKey } from "../protocol/form-choices.js";
import type { ElicitationRules } from "../protocol/revisions/revision.js";

/** The form with the fields the revision has; the same object when it has them all. */
export function projectForm(rules: ElicitationRules, form: RequestedSchema): RequestedSchema {
  if (rules.arrays && rules.titledEnums && rules.allDefaults) return form;
  const properties: RequestedSchema["properties"] = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(form.properties)) {
    const fields = field.type === "array" ? oneSwitchEach(name, field) : { [name]: plainField(field) };
    Object.assign(properties, fields);
    if (form.required?.includes(name)) required.push(...Object.keys(fields));
  }
  return { type: "object", properties, ...(form.required && { required }) };
}

/** Titles travel as `enumNames`; defaults stay on booleans only. */
function plainField(field: PrimitiveSchemaDefinition): PrimitiveSchemaDefinition {
  if (field.type === "boolean") return field;
  const { default: _, ...rest } = field;
  if (!("oneOf" in rest)) return rest;
  const { oneOf, ...described } = rest;
  return { ...described, enum: oneOf.map((choice) => choice.const), enumNames: oneOf.map((choice) => choice.title) };
}

/** A field of several choices becomes a switch for each choice; `readAnswer` folds them back. */
function oneSwitchEach(
  name: string,
  field: Extract<PrimitiveSchemaDefinition, { type: "array" }>,
): RequestedSchema["properties"] {
  const chosen = field.default ?? [];
  const heading = field.title ?? name;
  const description = field.description === undefined ? {} : { description: field.description };
  const switches = choicesOf(field.items).map(({ const: value, title }) => [
    optionKey(name, value),
    { type: "boolean", title: `${heading}: ${title}`, ...description, default: chosen.includes(value) },
  ]);
  return Object.fromEntries(switches) as RequestedSchema["properties"];
}

function choicesOf(items: { enum: readonly string[] } | { anyOf: readonly TitledChoice[] }): readonly TitledChoice[] {
  return "anyOf" in items ? items.anyOf : items.enum.map((value) => ({ const: value, title: value }));
}
