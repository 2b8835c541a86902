// Finds the files of the goals: one a goal, or a few that belong together, in scorecard/cases.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../cases/", import.meta.url));

/** Paths of the case files in order; `wanted` are beginnings of their names, none means all. */
export function goalsOf(wanted) {
  const files = readdirSync(folder)
    .filter((name) => /^t\d\d-[\w-]+\.mjs$/.test(name))
    .sort();
  const chosen = files.filter((name) => wanted.length === 0 || wanted.some((one) => name.startsWith(one)));
  return chosen.map((name) => folder + name);
}
