// The files this program lives by: its policy, its audit log, its secrets and what else its parts keep, which no tool touches;
// and its code, which no tool changes.
import { readFileSync, realpathSync } from "node:fs";
import type { Policy } from "../../policy/policy.js";
import { dirname, join, resolve } from "node:path";
import { realPrefix } from "./root-folders.js";

/** The program's own files: exactly these, what lies in them, and files beside them whose names begin the same. */
export type OwnFiles = readonly string[];

/**
 * Folded paths, as they are named and as they really are, logs without the last extension: a log's other files
 * (`audit.1.jsonl`, `audit.lock`) begin like it.
 */
export async function ownFiles({ file, audit, secrets }: Policy, more: readonly string[]): Promise<OwnFiles> {
  const log = [audit.logFile, audit.checkpoints?.file].map((path) => path?.replace(/\.[^./\\]*$/, ""));
  const kept = [...secrets.values()].map(({ from }) => (from.kind === "file" ? from.path : undefined));
  const paths = [file, ...log, ...kept, ...more].flatMap((path) => (path ? [slashed(resolve(path))] : []));
  const real = await Promise.all(paths.map(realPrefix));
  return [...new Set([...paths, ...real])].map(folded);
}

let program: OwnFiles | undefined;

/** The installed package, the file it was started by (a link in `node_modules/.bin`, say), and Node: folded, named and real. */
export function programFiles(): OwnFiles {
  if (program !== undefined) return program;
  const paths = [packageFolder(), process.argv[1], process.execPath].flatMap((path) => (path ? [resolve(path)] : []));
  program = [...new Set([...paths, ...paths.map(realOrSame)])].map((path) => folded(slashed(path)));
  return program;
}

/** As high as this file lies in its package, bundled or not. */
const LEVELS = 5;

/** The folder of the package this code belongs to; where there is none, the folder the code is in. */
function packageFolder(): string {
  let folder = import.meta.dirname;
  for (let level = 0; level < LEVELS; level += 1) {
    try {
      const { name } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly name?: unknown };
      if (name === "mcp-secure-local") return folder;
    } catch {
      // Not at this level.
    }
    folder = dirname(folder);
  }
  return import.meta.dirname;
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}

function folded(path: string): string {
  return path.normalize("NFC").toLowerCase();
}
