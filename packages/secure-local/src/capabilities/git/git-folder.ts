// The files git keeps for one repository, each opened where it has to be: a link on the way, even to an allowed place,
// would show the content of another repository under the names of this one.
import { foldName } from "../files/fold-name.js";
import { FileError } from "../files/file-error.js";
import type { Files, OpenFile } from "../files/files.js";
import { join, namesOf } from "../files/plain-path.js";
import { GitError } from "./git-error.js";
import { MAX_REFS } from "./git-limits.js";
import type { GitWork } from "./git-work.js";

const ABSENT: ReadonlySet<string> = new Set(["not-found", "not-a-file", "not-a-folder"]);

export class GitFolder {
  /** The folder of the repository as the policy writes it: what its files are judged under. */
  readonly tree: string;
  readonly #path: string;
  readonly #files: Files;

  private constructor(files: Files, tree: string, path: string) {
    this.#files = files;
    this.tree = tree;
    this.#path = path;
  }

  /** @throws FileError for what the policy does not allow, GitError `no-repository` or `unsupported` */
  static async of(files: Files, given: string): Promise<GitFolder> {
    const { path: tree, kind } = await files.info(given);
    if (kind !== "folder") throw new GitError("no-repository", `"${given}" is a file.`);
    // Its files would be judged by names that are not theirs.
    if (namesOf(tree).some((name) => foldName(name) === ".git")) {
      throw new GitError("no-repository", `"${given}" lies in a folder of git's own; name the folder around it.`);
    }
    const inner = join(tree, ".git");
    const found = await present(files.info(inner));
    if (found?.kind === "file") {
      const why = "keeps its history elsewhere (a linked work tree or submodule)";
      throw new GitError("unsupported", `"${given}" ${why}; name the repository it belongs to.`);
    }
    const path = found === undefined ? tree : inner;
    if (found !== undefined && found.path !== inner) throw linked(given);
    const folder = new GitFolder(files, tree, path);
    const [head, objects] = [await present(files.info(join(path, "HEAD"))), await folder.#folderAt("objects")];
    if (head?.kind !== "file" || !objects) throw new GitError("no-repository", `"${given}" is no git repository.`);
    return folder;
  }

  /** Throws what reading a path of the work tree would throw for its words alone. */
  judge(path: string, op: "read" | "list"): Promise<void> {
    return this.#files.judge(path === "" ? this.tree : `${this.tree}/${path}`, op);
  }

  /** The content of one of git's files; undefined when there is none. */
  async read(name: string, maxBytes: number, work: GitWork): Promise<Uint8Array | undefined> {
    const file = await this.open(name);
    if (file === undefined) return undefined;
    try {
      if (file.size > maxBytes) throw new GitError("too-large", "A file of the repository is too long to be read.");
      return await readAt(file, { position: 0, length: file.size, work });
    } finally {
      file.close();
    }
  }

  /** Close it. */
  async open(name: string): Promise<OpenFile | undefined> {
    const path = `${this.#path}/${name}`;
    const file = await present(this.#files.open(path));
    if (file === undefined || file.path === path) return file;
    file.close();
    throw linked(this.tree);
  }

  /** Names in one of git's folders; none when there is no such folder. */
  async list(name: string): Promise<readonly string[]> {
    if (!(await this.#folderAt(name))) return [];
    const listing = await present(this.#files.list(`${this.#path}/${name}`));
    return (listing?.entries ?? []).map((entry) => entry.name);
  }

  /** Paths of all files below one of git's folders, from there. */
  async below(name: string, signal: AbortSignal | undefined): Promise<readonly string[]> {
    if (!(await this.#folderAt(name))) return [];
    const [above, found] = [`${this.#path}/${name}`, [] as string[]];
    const options = { maxEntries: MAX_REFS, ...(signal === undefined ? {} : { signal }) };
    for await (const { path, kind } of this.#files.walk(above, options)) {
      if (kind === "file" && path.startsWith(`${above}/`)) found.push(path.slice(above.length + 1));
    }
    return found;
  }

  async #folderAt(name: string): Promise<boolean> {
    const path = `${this.#path}/${name}`;
    const info = await present(this.#files.info(path));
    if (info !== undefined && info.path !== path) throw linked(this.tree);
    return info?.kind === "folder";
  }
}

/** Bytes of an open file, as many as there are up to `length`. */
export async function readAt(
  file: OpenFile,
  { position, length, work }: { readonly position: number; readonly length: number; readonly work: GitWork },
): Promise<Uint8Array> {
  work.take(length);
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const read = await file.read(bytes.subarray(filled), position + filled);
    if (read === 0) break;
    filled += read;
  }
  return bytes.subarray(0, filled);
}

async function present<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (error instanceof FileError && ABSENT.has(error.code)) return undefined;
    throw error;
  }
}

function linked(shown: string): GitError {
  return new GitError("unsupported", `"${shown}" has links in its .git folder; such a repository is not read.`);
}
