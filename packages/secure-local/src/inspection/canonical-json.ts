// Writes a JSON value the one way RFC 8785 writes it: equal values give equal text, whatever order their keys came in.

/** Deeper than any honest schema, and far from where recursion would overflow the stack. */
const MAX_DEPTH = 512;

/**
 * Keys in the order of their UTF-16 code units, no blanks, numbers as ECMAScript writes them. Members that JSON does not have (undefined,
 * functions) are left out. @throws RangeError for what is nested deeper than 512 levels; TypeError for a number that JSON does not have
 */
export function canonicalJson(value: unknown): string {
  return written(value, 0);
}

function written(value: unknown, depth: number): string {
  if (depth > MAX_DEPTH) throw new RangeError(`The value is nested deeper than ${MAX_DEPTH} levels.`);
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`JSON has no ${value}.`);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item: unknown) => written(item, depth + 1)).join(",")}]`;
  const members = Object.keys(value)
    .sort()
    .flatMap((key) => {
      const member = (value as Readonly<Record<string, unknown>>)[key];
      return member === undefined || typeof member === "function"
        ? []
        : [`${JSON.stringify(key)}:${written(member, depth + 1)}`];
    });
  return `{${members.join(",")}}`;
}
