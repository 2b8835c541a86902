// The files this program lives by: its policy, its audit log and what else its parts keep. No tool touches them.
import type { Policy } from "../../policy/policy.js";
import { resolve } from "node:path";
import type { OwnFiles } from "./file-rules.js";
import { realPrefix } from "./root-folders.js";

/**
 * Folded paths, as they are named and as they really are, logs without the last extension: a log's other files
 * (`audit.1.jsonl`, `audit.lock`) begin like it.
 */
export async function ownFiles({ file, audit }: Policy, more: readonly string[]): Promise<OwnFiles> {
  const log = [audit.logFile, audit.checkpoints?.file].map((path) => path?.replace(/\.[^./\\]*$/, ""));
  const paths = [file, ...log, ...more].flatMap((path) => (path ? [resolve(path).replaceAll("\\", "/")] : []));
  const real = await Promise.all(paths.map(realPrefix));
  return [...new Set([...paths, ...real])].map((path) => path.normalize("NFC").toLowerCase());
}
