// Lists every text of an item: all strings of it, keys of mappings included, each with its place.

/** One text and where it stands, as a JSON Pointer (RFC 6901). */
export interface Leaf {
  readonly at: string;
  readonly text: string;
  /** It is a key of a mapping or the name of something: an identifier, not prose. */
  readonly name: boolean;
}

/** Texts of one item; more than this no model could use. */
const MAX_LEAVES = 10_000;
/** Deeper than any honest schema. */
const MAX_DEPTH = 64;
/** Characters of one text that are read. */
export const MAX_LEAF = 65_536;

export interface Leaves {
  readonly leaves: readonly Leaf[];
  /** Something was too deep, too much or too long to be read: nobody can say that it is honest. */
  readonly unread: boolean;
}

/** Members that hold names. */
const NAME_MEMBERS: ReadonlySet<string> = new Set(["name", "uri", "uriTemplate"]);
/** Keywords of JSON Schema whose mappings have keys of the server's own. */
const KEYED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentRequired",
  "dependentSchemas",
  "arguments",
]);
/** Bytes of pictures and the like, and words of JSON Schema itself. */
const SKIPPED: ReadonlySet<string> = new Set(["icons", "$schema"]);

export function leavesOf(item: unknown): Leaves {
  const leaves: Leaf[] = [];
  let unread = false;
  const visit = (value: unknown, at: string, key: string, depth: number): void => {
    if (leaves.length >= MAX_LEAVES || depth > MAX_DEPTH) unread = true;
    else if (typeof value === "string") {
      unread ||= value.length > MAX_LEAF;
      if (value !== "") leaves.push({ at, text: value.slice(0, MAX_LEAF), name: NAME_MEMBERS.has(key) });
    } else if (typeof value === "object" && value !== null) {
      for (const [inner, member] of Object.entries(value)) {
        if (SKIPPED.has(inner) && !KEYED.has(key)) continue;
        const place = `${at}/${inner.replaceAll("~", "~0").replaceAll("/", "~1")}`;
        if (!Array.isArray(value) && KEYED.has(key))
          leaves.push({ at: place, text: inner.slice(0, MAX_LEAF), name: true });
        visit(member, place, Array.isArray(value) ? key : inner, depth + 1);
      }
    }
  };
  visit(item, "", "", 0);
  return { leaves, unread };
}
