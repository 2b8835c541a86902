// Parses JSON objects that decide about access: duplicate members and deep nesting are refused, not guessed about.

/** Deepest nesting: claims of real issuers stay under five levels. */
const DEPTH = 32;

/** Fatal, and keeps a byte order mark, which JSON does not allow. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The object, or undefined for anything else: no UTF-8, no JSON, no object, a name twice in one object. */
export function parseStrictObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const text = utf8.decode(bytes);
    const members = countMembers(text);
    const value: unknown = members === undefined ? undefined : JSON.parse(text);
    if (!isPlainObject(value)) return undefined;
    return countKept(value) === members ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Members written in the text: in JSON each has exactly one colon outside strings. Undefined when nested too deeply. */
function countMembers(text: string): number | undefined {
  let colons = 0;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (quoted) {
      if (character === "\\") at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === ":") colons++;
    else if (character === "{" || character === "[") {
      if (++depth > DEPTH) return undefined;
    } else if (character === "}" || character === "]") depth--;
  }
  return colons;
}

/** Members that survived parsing. A name written twice survives once. */
function countKept(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let kept = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const inner of Object.values(value)) kept += countKept(inner);
  return kept;
}
