// Makes git repositories object by object, sound ones and ones no git would write.
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";

export type Kind = "commit" | "tree" | "blob" | "tag";

/** An object that is to stand in a pack: whole, or as a delta on the one that stands `back` bytes before it or has that name. */
export interface PackEntry {
  readonly id: string;
  readonly number: number;
  readonly size: number;
  readonly content: Uint8Array;
  readonly base?: string;
}

/** Offsets from here on stand in a table of their own. */
const LONG = 0x80000000;

const NUMBERS: Readonly<Record<Kind, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 };

/** A repository in `folder`, with its objects in files of their own unless `pack` is asked for. */
export class MadeRepository {
  readonly git: string;
  readonly #hash: "sha1" | "sha256";

  constructor(folder: string, { bare = false, hash = "sha1" }: { bare?: boolean; hash?: "sha1" | "sha256" } = {}) {
    this.git = bare ? folder : join(folder, ".git");
    this.#hash = hash;
    mkdirSync(join(this.git, "objects/pack"), { recursive: true });
    this.put("HEAD", "ref: refs/heads/main\n");
  }

  put(name: string, content: string | Uint8Array): void {
    const path = join(this.git, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }

  idOf(kind: Kind, content: string | Uint8Array): string {
    const bytes = Buffer.from(content);
    return createHash(this.#hash).update(`${kind} ${bytes.length}\0`).update(bytes).digest("hex");
  }

  /** Writes a loose object; `header` says something else about it than what is true. */
  object(kind: Kind, content: string | Uint8Array, header?: string): string {
    return this.objectNamed(this.idOf(kind, content), kind, content, header);
  }

  /** The same under any name. */
  objectNamed(id: string, kind: Kind, content: string | Uint8Array, header?: string): string {
    const bytes = Buffer.from(content);
    const packed = deflateSync(Buffer.concat([Buffer.from(header ?? `${kind} ${bytes.length}\0`), bytes]));
    this.put(`objects/${id.slice(0, 2)}/${id.slice(2)}`, packed);
    return id;
  }

  /** From paths to contents; folders come by themselves. `link:` and `submodule:` before a name make it one. */
  tree(files: Readonly<Record<string, string | Uint8Array>>): string {
    const folders = new Map<string, Record<string, string | Uint8Array>>();
    const entries: (readonly [mode: string, name: string, id: string])[] = [];
    for (const [path, content] of Object.entries(files)) {
      const slash = path.indexOf("/");
      const name = path.replace(/^(?:link|submodule):/, "");
      if (slash > 0)
        folders.set(path.slice(0, slash), { ...folders.get(path.slice(0, slash)), [path.slice(slash + 1)]: content });
      else if (path.startsWith("submodule:"))
        entries.push(["160000", name, "1".repeat(this.#hash === "sha1" ? 40 : 64)]);
      else entries.push([path.startsWith("link:") ? "120000" : "100644", name, this.object("blob", content)]);
    }
    for (const [name, inner] of folders) entries.push(["40000", name, this.tree(inner)]);
    return this.object("tree", treeBytes(entries));
  }

  commit(tree: string): string {
    return this.object("commit", `tree ${tree}\nauthor A <a@example.com> 0 +0000\n\nwords\n`);
  }

  /** A commit of these files, to which `main` leads. */
  main(files: Readonly<Record<string, string | Uint8Array>>): string {
    const id = this.commit(this.tree(files));
    this.put("refs/heads/main", `${id}\n`);
    return id;
  }

  /**
   * Writes a pack with its index. Deltas name what they build on; `byOffset` writes where that stands instead. `gap` bytes of
   * nothing stand before the first object.
   */
  pack(entries: readonly PackEntry[], { byOffset = false, gap = 0 } = {}): void {
    const places = new Map<string, number>();
    const parts: Uint8Array[] = [];
    let at = 12 + gap;
    for (const entry of entries) {
      places.set(entry.id, at);
      const back = at - (places.get(entry.base ?? "") ?? 0);
      const written = Buffer.concat([...head(entry, back, byOffset), deflateSync(entry.content)]);
      parts.push(written);
      at += written.length;
    }
    const end = Buffer.alloc(this.#hash === "sha1" ? 20 : 32);
    const name = `objects/pack/pack-${createHash(this.#hash)
      .update(String(entries.map(({ id }) => id)))
      .digest("hex")}`;
    this.put(`${name}.pack`, Buffer.concat([Buffer.from("PACK"), number32(2), number32(entries.length)]));
    const file = openSync(join(this.git, `${name}.pack`), "r+");
    writeSync(file, Buffer.concat([...parts, end]), 0, undefined, 12 + gap);
    closeSync(file);
    this.put(
      `${name}.idx`,
      indexOf(
        [...places].toSorted(([a], [b]) => (a < b ? -1 : 1)),
        end.length,
      ),
    );
  }
}

export function whole(id: string, kind: Kind, content: string | Uint8Array): PackEntry {
  const bytes = Buffer.from(content);
  return { id, number: NUMBERS[kind], size: bytes.length, content: bytes };
}

/** A delta that copies `[offset, length]` of the base and inserts texts. */
export function delta(
  sizes: readonly [number, number],
  steps: readonly (string | readonly [number, number])[],
): Uint8Array {
  const parts = steps.map((step) =>
    typeof step === "string"
      ? Buffer.concat([Buffer.from([step.length]), Buffer.from(step)])
      : Buffer.from([0xff, ...little(step[0], 4), ...little(step[1], 3)]),
  );
  return Buffer.concat([varint(sizes[0]), varint(sizes[1]), ...parts]);
}

export function treeBytes(entries: readonly (readonly [mode: string, name: string, id: string])[]): Uint8Array {
  return Buffer.concat(
    entries.map(([mode, name, id]) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")])),
  );
}

function head(entry: PackEntry, distance: number, byOffset: boolean): Uint8Array[] {
  if (entry.base === undefined) return [typeAndSize(entry.number, entry.size)];
  if (!byOffset) return [typeAndSize(7, entry.size), Buffer.from(entry.base, "hex")];
  const bytes = [distance & 0x7f];
  for (let rest = distance >>> 7; rest > 0; rest >>>= 7) bytes.unshift((--rest & 0x7f) | 0x80);
  return [typeAndSize(6, entry.size), Buffer.from(bytes)];
}

function typeAndSize(kind: number, size: number): Uint8Array {
  const bytes: number[] = [(kind << 4) | (size & 15)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest & 0x7f);
  }
  return Buffer.from(bytes);
}

function indexOf(sorted: readonly (readonly [string, number])[], width: number): Uint8Array {
  const fanout = Array.from(
    { length: 256 },
    (_, first) => sorted.filter(([id]) => Number.parseInt(id.slice(0, 2), 16) <= first).length,
  );
  return Buffer.concat([
    number32(0xff744f63),
    number32(2),
    ...fanout.map(number32),
    ...sorted.map(([id]) => Buffer.from(id, "hex")),
    Buffer.alloc(sorted.length * 4),
    ...sorted.map(([, at], index) => number32(at < LONG ? at : LONG + index)),
    ...(sorted.some(([, at]) => at >= LONG) ? sorted.map(([, at]) => number64(at)) : []),
    Buffer.alloc(2 * width),
  ]);
}

function varint(value: number): Uint8Array {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest & 0x7f);
  }
  return Buffer.from(bytes);
}

function little(value: number, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, index) => Math.floor(value / 256 ** index) % 256);
}

function number64(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function number32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
