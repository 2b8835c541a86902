// Finds where in a pack an object is, by its index of version 2, of which only the few bytes needed are read.
import type { OpenFile } from "../files/files.js";
import { damaged, GitError } from "./git-error.js";
import { readAt } from "./git-folder.js";
import type { GitWork } from "./git-work.js";

const MAGIC = 0xff744f63;
const FANOUT_AT = 8;
const NAMES_AT = FANOUT_AT + 256 * 4;
/** Set in an offset that is no offset but a place in the table of long ones. */
const LONG = 0x80000000;

export class PackIndex {
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
