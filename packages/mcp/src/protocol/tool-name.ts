// Checks the names of tools.

/** 2025-11-25, server/tools: more would not fit the tables of many clients. */
const MAX_LENGTH = 128;
const FORBIDDEN = /[^A-Za-z0-9_.-]/u;

/** Says in one sentence what is wrong with a tool's name, or returns undefined. */
export function toolNameFault(name: unknown): string | undefined {
  if (typeof name !== "string") return "A tool's name must be a string";
  if (name === "") return "A tool's name must not be empty";
  if (name.length > MAX_LENGTH) {
    return `A tool's name may have ${MAX_LENGTH} characters, "${name.slice(0, 32)}…" has ${name.length}`;
  }
  const bad = FORBIDDEN.exec(name);
  if (bad === null) return undefined;
  const where = `character ${bad.index + 1} of ${JSON.stringify(name)} is ${JSON.stringify(bad[0])}`;
  return `A tool's name may hold letters of A to Z, digits, "_", "." and "-"; ${where}`;
}
