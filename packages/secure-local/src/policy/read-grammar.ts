// Reads what one argument of a command may be.
import type { ArgumentGrammar } from "./commands-policy.js";
import { oneOf, type Section, TEXT, type Wanted, wholeNumber } from "./section.js";

const KINDS = ["fixed", "enum", "pattern", "path", "integer"] as const;
/** Longer expressions are not read by people, and cost memory for each state. */
const MAX_PATTERN = 500;
const PATTERN: Wanted<string> = {
  words: `a regular expression of up to ${MAX_PATTERN} characters`,
  read: (value) => (typeof value === "string" && value !== "" && value.length <= MAX_PATTERN ? value : undefined),
};
const ACCESS = oneOf("read", "write");
const BOUND = wholeNumber(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

/** Exactly one of the kinds; everything else about the mapping is the caller's. */
export async function readGrammar(section: Section): Promise<ArgumentGrammar | undefined> {
  const given = KINDS.filter((kind) => section.tree(kind) !== undefined);
  const [kind, second] = given;
  if (kind === undefined || second !== undefined) {
    section.faults.add(section.place, `${section.path} needs exactly one of ${KINDS.join(", ")}`);
    return undefined;
  }
  if (kind === "pattern") return await readPattern(section);
  if (kind === "fixed") {
    const text = section.value("fixed", TEXT)?.value;
    return text === undefined ? undefined : { kind, text };
  }
  if (kind === "path") {
    const access = section.value("path", ACCESS)?.value;
    return access === undefined ? undefined : { kind, access };
  }
  if (kind === "integer") return readInteger(section);
  return { kind, values: (section.list("enum", TEXT) ?? []).map(({ value }) => value) };
}

function readInteger(section: Section): ArgumentGrammar | undefined {
  const [min, max, more] = section.list("integer", BOUND) ?? [];
  if (min && max && !more && min.value <= max.value) return { kind: "integer", min: min.value, max: max.value };
  section.faults.add(
    section.place,
    `${section.name("integer")} needs the lowest and the highest value, as in [1, 100]`,
  );
  return undefined;
}

async function readPattern(section: Section): Promise<ArgumentGrammar | undefined> {
  const source = section.value("pattern", PATTERN);
  if (!source) return undefined;
  // Only policies with such a pattern pay for loading the engine.
  const { RE2JS } = await import("re2js");
  try {
    const compiled = RE2JS.compile(source.value);
    return { kind: "pattern", source: source.value, fits: (text) => compiled.matches(text) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    section.faults.add(source.place, `${section.name("pattern")} is not an RE2 expression (${why}); correct it`);
    return undefined;
  }
}
