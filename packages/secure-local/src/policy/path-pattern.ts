// Matches absolute paths against glob patterns in time that grows with pattern times path, whatever they are.
//
// `*` and `?` stay inside one segment; `**` alone as a segment stands for any number of segments, none included.

const UNSUPPORTED = /[[\]{}!\\]/;

/** Undefined when the pattern can be used; otherwise a sentence about what is wrong with it. */
export function pathPatternFault(pattern: string): string | undefined {
  if (pattern.includes("\0")) return "a path cannot hold a NUL character";
  if (!isAbsolutePattern(pattern)) return `"${pattern}" is not absolute; begin it with /, ~/, \${HOME}/ or **/`;
  if (UNSUPPORTED.test(pattern)) return `"${pattern}" has a character that patterns do not know; use *, ** and ? only`;
  for (const segment of segments(pattern)) {
    if (segment === "." || segment === "..")
      return `"${pattern}" has the segment "${segment}"; write the path without it`;
    if (segment.length > 2 && segment.includes("**"))
      return `"${pattern}" has ** inside a name; ** must stand alone between slashes`;
  }
  return undefined;
}

export function segments(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

/** Whether the segments of a path fit the segments of a pattern. */
export function matchSegments(pattern: readonly string[], path: readonly string[]): boolean {
  const last = pattern.length - 1;
  // Most patterns fail at the name of the file, so that is looked at before anything else.
  if (last >= 0 && pattern[last] !== "**" && !matchName(pattern[last]!, path[path.length - 1] ?? "")) return false;
  let [p, s, star, mark] = [0, 0, -1, 0];
  while (s < path.length) {
    if (pattern[p] === "**") [star, mark] = [p++, s];
    else if (p < pattern.length && matchName(pattern[p]!, path[s]!)) [p, s] = [p + 1, s + 1];
    else if (star >= 0) [p, s] = [star + 1, ++mark];
    else return false;
  }
  while (pattern[p] === "**") p++;
  return p === pattern.length;
}

/** Whether a name fits a pattern of one segment. */
function matchName(pattern: string, name: string): boolean {
  let [p, s, star, mark] = [0, 0, -1, 0];
  while (s < name.length) {
    const wanted = pattern[p];
    if (wanted === "*") [star, mark] = [p++, s];
    else if (wanted === "?" || wanted === name[s]) [p, s] = [p + 1, s + 1];
    else if (star >= 0) [p, s] = [star + 1, ++mark];
    else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

function isAbsolutePattern(pattern: string): boolean {
  return pattern.startsWith("/") || pattern.startsWith("**/") || /^[A-Za-z]:\//.test(pattern);
}
