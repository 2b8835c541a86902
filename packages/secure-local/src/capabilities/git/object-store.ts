// Finds objects by their names in one repository's own files; what it would borrow from others (alternates) is not looked for.
import { createHash } from "node:crypto";
import { inflate as inflateByCallback } from "node:zlib";
import { promisify } from "node:util";
import {
  damaged,
  GitError,
  type GitFolder,
  type GitWork,
  MAX_DELTAS,
  MAX_OBJECT_BYTES,
  MAX_PACKS,
  readAt,
} from "./git-folder.js";
import type { OpenFile } from "../files/files.js";

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

// Applies one delta of a pack: copies pieces of what it builds on, and inserts new ones.

const broken = (): GitError => damaged("a difference between two objects makes no sense");

/** A copy without a length is of this many bytes. */
const DEFAULT_COPY = 0x10000;

/** @throws GitError `damaged`; `too-large` for a result of more than `most` bytes */
function applyDelta(base: Uint8Array, delta: Uint8Array, most: number): Uint8Array {
  const reader = new DeltaReader(delta);
  if (reader.size() !== base.length) throw broken();
  const size = reader.size();
  if (size > most) throw new GitError("too-large", "What is asked for is too long.");
  const result = new Uint8Array(size);
  let filled = 0;
  while (!reader.atEnd) {
    const piece = reader.piece(base);
    if (piece.length > size - filled) throw broken();
    result.set(piece, filled);
    filled += piece.length;
  }
  if (filled !== size) throw broken();
  return result;
}

class DeltaReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Seven bits a byte, the lowest first. */
  size(): number {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = this.#next();
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER / 256) throw broken();
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  /** What the next instruction adds. */
  piece(base: Uint8Array): Uint8Array {
    const code = this.#next();
    if (code === 0) throw broken();
    if (code < 0x80) {
      const end = this.#at + code;
      if (end > this.#bytes.length) throw broken();
      const piece = this.#bytes.subarray(this.#at, end);
      this.#at = end;
      return piece;
    }
    const offset = this.#number(code, 0, 4);
    const length = this.#number(code, 4, 3) || DEFAULT_COPY;
    if (offset + length > base.length) throw broken();
    return base.subarray(offset, offset + length);
  }

  /** A number of which only the bytes are there whose bits are set in `code`. */
  #number(code: number, firstBit: number, bytes: number): number {
    let value = 0;
    for (let index = 0; index < bytes; index += 1) {
      if ((code & (1 << (firstBit + index))) !== 0) value += this.#next() * 2 ** (8 * index);
    }
    return value;
  }

  #next(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw broken();
    this.#at += 1;
    return byte;
  }
}

// One object of a git repository: its kind and its content.

type ObjectKind = "commit" | "tree" | "blob" | "tag";

interface GitObject {
  readonly kind: ObjectKind;
  readonly bytes: Uint8Array;
}

/** By the number they have in packs. */
const KIND_NUMBERS: ReadonlyMap<number, ObjectKind> = new Map([
  [1, "commit"],
  [2, "tree"],
  [3, "blob"],
  [4, "tag"],
]);

// Unpacks zlib data of a known size: never more than was announced, and never less.

const inflateAsync = promisify(inflateByCallback);

/** Bytes that data of this size can take when it is packed: deflate adds five to each stored block. */
function packedBound(size: number): number {
  return size + (size >>> 3) + 256;
}

/** What follows the packed data in `bytes` is left alone. @throws GitError `damaged`, `too-large` for the request's work */
async function inflateExactly(bytes: Uint8Array, size: number, work: GitWork): Promise<Uint8Array> {
  const content = await inflateUpTo(bytes, size, work);
  if (content.length !== size) throw damaged("an object is shorter than it says");
  return content;
}

async function inflateUpTo(bytes: Uint8Array, most: number, work: GitWork): Promise<Uint8Array> {
  const content = await inflateAsync(bytes, { maxOutputLength: Math.max(most, 1) }).catch((error: unknown) => {
    const over = (error as { readonly code?: string }).code === "ERR_BUFFER_TOO_LARGE";
    throw over ? new GitError("too-large", "What is asked for is too long.") : damaged("an object cannot be unpacked");
  });
  work.take(content.length);
  return content;
}

// Reads objects that git keeps in a file each.

/** The kind, a space, the size in digits and a NUL. */
const LONGEST_HEADER = 32;
const HEADER = /^(commit|tree|blob|tag) (0|[1-9]\d{0,14})$/;

/** Undefined when there is no such file. @throws GitError `damaged`, `too-large` */
async function looseObject(
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

// Finds where in a pack an object is, by its index of version 2, of which only the few bytes needed are read.

const MAGIC = 0xff744f63;
const FANOUT_AT = 8;
const NAMES_AT = FANOUT_AT + 256 * 4;
/** Set in an offset that is no offset but a place in the table of long ones. */
const LONG = 0x80000000;

class PackIndex {
  readonly #file: OpenFile;
  readonly #work: GitWork;

  constructor(file: OpenFile, work: GitWork) {
    this.#file = file;
    this.#work = work;
  }

  /** The place of an object in the pack, undefined when it is not in it. @throws GitError `damaged`, `unsupported` */
  async find(id: string): Promise<number | undefined> {
    const wanted = Buffer.from(id, "hex");
    const head = await this.#bytes(0, NAMES_AT);
    if (head.readUInt32BE(0) !== MAGIC || head.readUInt32BE(4) !== 2) {
      throw new GitError("unsupported", "A pack of the repository has an index of an old form; run git gc.");
    }
    const first = wanted[0] ?? 0;
    const from = first === 0 ? 0 : head.readUInt32BE(FANOUT_AT + (first - 1) * 4);
    const to = head.readUInt32BE(FANOUT_AT + first * 4);
    const count = head.readUInt32BE(NAMES_AT - 4);
    // One name, one check sum and one offset for each object, and two hashes at the end.
    if (from > to || to > count || this.#file.size < NAMES_AT + count * (wanted.length + 8) + 2 * wanted.length) {
      throw damaged("the index of a pack is too short");
    }
    const place = await this.#search(wanted, from, to);
    return place === undefined ? undefined : this.#offset(place, count, wanted.length);
  }

  async #search(wanted: Buffer, from: number, to: number): Promise<number | undefined> {
    let [low, high] = [from, to];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const order = wanted.compare(await this.#bytes(NAMES_AT + middle * wanted.length, wanted.length));
      if (order === 0) return middle;
      if (order < 0) high = middle;
      else low = middle + 1;
    }
    return undefined;
  }

  async #offset(place: number, count: number, width: number): Promise<number> {
    const offsetsAt = NAMES_AT + count * (width + 4);
    const offset = (await this.#bytes(offsetsAt + place * 4, 4)).readUInt32BE(0);
    if (offset < LONG) return offset;
    const long = (await this.#bytes(offsetsAt + count * 4 + (offset - LONG) * 8, 8)).readBigUInt64BE(0);
    if (long > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged("the index of a pack leads nowhere");
    return Number(long);
  }

  async #bytes(position: number, length: number): Promise<Buffer> {
    const bytes = await readAt(this.#file, { position, length, work: this.#work });
    if (bytes.length < length) throw damaged("the index of a pack is too short");
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}

// Reads one object out of a pack, with the deltas it is made of.

const OFFSET_DELTA = 6;
const NAMED_DELTA = 7;
/** "PACK", a version and a count stand before the first object. */
const FIRST_AT = 12;
/** A size and an offset of ten bytes each, or a name of 32. */
const LONGEST_PACKED_HEADER = 48;

interface Pack {
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
async function packedObject(
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
  const head = await readAt(pack.file, { position: at, length: LONGEST_PACKED_HEADER, work });
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
