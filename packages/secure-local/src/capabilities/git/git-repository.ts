// What a git repository held at one commit, read-only: without git, its configuration, hooks or any other program.
//
// Every path is judged as the file of that name in the work tree would be, so what a policy denies is denied in the past too.
import type { Files } from "../files/files.js";
import { damaged, GitError, GitFolder, GitRefs, GitWork, MAX_TAGS } from "./git-folder.js";
import { ObjectStore } from "./object-store.js";

export interface GitEntry {
  readonly name: string;
  readonly kind: TreeEntryKind;
}

export type GitContents =
  | { readonly kind: "file"; readonly bytes: Uint8Array }
  /** The allowed entries, in git's order. */
  | { readonly kind: "folder"; readonly entries: readonly GitEntry[]; readonly truncated: boolean };

export interface GitLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
}

/** @throws GitError and FileError from every method, and the signal's reason */
export class GitRepository {
  readonly #folder: GitFolder;
  readonly #refs: GitRefs;
  readonly #objects: ObjectStore;

  private constructor(folder: GitFolder, work: GitWork) {
    this.#folder = folder;
    this.#refs = new GitRefs(folder, work);
    this.#objects = new ObjectStore(folder, work);
  }

  /** The repository whose work tree a folder is, or a bare one. Good for one request. */
  static async open(files: Files, path: string, signal?: AbortSignal): Promise<GitRepository> {
    return new GitRepository(await GitFolder.of(files, path), new GitWork(signal));
  }

  /** HEAD, branches and tags. */
  refs(): Promise<readonly string[]> {
    return this.#refs.names();
  }

  /** A file or folder as it was at a branch, tag or commit. `path` has names and slashes only; empty is the top. */
  async contents(ref: string, path: string, { maxBytes, maxEntries }: GitLimits): Promise<GitContents> {
    await this.#mayAsk(path);
    const found = await this.#find(await this.#commitTree(ref), path.split("/").filter(Boolean));
    if (found.kind === "submodule") {
      throw new GitError("unsupported", `"${path}" is a submodule: what it holds is in a repository of its own.`);
    }
    await this.#folder.judge(path, found.kind === "folder" ? "list" : "read");
    if (found.kind === "folder") return this.#listing(found.id, path, maxEntries);
    return { kind: "file", bytes: await this.#objects.read(found.id, "blob", maxBytes) };
  }

  /** Refused before anything is looked at, so that the answer is the same whether there is such a file or not. */
  async #mayAsk(path: string): Promise<void> {
    try {
      await this.#folder.judge(path, "read");
    } catch {
      await this.#folder.judge(path, "list");
    }
  }

  /** Nothing but a commit is a beginning: a tree by its own name would have paths that are not its own. */
  async #commitTree(ref: string): Promise<string> {
    let id = await this.#refs.resolve(ref);
    for (let tags = 0; tags <= MAX_TAGS; tags += 1) {
      const { kind, bytes } = await this.#objects.any(id);
      if (kind === "commit") return treeOfCommit(bytes);
      if (kind !== "tag") throw new GitError("bad-ref", "That names no commit.");
      id = targetOfTag(bytes);
    }
    throw damaged("tags name one another without end");
  }

  async #find(tree: string, names: readonly string[]): Promise<Pick<TreeEntry, "kind" | "id">> {
    let at: Pick<TreeEntry, "kind" | "id"> = { kind: "folder", id: tree };
    for (const name of names) {
      const wanted = Buffer.from(name, "utf8");
      const entries = at.kind === "folder" ? await this.#entries(at.id) : [];
      let next: TreeEntry | undefined;
      for (const entry of entries) {
        if (!wanted.equals(entry.name)) continue;
        next = entry;
        break;
      }
      if (next === undefined) throw new GitError("not-found", "There is no such file or folder at that commit.");
      at = next;
    }
    return at;
  }

  async #entries(tree: string): Promise<Iterable<TreeEntry>> {
    return treeEntries(await this.#objects.read(tree, "tree"), tree.length);
  }

  async #listing(tree: string, path: string, maxEntries: number): Promise<GitContents> {
    const entries: GitEntry[] = [];
    let looked = 0;
    for (const { name: bytes, kind } of await this.#entries(tree)) {
      if (entries.length === maxEntries || looked === 10 * maxEntries)
        return { kind: "folder", entries, truncated: true };
      looked += 1;
      const name = new TextDecoder().decode(bytes);
      if (await this.#isAllowed(path === "" ? name : `${path}/${name}`, kind)) entries.push({ name, kind });
    }
    return { kind: "folder", entries, truncated: false };
  }

  async #isAllowed(path: string, kind: TreeEntryKind): Promise<boolean> {
    try {
      await this.#folder.judge(path, kind === "folder" || kind === "submodule" ? "list" : "read");
      return true;
    } catch {
      return false;
    }
  }
}

// Reads trees, commits and tags: what stands in them, and nothing that could lead out of the repository.

/** `link` is a symbolic link, whose content is where it leads; a `submodule` is a commit of another repository. */
export type TreeEntryKind = "file" | "folder" | "link" | "submodule";

export interface TreeEntry {
  readonly name: Uint8Array;
  readonly kind: TreeEntryKind;
  readonly id: string;
}

const SPACE = 0x20;
const MODES: Readonly<Record<string, TreeEntryKind>> = {
  "40000": "folder",
  "040000": "folder",
  "120000": "link",
  "160000": "submodule",
};

/** Names are bytes; ones with slashes, and `.` and `..`, are left out. `digits` is the length of an object's name. */
export function* treeEntries(bytes: Uint8Array, digits: number): Generator<TreeEntry> {
  const width = digits / 2;
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(SPACE, at);
    const end = bytes.indexOf(0, space + 1);
    const after = end + 1 + width;
    if (space < 0 || space - at > 6 || end < 0 || after > bytes.length) throw damaged("a folder has a broken entry");
    const mode = new TextDecoder("latin1").decode(bytes.subarray(at, space));
    const name = bytes.subarray(space + 1, end);
    const id = Buffer.from(bytes.subarray(end + 1, after)).toString("hex");
    at = after;
    if (isPlainName(name)) yield { name, kind: MODES[mode] ?? "file", id };
  }
}

function isPlainName(name: Uint8Array): boolean {
  const dots = name.length <= 2 && name.every((byte) => byte === 0x2e);
  return name.length > 0 && !dots && !name.includes(0x2f);
}

/** The tree a commit has. */
export function treeOfCommit(bytes: Uint8Array): string {
  return headerLine(bytes, /^tree ([0-9a-f]{40}|[0-9a-f]{64})$/);
}

/** What a tag that is an object of its own stands for. */
export function targetOfTag(bytes: Uint8Array): string {
  return headerLine(bytes, /^object ([0-9a-f]{40}|[0-9a-f]{64})$/);
}

function headerLine(bytes: Uint8Array, form: RegExp): string {
  const line = new TextDecoder("latin1").decode(bytes.subarray(0, Math.max(bytes.indexOf(0x0a), 0)));
  const id = form.exec(line)?.[1];
  if (id === undefined) throw damaged("a commit or tag has no proper beginning");
  return id;
}
