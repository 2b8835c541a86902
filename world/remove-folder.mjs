// Removes folders in which programs of others were started.
import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** Half a minute: a busy machine ends what was killed late. */
const REMOVALS = 600;

/**
 * Removes a folder that programs were started in. What they started ends a moment after them and may write until then, which
 * Node's own `maxRetries` does not see: it lists a folder once. A folder that cannot be removed is named and left: what the
 * programs answered counts.
 */
export async function removeFolder(folder) {
  for (let tries = 1; ; tries += 1)
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (tries === REMOVALS) {
        console.error(`${folder} is left: ${error.message}`);
        return;
      }
      await pause(50);
    }
}
