// Completes paths as far as the policy and the client's roots let them be seen.
import { type CompletionReturn, type Context, LocalError } from "@secure-local/mcp/server";
import { FileError } from "../capabilities/files/file-error.js";
import type { Files } from "../capabilities/files/files.js";

/** As many as one answer to a completion holds. */
const COMPLETIONS = 100;

/** Where a client cannot be asked for its roots, the policy alone says what is offered: these are names, and no files. */
export async function completing<T>(
  files: (ctx?: Context) => Files,
  context: Context,
  complete: (files: Files) => Promise<T>,
): Promise<T> {
  try {
    return await complete(files(context));
  } catch (error) {
    if (!(error instanceof LocalError) || error.code !== "CANNOT_ASK") throw error;
    return complete(files());
  }
}

/** What can stand at the end of the typed path: entries of the folder typed so far, or the way to the allowed folders. */
export async function completePath(files: Files, typed: string): Promise<CompletionReturn> {
  return offered(typed, (above) => namesIn(files, `/${above}`));
}

/** The same, but folders only. */
export async function completeFolder(files: Files, typed: string): Promise<CompletionReturn> {
  return offered(typed, async (above) => (await namesIn(files, `/${above}`)).filter((name) => name.endsWith("/")));
}

/** Those names that begin as typed, behind the folder typed so far; none where it may not be looked into. */
export async function offered(
  typed: string,
  namesOf: (above: string) => Promise<readonly string[]>,
): Promise<CompletionReturn> {
  const slash = typed.lastIndexOf("/");
  const [above, begun] = [typed.slice(0, slash + 1), typed.slice(slash + 1).toLowerCase()];
  const names = await namesOf(above).catch((error: unknown) => {
    if (error instanceof FileError) return [];
    throw error;
  });
  return firstOf(names.filter((name) => name.toLowerCase().startsWith(begun)).map((name) => above + name));
}

export function firstOf(values: readonly string[]): CompletionReturn {
  return { values: values.slice(0, COMPLETIONS), total: values.length };
}

async function namesIn(files: Files, folder: string): Promise<string[]> {
  const roots = await files.roots();
  const ways = roots.filter((root) => root.startsWith(folder) && root !== folder);
  if (ways.length > 0) return [...new Set(ways.map((root) => nextName(root.slice(folder.length))))];
  const { entries } = await files.list(folder);
  return entries.map(({ name, kind }) => (kind === "folder" ? `${name}/` : name));
}

function nextName(way: string): string {
  const [first = ""] = way.split("/");
  return `${first}/`;
}
