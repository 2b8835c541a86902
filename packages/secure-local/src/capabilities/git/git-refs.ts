// Finds what a name of a branch, tag or commit stands for, and lists the names there are.
import { GitError } from "./git-error.js";
import type { GitFolder } from "./git-folder.js";
import { MAX_OBJECT_BYTES, MAX_REF_BYTES, MAX_REF_STEPS, MAX_REFS } from "./git-limits.js";
import type { GitWork } from "./git-work.js";
import { isObjectId, isRefName, refCandidates } from "./ref-name.js";

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
