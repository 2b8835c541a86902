// Makes folders with those above them, and ends where a file system refuses without saying so.
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes the folder for its owner only, those above it too where they are missing. Node's own `recursive` tries for ever below
 * `/proc`, which says of every new name that the folder above is missing. Rejects with the file system's error.
 */
export async function makeFolder(path: string): Promise<void> {
  const fault = await made(path);
  if (fault === undefined) return;
  const above = dirname(path);
  if (fault.code !== "ENOENT" || above === path) throw fault;
  await makeFolder(above);
  const again = await made(path);
  if (again !== undefined) throw again;
}

/** Undefined when the folder is there now. */
async function made(path: string): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await mkdir(path, { mode: 0o700 });
    return undefined;
  } catch (error) {
    const isThere = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    return isThere ? undefined : (error as NodeJS.ErrnoException);
  }
}
