// The files git keeps for one repository, each opened where it has to be: a link on the way, even to an allowed place,
// would show the content of another repository under the names of this one.
import { FileError, type Files, type OpenFile } from "../files/files.js";
import { join, namesOf } from "../files/plain-path.js";
import { foldName } from "../files/protection-of.js";

// The error of reading from a git repository: what was wrong with it, in a sentence fit for the model and the user.

/** Why nothing was read. */
type GitFailure =
  /** The folder is no repository, or one whose parts lie elsewhere. */
  | "no-repository"
  | "bad-ref"
  /** There is no such ref, commit, file or folder. */
  | "not-found"
  /** What the repository holds does not fit together. */
  | "damaged"
  | "too-large"
  /** A form of repository that is not read here. */
  | "unsupported";

/** `message` names nothing but what the caller named. */
export class GitError extends Error {
  readonly code: GitFailure;

  constructor(code: GitFailure, message: string) {
    super(message);
    this.name = "GitError";
    this.code = code;
  }
}

export function damaged(what: string): GitError {
  return new GitError("damaged", `The repository is damaged, or no repository: ${what}.`);
}

// How much one look into a git repository may take.

/** Bytes of one object, unpacked: what a file tool reads at once. */
export const MAX_OBJECT_BYTES: number = 8 * 1024 * 1024;
/** Bytes read and unpacked for one request: enough for a long chain of deltas, and the memory of a call stays small. */
const MAX_WORK_BYTES: number = 64 * 1024 * 1024;
/** Deltas upon one object. git makes 50, and 250 when asked to be thorough. */
export const MAX_DELTAS = 256;
/** Packs looked into; git repacks by itself at 50. */
export const MAX_PACKS = 256;
/** Symbolic refs that lead to one another, as in git. */
const MAX_REF_STEPS = 5;
/** Bytes of one loose ref. */
const MAX_REF_BYTES = 4_096;
/** Refs that are listed. */
const MAX_REFS = 10_000;
/** Tags around one commit: a tag may name a tag. */
export const MAX_TAGS = 8;

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

// Finds what a name of a branch, tag or commit stands for, and lists the names there are.

const KINDS: readonly string[] = ["heads", "tags", "remotes"];

export class GitRefs {
  readonly #folder: GitFolder;
  readonly #work: GitWork;
  #packed: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(folder: GitFolder, work: GitWork) {
    this.#folder = folder;
    this.#work = work;
  }

  /** The object a name stands for. @throws GitError `bad-ref`, `not-found` */
  async resolve(name: string): Promise<string> {
    if (isObjectId(name)) return name;
    if (!isRefName(name)) {
      throw new GitError("bad-ref", "That is no name of a branch or tag, and no whole commit hash.");
    }
    for (const candidate of refCandidates(name)) {
      const id = await this.#follow(candidate, MAX_REF_STEPS);
      if (id !== undefined) return id;
    }
    throw new GitError("not-found", "The repository has no such branch, tag or commit.");
  }

  /** HEAD, branches, tags and branches of remotes, by the shortest name that `resolve` takes for them. */
  async names(): Promise<readonly string[]> {
    const known = new Set<string>((await this.#packedRefs()).keys());
    for (const kind of KINDS) {
      for (const name of await this.#folder.below(`refs/${kind}`, this.#work.signal)) {
        if (known.size < MAX_REFS && isRefName(name)) known.add(`refs/${kind}/${name}`);
      }
    }
    const short = [...known].map((name) => name.replace(/^refs\/(?:heads|tags|remotes)\//, ""));
    return ["HEAD", ...[...new Set(short)].toSorted()];
  }

  async #follow(name: string, steps: number): Promise<string | undefined> {
    const bytes = await this.#folder.read(name, MAX_REF_BYTES, this.#work);
    if (bytes === undefined) return (await this.#packedRefs()).get(name);
    const text = new TextDecoder().decode(bytes).trimEnd();
    if (isObjectId(text)) return text;
    const target = /^ref:\s*(refs\/\S+)$/.exec(text)?.[1];
    if (target === undefined || !isRefName(target) || steps === 0) return undefined;
    return this.#follow(target, steps - 1);
  }

  #packedRefs(): Promise<ReadonlyMap<string, string>> {
    return (this.#packed ??= this.#readPacked());
  }

  async #readPacked(): Promise<ReadonlyMap<string, string>> {
    const bytes = await this.#folder.read("packed-refs", MAX_OBJECT_BYTES, this.#work);
    const refs = new Map<string, string>();
    if (bytes === undefined) return refs;
    for (const line of new TextDecoder().decode(bytes).split("\n")) {
      const [, id = "", name = ""] = /^([0-9a-f]+) (refs\/\S+)$/.exec(line) ?? [];
      if (isObjectId(id) && isRefName(name)) refs.set(name, id);
    }
    return refs;
  }
}

// What one request has read and unpacked so far: ends it at its limit, or when it is cancelled.

export class GitWork {
  readonly signal: AbortSignal | undefined;
  #left = MAX_WORK_BYTES;

  constructor(signal?: AbortSignal) {
    this.signal = signal;
  }

  /** Counts bytes before they are read or unpacked. @throws GitError `too-large`, the signal's reason */
  take(bytes: number): void {
    this.signal?.throwIfAborted();
    this.#left -= bytes;
    if (this.#left < 0) throw new GitError("too-large", "Reading this from the repository takes too much memory.");
  }
}

// Which names of branches, tags and commits are well formed, and what they may stand for.

/** As git's own rule (git-check-ref-format), and no longer than a path's name may be. */
const LONGEST = 250;
const FORBIDDEN = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$|(?:^|\/)\.|\.lock(?:\/|$)|^@$/;
const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The whole name of a commit or other object: SHA-1 or SHA-256 in hexadecimal digits. */
function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

function isRefName(text: string): boolean {
  return text.length > 0 && text.length <= LONGEST && !FORBIDDEN.test(text);
}

/** Where git looks for what a short name means, in its order. */
function refCandidates(name: string): readonly string[] {
  if (name === "HEAD") return [name];
  const full = name.startsWith("refs/") ? [name] : [];
  return [...full, `refs/tags/${name}`, `refs/heads/${name}`, `refs/remotes/${name}`, `refs/remotes/${name}/HEAD`];
}

// Reads `git:` URIs: which repository, which branch, tag or commit, and which path in it.

export interface GitAddress {
  /** Absolute path of the repository's folder. */
  readonly repository: string;
  readonly ref: string;
  /** Names and slashes; empty is the top folder. */
  readonly path: string;
}

const LONGEST_VALUE = 4_096;
const MEMBERS: ReadonlySet<string> = new Set(["ref", "path"]);

export function isGitUri(uri: string): boolean {
  return /^git:/i.test(uri);
}

/**
 * Without `ref` HEAD is meant, without `path` the top folder.
 * @throws FileError `bad-path` for other machines, fragments, unknown or repeated members, dot segments and bad encodings
 */
export function gitAddress(uri: string): GitAddress {
  const wrong = (why: string): FileError => new FileError("bad-path", `${JSON.stringify(uri.slice(0, 200))} ${why}.`);
  const [, place, query = ""] = /^git:\/\/(\/[^?#]*)(?:\?([^#]*))?$/i.exec(uri) ?? [];
  if (place === undefined) throw wrong("is no URI of a local repository; such a one begins with git:///");
  const members = new Map<string, string>();
  for (const member of query.split("&").filter(Boolean)) {
    const equals = member.indexOf("=");
    const name = member.slice(0, equals);
    if (equals < 0 || !MEMBERS.has(name) || members.has(name))
      throw wrong("may have a ref and a path once each, and nothing else");
    members.set(name, decoded(member.slice(equals + 1), wrong));
  }
  const repository = place.split("/").map((name) => decoded(name, wrong));
  if (repository.some((name) => isDots(name) || name.includes("/"))) throw wrong("has dot segments or encoded slashes");
  const path = (members.get("path") ?? "").replace(/\/$/, "");
  if (path !== "" && path.split("/").some((name) => name === "" || isDots(name))) {
    throw wrong(
      "has a path with empty names or dot segments; write it from the top folder on, without a slash before it",
    );
  }
  return { repository: drive(repository.join("/")), ref: members.get("ref") || "HEAD", path };
}

function decoded(text: string, wrong: (why: string) => FileError): string {
  if (text.length > LONGEST_VALUE) throw wrong("is too long");
  let value: string;
  try {
    value = decodeURIComponent(text);
  } catch {
    throw wrong("is not well encoded");
  }
  if (value.includes("\0") || value.includes("\\")) throw wrong("has a NUL or a backslash");
  return value;
}

function isDots(name: string): boolean {
  return name === "." || name === "..";
}

function drive(path: string): string {
  return process.platform === "win32" ? path.replace(/^\/(?=[A-Za-z]:)/, "") : path;
}
