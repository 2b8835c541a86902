// Unpacks zlib data of a known size: never more than was announced, and never less.
import { inflate as inflateByCallback } from "node:zlib";
import { promisify } from "node:util";
import { damaged, GitError } from "./git-error.js";
import type { GitWork } from "./git-work.js";

const inflateAsync = promisify(inflateByCallback);

/** Bytes that data of this size can take when it is packed: deflate adds five to each stored block. */
export function packedBound(size: number): number {
  return size + (size >>> 3) + 256;
}

/** What follows the packed data in `bytes` is left alone. @throws GitError `damaged`, `too-large` for the request's work */
export async function inflateExactly(bytes: Uint8Array, size: number, work: GitWork): Promise<Uint8Array> {
  const content = await inflateUpTo(bytes, size, work);
  if (content.length !== size) throw damaged("an object is shorter than it says");
  return content;
}

export async function inflateUpTo(bytes: Uint8Array, most: number, work: GitWork): Promise<Uint8Array> {
  const content = await inflateAsync(bytes, { maxOutputLength: Math.max(most, 1) }).catch((error: unknown) => {
    const over = (error as { readonly code?: string }).code === "ERR_BUFFER_TOO_LARGE";
    throw over ? new GitError("too-large", "What is asked for is too long.") : damaged("an object cannot be unpacked");
  });
  work.take(content.length);
  return content;
}
