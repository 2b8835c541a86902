// Reads objects that git keeps in a file each.
import { damaged, GitError } from "./git-error.js";
import type { GitFolder } from "./git-folder.js";
import type { GitObject, ObjectKind } from "./git-object.js";
import type { GitWork } from "./git-work.js";
import { inflateUpTo, packedBound } from "./inflate.js";

/** The kind, a space, the size in digits and a NUL. */
const LONGEST_HEADER = 32;
const HEADER = /^(commit|tree|blob|tag) (0|[1-9]\d{0,14})$/;

/** Undefined when there is no such file. @throws GitError `damaged`, `too-large` */
export async function looseObject(
  folder: GitFolder,
  id: string,
  { most, work }: { readonly most: number; readonly work: GitWork },
): Promise<GitObject | undefined> {
  const packed = await folder.read(`objects/${id.slice(0, 2)}/${id.slice(2)}`, packedBound(most), work);
  if (packed === undefined) return undefined;
  const all = await inflateUpTo(packed, most + LONGEST_HEADER, work);
  const end = all.subarray(0, LONGEST_HEADER).indexOf(0);
  const [, kind, size] = HEADER.exec(new TextDecoder("latin1").decode(all.subarray(0, Math.max(end, 0)))) ?? [];
  if (kind === undefined) throw damaged("an object has no proper beginning");
  const bytes = all.subarray(end + 1);
  if (bytes.length !== Number(size)) throw damaged("an object has not the size it says");
  if (bytes.length > most) throw new GitError("too-large", "What is asked for is too long.");
  return { kind: kind as ObjectKind, bytes };
}
