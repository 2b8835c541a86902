// Reads one object out of a pack, with the deltas it is made of.
import type { OpenFile } from "../files/files.js";
import { applyDelta } from "./delta.js";
import { damaged, GitError } from "./git-error.js";
import { readAt } from "./git-folder.js";
import { MAX_DELTAS, MAX_OBJECT_BYTES } from "./git-limits.js";
import { type GitObject, KIND_NUMBERS, type ObjectKind } from "./git-object.js";
import type { GitWork } from "./git-work.js";
import { inflateExactly, packedBound } from "./inflate.js";
import type { PackIndex } from "./pack-index.js";

const OFFSET_DELTA = 6;
const NAMED_DELTA = 7;
/** "PACK", a version and a count stand before the first object. */
const FIRST_AT = 12;
/** A size and an offset of ten bytes each, or a name of 32. */
const LONGEST_HEADER = 48;

export interface Pack {
  readonly file: OpenFile;
  readonly index: PackIndex;
  /** Bytes of an object's name. */
  readonly width: number;
}

interface Entry {
  readonly kind: ObjectKind | undefined;
  readonly size: number;
  /** Where in the pack the object is that a delta builds on. */
  readonly base: number | undefined;
  readonly dataAt: number;
}

/** @throws GitError `damaged`, `too-large` for more than `most` bytes */
export async function packedObject(
  pack: Pack,
  offset: number,
  { most, work }: { readonly most: number; readonly work: GitWork },
): Promise<GitObject> {
  const deltas: Uint8Array[] = [];
  for (let at = offset; ;) {
    const entry = await entryAt(pack, at, work);
    const limit = deltas.length === 0 && entry.base === undefined ? most : MAX_OBJECT_BYTES;
    if (entry.size > limit) throw new GitError("too-large", "What is asked for is too long.");
    const length = Math.min(packedBound(entry.size), Math.max(pack.file.size - entry.dataAt, 0));
    const packed = await readAt(pack.file, { position: entry.dataAt, length, work });
    const bytes = await inflateExactly(packed, entry.size, work);
    if (entry.kind !== undefined) return { kind: entry.kind, bytes: built(bytes, deltas, { most, work }) };
    if (deltas.length === MAX_DELTAS) throw new GitError("too-large", "What is asked for has too long a history.");
    deltas.push(bytes);
    at = entry.base ?? 0;
  }
}

function built(
  base: Uint8Array,
  deltas: readonly Uint8Array[],
  { most, work }: { readonly most: number; readonly work: GitWork },
): Uint8Array {
  let bytes = base;
  for (const [index, delta] of [...deltas.entries()].toReversed()) {
    bytes = applyDelta(bytes, delta, index === 0 ? most : MAX_OBJECT_BYTES);
    work.take(bytes.length);
  }
  return bytes;
}

async function entryAt(pack: Pack, at: number, work: GitWork): Promise<Entry> {
  if (at < FIRST_AT || at >= pack.file.size) throw damaged("an object lies outside its pack");
  const head = await readAt(pack.file, { position: at, length: LONGEST_HEADER, work });
  const { kind, size, next } = kindAndSize(head);
  const known = KIND_NUMBERS.get(kind);
  if (known !== undefined) return { kind: known, size, base: undefined, dataAt: at + next };
  if (kind === OFFSET_DELTA) {
    const back = backwards(head, next);
    // Always before it: so it comes to an end.
    if (back.distance < 1 || back.distance > at) throw damaged("a difference builds on nothing");
    return { kind: undefined, size, base: at - back.distance, dataAt: at + back.next };
  }
  if (kind !== NAMED_DELTA) throw damaged("a pack holds something unknown");
  const name = Buffer.from(head.subarray(next, next + pack.width)).toString("hex");
  const base = name.length === 2 * pack.width ? await pack.index.find(name) : undefined;
  if (base === undefined) throw damaged("a difference builds on nothing");
  return { kind: undefined, size, base, dataAt: at + next + pack.width };
}

/** Three bits of kind and four of size, then seven a byte while the highest is set. */
function kindAndSize(head: Uint8Array): { readonly kind: number; readonly size: number; readonly next: number } {
  let byte = head[0] ?? 0;
  const kind = (byte >> 4) & 7;
  let [size, scale, next] = [byte & 15, 16, 1];
  while (byte >= 0x80) {
    byte = head[next] ?? 0;
    size += (byte & 0x7f) * scale;
    if (size > Number.MAX_SAFE_INTEGER / 256) throw damaged("an object is longer than any");
    scale *= 128;
    next += 1;
  }
  return { kind, size, next };
}

/** The distance to the base: seven bits a byte, the highest first, and one more for each byte that goes on. */
function backwards(head: Uint8Array, from: number): { readonly distance: number; readonly next: number } {
  let next = from;
  let byte = head[next] ?? 0;
  let distance = byte & 0x7f;
  while (byte >= 0x80) {
    next += 1;
    byte = head[next] ?? 0;
    distance = (distance + 1) * 128 + (byte & 0x7f);
    if (distance > Number.MAX_SAFE_INTEGER / 256) throw damaged("a difference builds on nothing");
  }
  return { distance, next: next + 1 };
}
