// Finds a text or a regular expression in lines, in time that grows with the line alone.

/** Where it begins in a line, counted from 0; -1 when it is not there. */
export type LineTest = (line: string) => number;

/** Characters of a line an expression is tried on: longer ones are no text for people. */
const TRIED_OF_LINE = 4_000;
/** Steps of a compiled expression: with the length of the line they say how long one try can hold everybody up (0.2 s). */
const MAX_STEPS = 1_000;

export function literalTest(query: string, caseSensitive: boolean): LineTest {
  if (caseSensitive) return (line) => line.indexOf(query);
  const lower = query.toLowerCase();
  return (line) => line.toLowerCase().indexOf(lower);
}

/** RE2: no backtracking, so no pattern takes long. A sentence about what is wrong with a pattern it does not know. */
export async function expressionTest(source: string, caseSensitive: boolean): Promise<LineTest | string> {
  const { RE2JS } = await import("re2js");
  try {
    const compiled = RE2JS.compile(source, caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
    if (compiled.programSize() > MAX_STEPS) return "it repeats too much; use smaller counts in {}";
    return (line) => {
      const matcher = compiled.matcher(line.slice(0, TRIED_OF_LINE));
      return matcher.find() ? matcher.start() : -1;
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
