// Mends the places where the official JSON schemas say something else than the specification they were generated from.

export interface Definition {
  type?: string | string[];
  const?: unknown;
  $ref?: string;
  anyOf?: Definition[];
  properties?: { [name: string]: Definition };
  items?: Definition;
  additionalProperties?: Definition | boolean;
  propertyNames?: { not: { enum: string[] } };
}

export type Definitions = { [name: string]: Definition };

export type SpecSchema = ({ definitions: Definitions } | { $defs: Definitions }) & { $schema: string };

/** The definitions of a schema, as they are. */
export function definitionsOf(schema: SpecSchema): Definitions {
  return "$defs" in schema ? schema.$defs : schema.definitions;
}

/** Mends the definitions of a schema in place. */
export function mend(definitions: Definitions): void {
  mendElicitResult(definitions);
  mendJsonValue(definitions);
}

/** Numbers a person types need not be integers. */
function mendElicitResult(definitions: Definitions): void {
  const values = definitions["ElicitResult"]?.properties?.["content"]?.additionalProperties;
  if (typeof values !== "object") return;
  for (const each of values.anyOf ?? [values]) {
    if (Array.isArray(each.type)) each.type = each.type.map((type) => (type === "integer" ? "number" : type));
  }
}

/** Any JSON: fractions and null too. */
function mendJsonValue(definitions: Definitions): void {
  const scalar = definitions["JSONValue"]?.anyOf?.find((each) => Array.isArray(each.type));
  if (scalar !== undefined) scalar.type = ["string", "number", "boolean", "null"];
}

/** Envelopes of the older schemas leave out `jsonrpc` and `id`; what clients declare is open in every revision. */
const OPEN = /(?:Request|Notification|Response|Error|ClientCapabilities)$/;

/** The schemas are open: a member of another revision would pass. This forbids, in each definition, what only others know. */
export function forbidStrangers(definitions: Definitions, others: readonly Definitions[]): void {
  const stateless = "DiscoverResult" in definitions;
  for (const [name, definition] of Object.entries(definitions)) {
    const own = definition.properties;
    if (own === undefined || OPEN.test(name)) continue;
    const elsewhere = others.flatMap((other) => Object.keys(other[name]?.properties ?? {}));
    const strangers = elsewhere.filter((member) => !(member in own) && !(stateless && member === "_meta"));
    if (strangers.length > 0) definition.propertyNames = { not: { enum: [...new Set(strangers)] } };
  }
}
