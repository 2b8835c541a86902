// What is valid as JSON Schema and hardly ever meant: words that are nearly keywords, members that are required and not
// described, and defaults that their own schema refuses.
import type { JsonSchema } from "../schema.js";
import { compileJsonSchema } from "./compile.js";
import { nearest } from "../schema.js";
import { literal, quoteValue } from "./run.js";

/**
 * Every keyword of 2020-12 and draft-07, and three that are near one and come from elsewhere (draft-04, OpenAPI). Other words are
 * annotations by the specification, so only near ones are told.
 */
const KEYWORDS: readonly string[] = (
  "type enum const title description default examples deprecated readOnly writeOnly format pattern minLength maxLength " +
  "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf properties required additionalProperties " +
  "patternProperties propertyNames minProperties maxProperties dependentRequired dependentSchemas dependencies " +
  "unevaluatedProperties unevaluatedItems items prefixItems additionalItems contains minContains maxContains minItems " +
  "maxItems uniqueItems allOf anyOf oneOf not if then else contentEncoding contentMediaType contentSchema definitions " +
  "$schema $id $ref $defs $anchor $dynamicRef $dynamicAnchor $vocabulary $comment $recursiveRef $recursiveAnchor id example nullable"
).split(" ");

/** Keywords whose members, or items, are schemas. */
const TABLES = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const LISTS = ["prefixItems", "anyOf", "oneOf", "allOf"];
const SINGLE = ["items", "additionalProperties", "contains", "propertyNames"];

/** Schemas looked at: more than anybody writes by hand, few enough to take no time. */
const MAX_LOOKED_AT = 500;

type Table = Readonly<Record<string, unknown>>;
interface Place {
  readonly path: string;
  readonly schema: Table;
}

/** The first thing that looks like a mistake, with its place, as the end of a sentence; undefined when nothing does. */
export function schemaAdvice(root: JsonSchema): string | undefined {
  if (!isTable(root)) return undefined;
  const places: Place[] = [{ path: "#", schema: root }];
  for (const place of places) {
    const advice = misspelt(place) ?? undescribed(place) ?? badDefault(place);
    if (advice !== undefined) return advice;
    for (const inner of within(place)) if (places.length < MAX_LOOKED_AT) places.push(inner);
  }
  return undefined;
}

/** Keywords that say something of a value by themselves. */
const SAYING = ["properties", "$ref", "allOf", "anyOf", "oneOf", "enum", "const", "if", "not"];

/** What is wrong where there are the members of an object alone, as the end of a sentence: such a schema takes any value. */
export function membersAlone(root: JsonSchema): string | undefined {
  if (!isTable(root) || typeof root["type"] === "string" || Array.isArray(root["type"])) return undefined;
  if (SAYING.some((keyword) => root[keyword] !== undefined)) return undefined;
  const members = Object.keys(root).filter((name) => {
    const member = root[name];
    return !SINGLE.includes(name) && isTable(member) && typeof member["type"] === "string";
  });
  if (members.length === 0) return undefined;
  const names = members.slice(0, 3).map(quoteValue).join(", ");
  return `has the members of an object alone (${names}): write { type: "object", properties: { ... } }`;
}

function* within({ path, schema }: Place): IterableIterator<Place> {
  for (const keyword of [...TABLES, ...LISTS]) {
    const inner = schema[keyword];
    if (typeof inner !== "object" || inner === null) continue;
    for (const [name, each] of Object.entries(inner)) {
      if (isTable(each)) yield { path: `${path}/${keyword}/${name}`, schema: each };
    }
  }
  for (const keyword of SINGLE) {
    const inner = schema[keyword];
    if (isTable(inner)) yield { path: `${path}/${keyword}`, schema: inner };
  }
}

function misspelt({ path, schema }: Place): string | undefined {
  for (const word of Object.keys(schema)) {
    if (KEYWORDS.includes(word) || word.includes("-")) continue;
    const near = nearest(word, KEYWORDS);
    if (near !== undefined) return `${quoteValue(word)} at ${quoteValue(path)} means nothing, did you mean "${near}"?`;
  }
  return undefined;
}

function undescribed({ path, schema }: Place): string | undefined {
  const { properties, required } = schema;
  if (!isTable(properties) || !Array.isArray(required)) return undefined;
  // Said elsewhere: by a combination, a reference, or for all other names.
  const elsewhere = [...LISTS, "patternProperties", "$ref", "if"].some((keyword) => schema[keyword] !== undefined);
  if (elsewhere || isTable(schema["additionalProperties"])) return undefined;
  const missing = required.find((name) => !Object.hasOwn(properties, name as string)) as string | undefined;
  if (missing === undefined) return undefined;
  return `${quoteValue(path)} requires ${quoteValue(missing)}, which its "properties" do not describe`;
}

function badDefault({ path, schema }: Place): string | undefined {
  const value = schema["default"];
  if (value === undefined) return undefined;
  try {
    const { default: _, ...rest } = schema;
    if (compileJsonSchema(rest, { fallbackToDraft07: true }).check(value)) return undefined;
  } catch {
    // It leads to a part of the whole schema by a reference: alone it says nothing.
    return undefined;
  }
  return `the default ${literal(value)} at ${quoteValue(path)} is not valid there`;
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
