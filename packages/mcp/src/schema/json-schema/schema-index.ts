// Finds every subschema of a schema, checks its keywords, and knows its address, dialect and anchors.
import { type JsonSchema, nearest } from "../schema.js";
import {
  type Check,
  MAX_JSON_DEPTH,
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_LENGTH,
  MAX_SUBSCHEMAS,
  SchemaError,
  type SchemaObject,
  below,
  describe,
  isSchemaObject,
} from "./run.js";

/** A schema with an address of its own: a document, or a subschema with `$id`. */
export interface SchemaResource {
  readonly uri: string;
  readonly root: JsonSchema;
  readonly dialect: Dialect;
  readonly anchors: Map<string, Node>;
  /** The anchors among them that `$dynamicRef` may rebind. */
  readonly dynamic: Map<string, Node>;
}

/** A subschema: where it stands, and its check once it is built. */
export interface Node {
  readonly schema: SchemaObject;
  readonly resource: SchemaResource;
  /** Where it stands, for error messages. */
  readonly pointer: string;
  /** How many subschemas it stands inside. */
  readonly level: number;
  /** Whether it is a reference beside which nothing counts, as in draft-07. */
  readonly isBareReference: boolean;
  /** Set when it is built. */
  check: Check | undefined;
}

/** A keyword of a subschema that refers to another one. */
export interface Reference {
  readonly node: Node;
  readonly keyword: "$ref" | "$dynamicRef";
}

/** Base of schemas without an absolute `$id`: a scheme nobody can mistake for an address on the network. */
export const NOWHERE = "schema:///schema";

export class SchemaIndex {
  /** Every reference found so far; resolving one may add documents, and with them more. */
  readonly references: Reference[] = [];
  hasDefaults = false;
  readonly nodes: Map<SchemaObject, Node> = new Map();
  readonly resources: Map<string, SchemaResource> = new Map();
  readonly given: Readonly<Record<string, JsonSchema>>;
  #left = MAX_SUBSCHEMAS + 1;

  constructor(given: Readonly<Record<string, JsonSchema>>) {
    this.given = given;
  }

  /** Adds the whole document found at `uri`, and returns its resource. */
  add(document: unknown, uri: string, dialect: Dialect): SchemaResource {
    checkSize(document);
    const pointer = uri === NOWHERE ? "#" : `${uri}#`;
    const found = this.#open(document as JsonSchema, uri, pointer, dialect);
    this.index(document, found, pointer, 0);
    const named = isSchemaObject(document) ? this.nodeOf(document).resource : found;
    this.resources.set(uri, named);
    return named;
  }

  nodeOf(schema: SchemaObject): Node {
    const node = this.nodes.get(schema);
    if (node === undefined) throw new Error("a subschema was not indexed");
    return node;
  }

  /** Indexes `schema` and all below it. Does nothing when that was done before. */
  index(schema: unknown, outer: SchemaResource, pointer: string, level: number): void {
    if (!isSchemaObject(schema)) {
      if (typeof schema === "boolean") return this.#count(pointer, level);
      throw new SchemaError(
        "invalid-schema",
        pointer,
        `must be a schema: an object or a boolean, but it is ${describe(schema)}`,
      );
    }
    if ("~standard" in schema) {
      const what =
        "is a schema of a library, inside of JSON Schema: write all of it with the library, as z.object({ ... })";
      throw new SchemaError("invalid-schema", pointer, `${what}, or this part as JSON Schema too`);
    }
    if (this.nodes.has(schema)) return;
    this.#count(pointer, level);
    const isBareReference = outer.dialect.draft === "draft-07" && schema["$ref"] !== undefined;
    const resource = isBareReference ? outer : this.#enter(schema, outer, pointer);
    const node: Node = { schema, resource, pointer, level, isBareReference, check: undefined };
    this.nodes.set(schema, node);
    if (!isBareReference) nameAnchors(node);
    const { kinds } = resource.dialect;
    for (const keyword of Object.keys(schema)) {
      const kind = kinds.get(keyword);
      if (kind === undefined || (isBareReference && keyword !== "$ref" && keyword !== "definitions")) continue;
      const value = schema[keyword];
      const place = below(pointer, keyword);
      checkKeyword(kind, value, place);
      if (keyword === "default") this.hasDefaults = true;
      else if (keyword === "$ref" || keyword === "$dynamicRef") this.references.push({ node, keyword });
      if (kind.startsWith("schema")) this.#indexBelow(value, kind === "schema", node, place);
      else if (kind === "dependencies") this.#indexDependencies(value as SchemaObject, node, place);
    }
  }

  #indexBelow(value: unknown, single: boolean, parent: Node, place: string): void {
    const { resource, level } = parent;
    if (single || typeof value === "boolean") this.index(value, resource, place, level + 1);
    else if (Array.isArray(value)) {
      value.forEach((item, position) => this.index(item, resource, below(place, position), level + 1));
    } else if (place.endsWith("/items")) this.index(value, resource, place, level + 1);
    else {
      const map = value as SchemaObject;
      for (const name of Object.keys(map)) this.index(map[name], resource, below(place, name), level + 1);
    }
  }

  #indexDependencies(value: SchemaObject, parent: Node, place: string): void {
    for (const name of Object.keys(value)) {
      const at = below(place, name);
      if (Array.isArray(value[name])) checkKeyword("strings", value[name], at);
      else this.index(value[name], parent.resource, at, parent.level + 1);
    }
  }

  /** The resource that `schema` stands in: its own when it has an `$id`. */
  #enter(schema: SchemaObject, outer: SchemaResource, pointer: string): SchemaResource {
    const id = schema["$id"];
    if (id === undefined) return outer;
    const place = below(pointer, "$id");
    checkKeyword("string", id, place);
    const [address, fragment] = splitFragment(id as string);
    if (fragment !== "" && outer.dialect.draft === "2020-12") {
      throw new SchemaError("invalid-schema", place, `must not have a fragment; name the place with $anchor`);
    }
    if (address === "") return outer;
    return this.#open(schema, absolute(address, outer.uri, place), pointer, outer.dialect);
  }

  #open(root: JsonSchema, uri: string, pointer: string, inherited: Dialect): SchemaResource {
    const dialect = isSchemaObject(root) ? this.#dialectOf(root, pointer, inherited) : inherited;
    const resource: SchemaResource = { uri, root, dialect, anchors: new Map(), dynamic: new Map() };
    this.resources.set(uri, resource);
    return resource;
  }

  #dialectOf(root: SchemaObject, pointer: string, inherited: Dialect): Dialect {
    const uri = root["$schema"];
    if (uri === undefined) return inherited;
    const place = below(pointer, "$schema");
    checkKeyword("string", uri, place);
    const known = knownDialect(uri as string);
    if (known !== undefined) return known;
    const metaschema = Object.hasOwn(this.given, uri as string) ? this.given[uri as string] : undefined;
    if (isSchemaObject(metaschema)) return dialectOf(metaschema, place);
    const message = `the dialect ${describe(uri)} is not supported; use JSON Schema 2020-12 or draft-07`;
    throw new SchemaError("unsupported-dialect", place, message);
  }

  #count(pointer: string, level: number): void {
    if (level > MAX_SCHEMA_DEPTH) {
      const message = `is more than ${MAX_SCHEMA_DEPTH} schemas deep; move inner ones to $defs and refer to them`;
      throw new SchemaError("schema-too-large", pointer, message);
    }
    if (--this.#left < 0) {
      throw new SchemaError("schema-too-large", "#", `holds more than ${MAX_SUBSCHEMAS} subschemas; make it smaller`);
    }
  }
}

function nameAnchors(node: Node): void {
  const { schema, resource } = node;
  const { anchors, dynamic, dialect } = resource;
  if (dialect.draft === "draft-07") {
    const [, fragment] = splitFragment(typeof schema["$id"] === "string" ? schema["$id"] : "");
    if (fragment !== "") anchors.set(fragment, node);
    return;
  }
  const { $anchor, $dynamicAnchor } = schema;
  if (typeof $anchor === "string") anchors.set($anchor, node);
  if (typeof $dynamicAnchor === "string") {
    anchors.set($dynamicAnchor, node);
    dynamic.set($dynamicAnchor, node);
  }
}

/** Splits a URI reference at its `#`. */
export function splitFragment(reference: string): [address: string, fragment: string] {
  const at = reference.indexOf("#");
  return at < 0 ? [reference, ""] : [reference.slice(0, at), reference.slice(at + 1)];
}

/** Resolves `address` against `base`; throws a `SchemaError` for what is no URI. */
export function absolute(address: string, base: string, place: string): string {
  try {
    return new URL(address, base).href;
  } catch {
    throw new SchemaError("invalid-schema", place, `${describe(address)} is not a URI reference`);
  }
}

/** Refuses a schema whose JSON text would be too long or too deep. Cycles and shared branches count as often as met. */
function checkSize(schema: unknown): void {
  let left = MAX_SCHEMA_LENGTH;
  const measure = (value: unknown, depth: number): void => {
    if (depth > MAX_JSON_DEPTH) {
      throw new SchemaError(
        "schema-too-large",
        "#",
        `nests JSON deeper than ${MAX_JSON_DEPTH} levels; make it flatter`,
      );
    }
    if (typeof value === "string") left -= value.length + 2;
    else if (typeof value !== "object" || value === null) left -= 4;
    else if (Array.isArray(value)) {
      left -= 2 + value.length;
      if (left >= 0) for (const item of value) measure(item, depth + 1);
    } else {
      left -= 2;
      for (const name in value) {
        left -= name.length + 4;
        measure((value as SchemaObject)[name], depth + 1);
      }
    }
    if (left < 0) {
      throw new SchemaError(
        "schema-too-large",
        "#",
        `is longer than ${MAX_SCHEMA_LENGTH} characters of JSON; shorten it`,
      );
    }
  };
  measure(schema, 0);
}

// Knows the two dialects we compile: which keywords each has, and what shape a keyword's value must have.

/** What a keyword's value must be; the kinds with `schema` in their name hold subschemas. */
type Kind =
  | "any"
  | "string"
  | "boolean"
  | "number"
  | "positive"
  | "count"
  | "strings"
  | "type"
  | "list"
  | "stringMap"
  | "schema"
  | "schemas"
  | "schemaMap"
  | "schemaOrSchemas"
  | "dependencies";

export type Draft = "2020-12" | "draft-07";

export interface Dialect {
  readonly draft: Draft;
  readonly kinds: ReadonlyMap<string, Kind>;
}

type Keywords = Readonly<Record<string, Kind>>;

/** Annotations other than these are not looked at: whatever they say, they cannot change an outcome. */
const annotations: Keywords = { default: "any", format: "string" };

const validation: Keywords = {
  type: "type",
  enum: "list",
  const: "any",
  multipleOf: "positive",
  maximum: "number",
  exclusiveMaximum: "number",
  minimum: "number",
  exclusiveMinimum: "number",
  maxLength: "count",
  minLength: "count",
  pattern: "string",
  maxItems: "count",
  minItems: "count",
  uniqueItems: "boolean",
  maxProperties: "count",
  minProperties: "count",
  required: "strings",
};

const applicators: Keywords = {
  contains: "schema",
  additionalProperties: "schema",
  properties: "schemaMap",
  patternProperties: "schemaMap",
  propertyNames: "schema",
  if: "schema",
  then: "schema",
  else: "schema",
  allOf: "schemas",
  anyOf: "schemas",
  oneOf: "schemas",
  not: "schema",
};

const core: Keywords = {
  $schema: "string",
  $id: "string",
  $ref: "string",
  $comment: "string",
  definitions: "schemaMap",
};

const VOCABULARY = "https://json-schema.org/draft/2020-12/vocab/";

/** The vocabularies of 2020-12, by the last part of their URI. */
const vocabularies: Readonly<Record<string, Keywords>> = {
  core: {
    ...core,
    $anchor: "string",
    $dynamicRef: "string",
    $dynamicAnchor: "string",
    $vocabulary: "any",
    $defs: "schemaMap",
  },
  applicator: { ...applicators, prefixItems: "schemas", items: "schema", dependentSchemas: "schemaMap" },
  unevaluated: { unevaluatedItems: "schema", unevaluatedProperties: "schema" },
  validation: { ...validation, minContains: "count", maxContains: "count", dependentRequired: "stringMap" },
  "meta-data": annotations,
  "format-annotation": { format: "string" },
  "format-assertion": { format: "string" },
  content: { contentSchema: "schema" },
};

export const dialect2020: Dialect = dialect("2020-12", Object.values(vocabularies));

let made07: Dialect | undefined;

/** Made at first use, which most programs never come to. */
export function dialect07(): Dialect {
  const changed: Keywords = { items: "schemaOrSchemas", additionalItems: "schema", dependencies: "dependencies" };
  return (made07 ??= dialect("draft-07", [core, annotations, validation, applicators, changed]));
}

function dialect(draft: Draft, groups: readonly Keywords[]): Dialect {
  return { draft, kinds: new Map(groups.flatMap((group) => Object.entries(group))) };
}

/** The dialect that a `$schema` URI names; undefined when it is none of the two. */
function knownDialect(uri: string): Dialect | undefined {
  if (/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(uri)) return dialect2020;
  if (/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test(uri)) return dialect07();
  return undefined;
}

/** The dialect of a metaschema that picks its vocabularies from 2020-12. Throws when it requires one we lack. */
function dialectOf(metaschema: Readonly<Record<string, unknown>>, pointer: string): Dialect {
  const wanted = metaschema["$vocabulary"];
  if (typeof wanted !== "object" || wanted === null) return dialect2020;
  const groups: Keywords[] = [];
  for (const [uri, required] of Object.entries(wanted)) {
    const name = uri.startsWith(VOCABULARY) ? uri.slice(VOCABULARY.length) : "";
    const group = Object.hasOwn(vocabularies, name) ? vocabularies[name] : undefined;
    if (group !== undefined) groups.push(group);
    else if (required === true) {
      throw new SchemaError(
        "unsupported-dialect",
        pointer,
        `requires the vocabulary "${uri}", which is not implemented`,
      );
    }
  }
  return dialect("2020-12", groups);
}

const typeNames: readonly string[] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/** Throws a `SchemaError` when `value` is not what the keyword at `pointer` takes. Looks one level deep. */
function checkKeyword(kind: Kind, value: unknown, pointer: string): void {
  const expected = mismatch(kind, value);
  if (expected !== undefined) {
    throw new SchemaError("invalid-schema", pointer, `must be ${expected}, but it is ${describe(value)}`);
  }
  if (kind === "type") checkTypeNames(value as string | readonly string[], pointer);
}

/** What `kind` expects, when `value` is something else. */
function mismatch(kind: Kind, value: unknown): string | undefined {
  switch (kind) {
    case "any":
    case "schema":
      return undefined;
    case "string":
    case "boolean":
      return typeof value === kind ? undefined : `a ${kind}`;
    case "number":
      return Number.isFinite(value) ? undefined : "a number";
    case "positive":
      return Number.isFinite(value) && (value as number) > 0 ? undefined : "a number above 0";
    case "count":
      return Number.isInteger(value) && (value as number) >= 0 ? undefined : "an integer of at least 0";
    case "list":
      return Array.isArray(value) ? undefined : "an array";
    case "strings":
      return isStrings(value) ? undefined : "an array of strings";
    case "type":
      return typeof value === "string" || (isStrings(value) && value.length > 0)
        ? undefined
        : "a type name or a list of them";
    case "schemas":
      return Array.isArray(value) && value.length > 0 ? undefined : "a non-empty array of schemas";
    case "schemaOrSchemas":
      return undefined;
    case "stringMap":
      return isSchemaObject(value) && Object.values(value).every(isStrings) ? undefined : "an object of string arrays";
    case "schemaMap":
    case "dependencies":
      return isSchemaObject(value) ? undefined : "an object";
  }
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function checkTypeNames(value: string | readonly string[], pointer: string): void {
  for (const name of typeof value === "string" ? [value] : value) {
    if (typeNames.includes(name)) continue;
    const near = nearest(name, typeNames);
    const hint = near === undefined ? `use one of ${typeNames.join(", ")}` : `did you mean "${near}"?`;
    throw new SchemaError("invalid-schema", pointer, `${describe(name)} is not a type; ${hint}`);
  }
}
