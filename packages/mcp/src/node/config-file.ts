// Reads the files a configuration of servers is made of: itself, and the variables beside it.
import { open } from "node:fs/promises";
import { parseEnv } from "node:util";
import { LocalError } from "../jsonrpc/local-error.js";

/** Configurations have a few kilobytes; what is larger is another file. */
const MOST_BYTES = 4_000_000;

/** The text of a file. Rejects with `CONFIG_FILE`, which says the path and why. */
export async function readConfigFile(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      if (size > MOST_BYTES) throw new Error(`it has ${size} bytes, more than ${MOST_BYTES}`);
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new LocalError("CONFIG_FILE", `${path} could not be read: ${(error as Error).message}`, { cause: error });
  }
}

/** The variables of a file of `NAME=value` lines. Rejects with `CONFIG_FILE`. */
export async function readEnvFile(path: string): Promise<Record<string, string>> {
  const parsed = parseEnv(await readConfigFile(path));
  return Object.fromEntries(
    Object.entries(parsed).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
