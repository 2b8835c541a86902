// Resolves references between subschemas: by pointer, by anchor, by URI; never by the network.
import type { JsonSchema } from "../schema.js";
import {
  absolute,
  type SchemaIndex,
  type Node,
  NOWHERE,
  type Reference,
  type SchemaResource,
  splitFragment,
} from "./schema-index.js";
import { below, isSchemaObject, SchemaError } from "./run.js";

const ADVICE = "put what it refers to under $defs, or give it in the option `documents`";

/** What a reference points to, and the anchor it named, if it named one. */
export interface Target {
  readonly schema: JsonSchema;
  readonly resource: SchemaResource;
  readonly anchor: string | undefined;
}

/** Where every reference leads. */
export type Targets = ReadonlyMap<Node, Partial<Record<Reference["keyword"], Target>>>;

/**
 * Resolves every reference of `catalogue`, adding the documents they lead to. Throws a `SchemaError` for one that leads
 * nowhere, or out to the network.
 */
export function resolveReferences(catalogue: SchemaIndex): Targets {
  const targets = new Map<Node, Partial<Record<Reference["keyword"], Target>>>();
  // The list grows while documents are added.
  for (const reference of catalogue.references) {
    const target = resolve(catalogue, reference);
    targets.set(reference.node, { ...targets.get(reference.node), [reference.keyword]: target });
  }
  return targets;
}

function resolve(catalogue: SchemaIndex, { node: from, keyword }: Reference): Target {
  const place = below(from.pointer, keyword);
  const [address, encoded] = splitFragment(from.schema[keyword] as string);
  const resource = address === "" ? from.resource : resourceAt(catalogue, from, place, address);
  const fragment = decode(encoded, place);
  if (fragment === "") return { schema: resource.root, resource, anchor: undefined };
  if (fragment.startsWith("/")) return { ...follow(catalogue, resource, fragment, place), anchor: undefined };
  const node = resource.anchors.get(fragment);
  if (node === undefined) throw unresolved(place, `no schema is anchored as "${fragment}"`);
  return { schema: node.schema, resource, anchor: fragment };
}

function resourceAt(catalogue: SchemaIndex, from: Node, place: string, address: string): SchemaResource {
  const uri = absolute(address, from.resource.uri, place);
  const known = catalogue.resources.get(uri);
  if (known !== undefined) return known;
  const document = givenAt(catalogue, uri) ?? metaschema(uri);
  if (document !== undefined) return catalogue.add(document, uri, from.resource.dialect);
  if (uri.startsWith(NOWHERE.slice(0, NOWHERE.indexOf("/"))))
    throw unresolved(place, `there is no schema "${address}"; ${ADVICE}`);
  throw new SchemaError("network-reference", place, `refers to ${uri}, and references are never fetched; ${ADVICE}`);
}

function givenAt({ given }: SchemaIndex, uri: string): JsonSchema | undefined {
  for (const name of [uri, `${uri}#`]) if (Object.hasOwn(given, name)) return given[name];
  return undefined;
}

/** Follows a JSON pointer from the root of `start`, also into places that no known keyword names. */
function follow(catalogue: SchemaIndex, start: SchemaResource, pointer: string, place: string): Omit<Target, "anchor"> {
  let value: unknown = start.root;
  let resource = start;
  let level = 0;
  for (const part of pointer.slice(1).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) {
      throw unresolved(place, `nothing stands at "#${pointer}"`);
    }
    value = (value as Record<string, unknown>)[name];
    const node = isSchemaObject(value) ? catalogue.nodes.get(value) : undefined;
    if (node !== undefined) ({ resource, level } = node);
  }
  if (typeof value === "boolean") return { schema: value, resource };
  if (!isSchemaObject(value)) throw unresolved(place, `what stands at "#${pointer}" is not a schema`);
  catalogue.index(value, resource, `#${pointer}`, level + 1);
  return { schema: value, resource: catalogue.nodeOf(value).resource };
}

function decode(fragment: string, place: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    throw new SchemaError("invalid-schema", place, `has a malformed percent-encoding in its fragment`);
  }
}

function unresolved(place: string, message: string): SchemaError {
  return new SchemaError("unresolved-reference", place, message);
}

// Holds the metaschemas of the two dialects as text, parsed only when a schema refers to them.

/** The 2020-12 metaschema and its vocabularies, as JSON, by the end of their URI. */
const texts2020: Readonly<Record<string, string>> = {
  schema: `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://json-schema.org/draft/2020-12/schema",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true,
"https://json-schema.org/draft/2020-12/vocab/applicator":true,
"https://json-schema.org/draft/2020-12/vocab/unevaluated":true,
"https://json-schema.org/draft/2020-12/vocab/validation":true,
"https://json-schema.org/draft/2020-12/vocab/meta-data":true,
"https://json-schema.org/draft/2020-12/vocab/format-annotation":true,
"https://json-schema.org/draft/2020-12/vocab/content":true},"$dynamicAnchor":"meta",
"allOf":[{"$ref":"meta/core"},{"$ref":"meta/applicator"},{"$ref":"meta/unevaluated"},{"$ref":"meta/validation"},
{"$ref":"meta/meta-data"},{"$ref":"meta/format-annotation"},{"$ref":"meta/content"}],"type":["object","boolean"],
"properties":{"definitions":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"},"deprecated":true,
"default":{}},"dependencies":{"type":"object","additionalProperties":{"anyOf":[{"$dynamicRef":"#meta"},
{"$ref":"meta/validation#/$defs/stringArray"}]},"deprecated":true,"default":{}},
"$recursiveAnchor":{"$ref":"meta/core#/$defs/anchorString","deprecated":true},
"$recursiveRef":{"$ref":"meta/core#/$defs/uriReferenceString","deprecated":true}}}`,
  "meta/core": `{"$schema":"https://json-schema.org/draft/2020-12/schema",
"$id":"https://json-schema.org/draft/2020-12/meta/core",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true},"$dynamicAnchor":"meta","type":["object",
"boolean"],"properties":{"$id":{"$ref":"#/$defs/uriReferenceString","pattern":"^[^#]*#?$"},
"$schema":{"$ref":"#/$defs/uriString"},"$ref":{"$ref":"#/$defs/uriReferenceString"},
"$anchor":{"$ref":"#/$defs/anchorString"},"$dynamicRef":{"$ref":"#/$defs/uriReferenceString"},
"$dynamicAnchor":{"$ref":"#/$defs/anchorString"},"$vocabulary":{"type":"object",
"propertyNames":{"$ref":"#/$defs/uriString"},"additionalProperties":{"type":"boolean"}},
"$comment":{"type":"string"},"$defs":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"}}},
"$defs":{"anchorString":{"type":"string","pattern":"^[A-Za-z_][-A-Za-z0-9._]*$"},"uriString":{"type":"string",
"format":"uri"},"uriReferenceString":{"type":"string","format":"uri-reference"}}}`,
  "meta/applicator": `{"$schema":"https://json-schema.org/draft/2020-12/schema",
"$id":"https://json-schema.org/draft/2020-12/meta/applicator",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/applicator":true},"$dynamicAnchor":"meta",
"type":["object","boolean"],"properties":{"prefixItems":{"$ref":"#/$defs/schemaArray"},
"items":{"$dynamicRef":"#meta"},"contains":{"$dynamicRef":"#meta"},
"additionalProperties":{"$dynamicRef":"#meta"},"properties":{"type":"object",
"additionalProperties":{"$dynamicRef":"#meta"},"default":{}},"patternProperties":{"type":"object",
"additionalProperties":{"$dynamicRef":"#meta"},"propertyNames":{"format":"regex"},"default":{}},
"dependentSchemas":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"},"default":{}},
"propertyNames":{"$dynamicRef":"#meta"},"if":{"$dynamicRef":"#meta"},"then":{"$dynamicRef":"#meta"},
"else":{"$dynamicRef":"#meta"},"allOf":{"$ref":"#/$defs/schemaArray"},"anyOf":{"$ref":"#/$defs/schemaArray"},
"oneOf":{"$ref":"#/$defs/schemaArray"},"not":{"$dynamicRef":"#meta"}},"$defs":{"schemaArray":{"type":"array",
"minItems":1,"items":{"$dynamicRef":"#meta"}}}}`,
  "meta/unevaluated": `{"$schema":"https://json-schema.org/draft/2020-12/schema",
"$id":"https://json-schema.org/draft/2020-12/meta/unevaluated",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/unevaluated":true},"$dynamicAnchor":"meta",
"type":["object","boolean"],"properties":{"unevaluatedItems":{"$dynamicRef":"#meta"},
"unevaluatedProperties":{"$dynamicRef":"#meta"}}}`,
  "meta/validation": `{"$schema":"https://json-schema.org/draft/2020-12/schema",
"$id":"https://json-schema.org/draft/2020-12/meta/validation",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/validation":true},"$dynamicAnchor":"meta",
"type":["object","boolean"],"properties":{"type":{"anyOf":[{"$ref":"#/$defs/simpleTypes"},{"type":"array",
"items":{"$ref":"#/$defs/simpleTypes"},"minItems":1,"uniqueItems":true}]},"const":true,"enum":{"type":"array",
"items":true},"multipleOf":{"type":"number","exclusiveMinimum":0},"maximum":{"type":"number"},
"exclusiveMaximum":{"type":"number"},"minimum":{"type":"number"},"exclusiveMinimum":{"type":"number"},
"maxLength":{"$ref":"#/$defs/nonNegativeInteger"},"minLength":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},
"pattern":{"type":"string","format":"regex"},"maxItems":{"$ref":"#/$defs/nonNegativeInteger"},
"minItems":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},"uniqueItems":{"type":"boolean","default":false},
"maxContains":{"$ref":"#/$defs/nonNegativeInteger"},"minContains":{"$ref":"#/$defs/nonNegativeInteger",
"default":1},"maxProperties":{"$ref":"#/$defs/nonNegativeInteger"},
"minProperties":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},"required":{"$ref":"#/$defs/stringArray"},
"dependentRequired":{"type":"object","additionalProperties":{"$ref":"#/$defs/stringArray"}}},
"$defs":{"nonNegativeInteger":{"type":"integer","minimum":0},
"nonNegativeIntegerDefault0":{"$ref":"#/$defs/nonNegativeInteger","default":0},"simpleTypes":{"enum":["array",
"boolean","integer","null","number","object","string"]},"stringArray":{"type":"array","items":{"type":"string"},
"uniqueItems":true,"default":[]}}}`,
  "meta/meta-data": `{"$schema":"https://json-schema.org/draft/2020-12/schema",
"$id":"https://json-schema.org/draft/2020-12/meta/meta-data",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/meta-data":true},"$dynamicAnchor":"meta",
"type":["object","boolean"],"properties":{"title":{"type":"string"},"description":{"type":"string"},
"default":true,"deprecated":{"type":"boolean","default":false},"readOnly":{"type":"boolean","default":false},
"writeOnly":{"type":"boolean","default":false},"examples":{"type":"array","items":true}}}`,
  "meta/format-annotation": `{"$schema":"https://json-schema.org/draft/2020-12/schema",
"$id":"https://json-schema.org/draft/2020-12/meta/format-annotation",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/format-annotation":true},"$dynamicAnchor":"meta",
"type":["object","boolean"],"properties":{"format":{"type":"string"}}}`,
  "meta/content": `{"$schema":"https://json-schema.org/draft/2020-12/schema",
"$id":"https://json-schema.org/draft/2020-12/meta/content",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/content":true},"$dynamicAnchor":"meta",
"type":["object","boolean"],"properties":{"contentEncoding":{"type":"string"},
"contentMediaType":{"type":"string"},"contentSchema":{"$dynamicRef":"#meta"}}}`,
};

const text07 = `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://json-schema.org/draft-07/schema#",
"definitions":{"schemaArray":{"type":"array","minItems":1,"items":{"$ref":"#"}},
"nonNegativeInteger":{"type":"integer","minimum":0},
"nonNegativeIntegerDefault0":{"allOf":[{"$ref":"#/definitions/nonNegativeInteger"},{"default":0}]},
"simpleTypes":{"enum":["array","boolean","integer","null","number","object","string"]},
"stringArray":{"type":"array","items":{"type":"string"},"uniqueItems":true,"default":[]}},"type":["object",
"boolean"],"properties":{"$id":{"type":"string","format":"uri-reference"},"$schema":{"type":"string",
"format":"uri"},"$ref":{"type":"string","format":"uri-reference"},"$comment":{"type":"string"},
"title":{"type":"string"},"description":{"type":"string"},"default":true,"readOnly":{"type":"boolean",
"default":false},"examples":{"type":"array","items":true},"multipleOf":{"type":"number","exclusiveMinimum":0},
"maximum":{"type":"number"},"exclusiveMaximum":{"type":"number"},"minimum":{"type":"number"},
"exclusiveMinimum":{"type":"number"},"maxLength":{"$ref":"#/definitions/nonNegativeInteger"},
"minLength":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},"pattern":{"type":"string","format":"regex"},
"additionalItems":{"$ref":"#"},"items":{"anyOf":[{"$ref":"#"},{"$ref":"#/definitions/schemaArray"}],
"default":true},"maxItems":{"$ref":"#/definitions/nonNegativeInteger"},
"minItems":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},"uniqueItems":{"type":"boolean","default":false},
"contains":{"$ref":"#"},"maxProperties":{"$ref":"#/definitions/nonNegativeInteger"},
"minProperties":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},
"required":{"$ref":"#/definitions/stringArray"},"additionalProperties":{"$ref":"#"},
"definitions":{"type":"object","additionalProperties":{"$ref":"#"},"default":{}},"properties":{"type":"object",
"additionalProperties":{"$ref":"#"},"default":{}},"patternProperties":{"type":"object",
"additionalProperties":{"$ref":"#"},"propertyNames":{"format":"regex"},"default":{}},
"dependencies":{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},
{"$ref":"#/definitions/stringArray"}]}},"propertyNames":{"$ref":"#"},"const":true,"enum":{"type":"array",
"items":true,"minItems":1,"uniqueItems":true},"type":{"anyOf":[{"$ref":"#/definitions/simpleTypes"},
{"type":"array","items":{"$ref":"#/definitions/simpleTypes"},"minItems":1,"uniqueItems":true}]},
"format":{"type":"string"},"contentMediaType":{"type":"string"},"contentEncoding":{"type":"string"},
"if":{"$ref":"#"},"then":{"$ref":"#"},"else":{"$ref":"#"},"allOf":{"$ref":"#/definitions/schemaArray"},
"anyOf":{"$ref":"#/definitions/schemaArray"},"oneOf":{"$ref":"#/definitions/schemaArray"},"not":{"$ref":"#"}},
"default":true}`;

const BASE = "https://json-schema.org/draft/2020-12/";
const URI07 = "http://json-schema.org/draft-07/schema";

/** The metaschema published at `uri`, which has no fragment; undefined for any other address. */
function metaschema(uri: string): JsonSchema | undefined {
  if (uri === URI07) return JSON.parse(text07) as JsonSchema;
  const name = uri.startsWith(BASE) ? uri.slice(BASE.length) : "";
  const text = Object.hasOwn(texts2020, name) ? texts2020[name] : undefined;
  return text === undefined ? undefined : (JSON.parse(text) as JsonSchema);
}
