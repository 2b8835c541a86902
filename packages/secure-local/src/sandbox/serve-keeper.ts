// Answers what the keeper of a sandbox's folders asks: whether something may be done to a path inside.
import { Buffer } from "node:buffer";
import { readdir } from "node:fs/promises";
import type { Duplex } from "node:stream";
import type { Judge, Reach } from "./wall.js";

/** What the keeper's asks begin with. */
const OPS: Readonly<Record<string, Parameters<Judge>[1]>> = { r: "read", w: "write", l: "list" };
/** A folder is moved with all that lies in it; one with more entries is copied by whoever moves it. */
const MOST_MOVED = 10_000;
/** No ask is longer: two paths of the longest kind. */
const LONGEST_ASK = 16_384;
const LENGTH = 4;
const MAY = 0;
const EACCES = 13;
/** What a program is told of a disk that cannot be written. */
const EROFS = 30;
/** What a program is told when two places are on different disks: it copies. */
const EXDEV = 18;
/** How the kernel marks the path of what has no name any more. */
const DELETED = / \(deleted\)(?:\/|$)/;

/** Serves until the stream ends; whatever cannot be read or judged is refused. */
export async function serveKeeper(gate: Duplex, judged: readonly Reach[]): Promise<void> {
  // The longest path that fits decides.
  const places = [...judged].sort((a, b) => seenAt(b).length - seenAt(a).length);
  let waiting: Buffer = Buffer.alloc(0);
  for await (const bytes of gate as AsyncIterable<Buffer>) {
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
    for (let length = askIn(waiting); length !== undefined; length = askIn(waiting)) {
      const said = await answer(places, waiting.subarray(LENGTH, length)).catch(() => EACCES);
      waiting = waiting.subarray(length);
      gate.write(Buffer.from([said]));
    }
  }
}

/** How long the first ask is with what says so; undefined while not all of it is there. @throws Error for one that is too long */
function askIn(waiting: Buffer): number | undefined {
  if (waiting.length < LENGTH) return undefined;
  const length = LENGTH + waiting.readUInt32BE(0);
  if (length > LONGEST_ASK) throw new Error("The keeper of a sandbox asked for a path that is none.");
  return waiting.length < length ? undefined : length;
}

async function answer(places: readonly Reach[], ask: Buffer): Promise<number> {
  const kind = ask.toString("latin1", 0, 1);
  if (kind === "m") {
    const length = ask.readUInt32BE(1);
    const [from, to] = [ask.subarray(1 + LENGTH, 1 + LENGTH + length), ask.subarray(1 + LENGTH + length)];
    return await mayMove(places, from.toString(), to.toString());
  }
  const op = OPS[kind];
  const inside = ask.toString("utf8", 1);
  if (op === undefined) return EACCES;
  if (op === "write" && placeOf(places, inside)?.access === "read") return EROFS;
  return may(places, inside, op) ? MAY : EACCES;
}

function may(places: readonly Reach[], inside: string, op: Parameters<Judge>[1]): boolean {
  const place = placeOf(places, inside);
  return place !== undefined && !DELETED.test(inside) && place.judge(place.path, op);
}

/** Where a path that is seen inside really is, and who judges it; undefined where no judged folder holds it. */
function placeOf(
  places: readonly Reach[],
  inside: string,
): (Pick<Reach, "path" | "access"> & { readonly judge: Judge }) | undefined {
  const place = places.find((each) => inside === seenAt(each) || inside.startsWith(`${seenAt(each)}/`));
  if (place?.judge === undefined) return undefined;
  const { access, judge } = place;
  return { path: place.path + inside.slice(seenAt(place).length), access, judge };
}

function seenAt({ path, at = path }: Reach): string {
  return at;
}

/** All that lies in a folder gets another path with it: each is judged where it is, and where it will be. */
async function mayMove(places: readonly Reach[], from: string, to: string): Promise<number> {
  const root = placeOf(places, from);
  // What comes from a folder of the sandbox's own cannot be seen from here.
  if (root === undefined) return EXDEV;
  let left = MOST_MOVED;
  const folders = [{ real: root.path, below: "" }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder.real, { withFileTypes: true })) {
      left -= 1;
      if (left < 0) return EXDEV;
      const below = `${folder.below}/${entry.name}`;
      if (!may(places, from + below, "write")) return EACCES;
      if (placeOf(places, to) !== undefined && !may(places, to + below, "write")) return EACCES;
      if (entry.isDirectory()) folders.push({ real: `${folder.real}/${entry.name}`, below });
    }
  }
  return MAY;
}
