// Finds the arguments a tool wants repeated in headers (`x-mcp-header`), and what is wrong with such a wish.
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";

export interface MirroredParam {
  /** Lower-case header name: `mcp-param-region`. */
  readonly header: string;
  /** Where the value is in the arguments. */
  readonly path: readonly string[];
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const KEYWORD = "x-mcp-header";

/**
 * The mirrored arguments of an input schema, or a sentence naming what makes the tool invalid: clients drop such a tool.
 */
export function mirroredParams(schema: JsonObject): readonly MirroredParam[] | string {
  const found: MirroredParam[] = [];
  const fault = search(schema, [], found, true);
  if (fault !== undefined) return fault;
  const names = new Set(found.map(({ header }) => header));
  return names.size === found.length ? found : `Two properties have the same ${KEYWORD}`;
}

function search(
  schema: unknown,
  path: readonly string[],
  found: MirroredParam[],
  reachable: boolean,
): string | undefined {
  if (Array.isArray(schema)) return searchAll(schema, path, found);
  if (!isJsonObject(schema)) return undefined;
  if (Object.hasOwn(schema, KEYWORD)) {
    const fault = mirror(schema, path, found, reachable);
    if (fault !== undefined) return fault;
  }
  for (const [keyword, value] of Object.entries(schema)) {
    // Data, not schemas: whatever is in them means nothing.
    if (keyword === "const" || keyword === "enum" || keyword === "default" || keyword === "examples") continue;
    const fault =
      keyword === "properties" && isJsonObject(value)
        ? searchProperties(value, path, found, reachable)
        : search(value, path, found, false);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function searchAll(schemas: readonly unknown[], path: readonly string[], found: MirroredParam[]): string | undefined {
  for (const each of schemas) {
    const fault = search(each, path, found, false);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function searchProperties(
  properties: JsonObject,
  path: readonly string[],
  found: MirroredParam[],
  reachable: boolean,
): string | undefined {
  for (const [name, schema] of Object.entries(properties)) {
    const fault = search(schema, [...path, name], found, reachable);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function mirror(
  schema: JsonObject,
  path: readonly string[],
  found: MirroredParam[],
  reachable: boolean,
): string | undefined {
  const name = schema[KEYWORD];
  const where = path.join(".");
  if (!reachable || path.length === 0) return `${KEYWORD} stands where no argument is certain to be found (${where})`;
  if (typeof name !== "string" || !TOKEN.test(name)) return `${KEYWORD} of ${where} is no header name`;
  if (!TYPES.has(schema["type"])) return `${KEYWORD} of ${where} needs the type string, integer or boolean`;
  found.push({ header: `mcp-param-${name.toLowerCase()}`, path });
  return undefined;
}
