// Finds objects by their names in one repository's own files; what it would borrow from others (alternates) is not looked for.
import { createHash } from "node:crypto";
import { damaged, GitError } from "./git-error.js";
import type { GitFolder } from "./git-folder.js";
import { MAX_OBJECT_BYTES, MAX_PACKS } from "./git-limits.js";
import type { GitObject, ObjectKind } from "./git-object.js";
import type { GitWork } from "./git-work.js";
import { looseObject } from "./loose-object.js";
import { PackIndex } from "./pack-index.js";
import { packedObject } from "./packed-object.js";

const INDEX_NAME = /^pack-[0-9a-f]{40,64}\.idx$/;

export class ObjectStore {
  readonly #folder: GitFolder;
  readonly #work: GitWork;
  #packs: Promise<readonly string[]> | undefined;

  constructor(folder: GitFolder, work: GitWork) {
    this.#folder = folder;
    this.#work = work;
  }

  /** The object of that name if it has that kind. @throws GitError `not-found`, `damaged`, `too-large`, `unsupported` */
  async read(id: string, kind: ObjectKind, most: number = MAX_OBJECT_BYTES): Promise<Uint8Array> {
    const object = await this.any(id, most);
    if (object.kind !== kind) throw damaged(`a ${kind} is a ${object.kind}`);
    return object.bytes;
  }

  async any(id: string, most: number = MAX_OBJECT_BYTES): Promise<GitObject> {
    const limits = { most, work: this.#work };
    const object = (await looseObject(this.#folder, id, limits)) ?? (await this.#packed(id, limits));
    if (object === undefined) {
      const why = "it may be of a shallow or partial copy, or borrow from another repository";
      throw new GitError("not-found", `The repository itself does not have what is asked for: ${why}.`);
    }
    if (nameOf(object, id.length) !== id) throw damaged("an object is not what its name says");
    return object;
  }

  async #packed(id: string, limits: { readonly most: number; readonly work: GitWork }) {
    for (const name of await (this.#packs ??= this.#packNames())) {
      const file = await this.#folder.open(`objects/pack/${name}.idx`);
      if (file === undefined) continue;
      try {
        const index = new PackIndex(file, this.#work);
        const offset = await index.find(id);
        if (offset !== undefined) return await this.#fromPack(name, { index, offset, id }, limits);
      } finally {
        file.close();
      }
    }
    return undefined;
  }

  async #fromPack(
    name: string,
    { index, offset, id }: { readonly index: PackIndex; readonly offset: number; readonly id: string },
    limits: { readonly most: number; readonly work: GitWork },
  ): Promise<GitObject> {
    const file = await this.#folder.open(`objects/pack/${name}.pack`);
    if (file === undefined) throw damaged("a pack is missing");
    try {
      return await packedObject({ file, index, width: id.length / 2 }, offset, limits);
    } finally {
      file.close();
    }
  }

  async #packNames(): Promise<readonly string[]> {
    const names = (await this.#folder.list("objects/pack")).filter((name) => INDEX_NAME.test(name));
    if (names.length > MAX_PACKS) throw new GitError("too-large", "The repository has too many packs; run git gc.");
    return names.map((name) => name.slice(0, -".idx".length));
  }
}

/** The hash git names an object by: SHA-1, or SHA-256 where names are longer. */
function nameOf({ kind, bytes }: GitObject, digits: number): string {
  const hash = createHash(digits === 40 ? "sha1" : "sha256");
  return hash.update(`${kind} ${bytes.length}\0`).update(bytes).digest("hex");
}
