// Reads the value of a secret from where the policy says it is.
import { open } from "node:fs/promises";
import type { SecretPolicy } from "../policy/data-policy.js";

/** A key or a token; a file of any other size is something else. */
const MAX_BYTES = 64 * 1024;

/** Without the white space around it, which files end with. Undefined where there is none. */
export async function secretValue(
  from: SecretPolicy["from"],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const value = from.kind === "env" ? environment[from.name] : await textOf(from.path);
  return value?.trim() || undefined;
}

async function textOf(path: string): Promise<string | undefined> {
  const file = await open(path, "r").catch(() => undefined);
  try {
    const stats = await file?.stat();
    return stats?.isFile() && stats.size <= MAX_BYTES ? await file?.readFile("utf8") : undefined;
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
