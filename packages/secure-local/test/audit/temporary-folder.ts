// A folder that is removed after the test it is made in.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * Asked for within a test: a hook of this module would serve only the first of the files that share a worker. Elsewhere
 * `atEnd` is given what removes it.
 */
export function temporaryFolder(atEnd: (remove: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), "secure-local-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
