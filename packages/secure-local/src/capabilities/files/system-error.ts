// Puts the system's errors into words that fit for the model: what happened to the path that was asked for.
import { FileError } from "./file-error.js";

const WORDS: Readonly<Record<string, readonly [FileError["code"], string]>> = {
  ENOENT: ["not-found", "does not exist"],
  ENOTDIR: ["not-found", "does not exist: a part of its path is no folder"],
  ELOOP: ["not-found", "does not exist: its links go round in circles"],
  ENAMETOOLONG: ["bad-path", "has a name that is too long"],
  EINVAL: ["bad-path", "is no path this system knows"],
  EACCES: ["system", "may not be touched by this program: the system denies it"],
  EPERM: ["system", "may not be touched by this program: the system denies it"],
  EROFS: ["system", "is on a disk that cannot be written"],
  ENOSPC: ["system", "was not written: the disk is full. Free space and try again"],
  EDQUOT: ["system", "was not written: the disk quota is used up. Free space and try again"],
  EFBIG: ["too-large", "is larger than this system allows"],
  EMFILE: ["system", "was not opened: too many files are open. Try again in a moment"],
  ENFILE: ["system", "was not opened: too many files are open. Try again in a moment"],
  EEXIST: ["exists", "exists already"],
  EISDIR: ["not-a-file", "is a folder"],
  ENOTEMPTY: ["exists", "is a folder that is not empty"],
  ENXIO: ["not-a-file", "is no regular file"],
};

/** The error as a FileError about `shown`, the path as the caller gave it. Other errors (aborts, faults of ours) pass. */
export function fileErrorOf(error: unknown, shown: string): unknown {
  if (error instanceof FileError) return error.message === "" ? notFound(shown) : error;
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  if (typeof code !== "string" || !/^E[A-Z]+$/.test(code)) return error;
  const [kind, words] = WORDS[code] ?? ["system", `could not be used (${code})`];
  return new FileError(kind, `"${shown}" ${words}.`);
}

export function notFound(shown: string): FileError {
  return new FileError("not-found", `"${shown}" does not exist.`);
}
