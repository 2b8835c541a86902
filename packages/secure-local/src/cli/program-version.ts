// Finds the version of this program in its package.json, the only place where it is written.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Folders between this file and the package: one in the shipped bundle, two in the sources. */
const LEVELS = ["../package.json", "../../package.json"];

export function programVersion(): string {
  for (const level of LEVELS) {
    try {
      const text = readFileSync(join(import.meta.dirname, level), "utf8");
      const { name, version } = JSON.parse(text) as Record<string, string>;
      if (name === "mcp-secure-local" && version !== undefined) return version;
    } catch {
      // Not at this level.
    }
  }
  throw new Error("The package.json of mcp-secure-local is missing: install the package again");
}
