// Resolves references between subschemas: by pointer, by anchor, by URI; never by the network.

import type { JsonSchema } from "../schema.js";
import {
  absolute,
  NOWHERE,
  splitFragment,
  type Catalogue,
  type Node,
  type Reference,
  type Resource,
} from "./catalogue.js";
import { metaschema } from "./metaschemas.js";
import { below, isSchemaObject, SchemaError } from "./schema-error.js";

const ADVICE = "put what it refers to under $defs, or give it in the option `documents`";

/** What a reference points to, and the anchor it named, if it named one. */
export interface Target {
  readonly schema: JsonSchema;
  readonly resource: Resource;
  readonly anchor: string | undefined;
}

/** Where every reference leads. */
export type Targets = ReadonlyMap<Node, Partial<Record<Reference["keyword"], Target>>>;

/**
 * Resolves every reference of `catalogue`, adding the documents they lead to. Throws a `SchemaError` for one that leads
 * nowhere, or out to the network.
 */
export function resolveReferences(catalogue: Catalogue): Targets {
  const targets = new Map<Node, Partial<Record<Reference["keyword"], Target>>>();
  // The list grows while documents are added.
  for (const reference of catalogue.references) {
    const target = resolve(catalogue, reference);
    targets.set(reference.node, { ...targets.get(reference.node), [reference.keyword]: target });
  }
  return targets;
}

function resolve(catalogue: Catalogue, { node: from, keyword }: Reference): Target {
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

function resourceAt(catalogue: Catalogue, from: Node, place: string, address: string): Resource {
  const uri = absolute(address, from.resource.uri, place);
  const known = catalogue.resources.get(uri);
  if (known !== undefined) return known;
  const document = givenAt(catalogue, uri) ?? metaschema(uri);
  if (document !== undefined) return catalogue.add(document, uri, from.resource.dialect);
  if (uri.startsWith(NOWHERE.slice(0, NOWHERE.indexOf("/"))))
    throw unresolved(place, `there is no schema "${address}"; ${ADVICE}`);
  throw new SchemaError("network-reference", place, `refers to ${uri}, and references are never fetched; ${ADVICE}`);
}

function givenAt({ given }: Catalogue, uri: string): JsonSchema | undefined {
  for (const name of [uri, `${uri}#`]) if (Object.hasOwn(given, name)) return given[name];
  return undefined;
}

/** Follows a JSON pointer from the root of `start`, also into places that no known keyword names. */
function follow(catalogue: Catalogue, start: Resource, pointer: string, place: string): Omit<Target, "anchor"> {
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
