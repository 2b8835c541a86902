// Where the two searches look: one folder or all that are allowed, without what fills folders and is never meant.
import type { Files, FolderEntry } from "../../capabilities/files/files.js";

/** Copies of other people's work and git's own records, unless the search begins inside. */
const PASSED_OVER: ReadonlySet<string> = new Set([".git", "node_modules", ".hg", ".svn", "__pycache__", ".venv"]);

export const PASSED_OVER_WORDS: string = [...PASSED_OVER].join(", ");

/** An entry, and its path relative to the folder the search began in. */
export interface Visited {
  readonly entry: FolderEntry;
  readonly relative: string;
}

export async function* visit(files: Files, path: string | undefined, signal: AbortSignal): AsyncGenerator<Visited> {
  const folders = path === undefined ? await files.roots() : [(await files.info(path)).path];
  for (const folder of folders) {
    const start = folder.length + (folder.endsWith("/") ? 0 : 1);
    const enter = ({ name }: FolderEntry): boolean => !PASSED_OVER.has(name);
    for await (const entry of files.walk(folder, { enter, signal })) {
      yield { entry, relative: entry.path.slice(start) };
    }
  }
}
