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
/** What a program is told when two places are on different disks: it copies. */
const EXDEV = 18;
/** How the kernel marks the path of what has no name any more. */
const DELETED = / \(deleted\)(?:\/|$)/;

/** Serves until the stream ends; whatever cannot be read or judged is refused. */
export function serveKeeper(gate: Duplex, judged: readonly Reach[]): void {
  // The longest path that fits decides.
  const places = [...judged].sort((a, b) => seenAt(b).length - seenAt(a).length);
  let waiting: Buffer = Buffer.alloc(0);
  let busy = false;
  const next = (): void => {
    if (busy || waiting.length < LENGTH) return;
    const length = waiting.readUInt32BE(0);
    if (length > LONGEST_ASK) return void gate.destroy();
    if (waiting.length < LENGTH + length) return;
    const ask = waiting.subarray(LENGTH, LENGTH + length);
    waiting = waiting.subarray(LENGTH + length);
    busy = true;
    void answer(places, ask)
      .catch(() => EACCES)
      .then((said) => {
        busy = false;
        if (!gate.destroyed) gate.write(Buffer.from([said]));
        next();
      });
  };
  gate.on("data", (bytes: Buffer) => {
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
    next();
  });
}

async function answer(places: readonly Reach[], ask: Buffer): Promise<number> {
  const kind = ask.toString("latin1", 0, 1);
  if (kind === "m") {
    const length = ask.readUInt32BE(1);
    const [from, to] = [ask.subarray(1 + LENGTH, 1 + LENGTH + length), ask.subarray(1 + LENGTH + length)];
    return await mayMove(places, from.toString(), to.toString());
  }
  const op = OPS[kind];
  return op !== undefined && may(places, ask.toString("utf8", 1), op) ? MAY : EACCES;
}

function may(places: readonly Reach[], inside: string, op: Parameters<Judge>[1]): boolean {
  const place = placeOf(places, inside);
  return place !== undefined && !DELETED.test(inside) && place.judge(place.path, op);
}

/** Where a path that is seen inside really is, and who judges it; undefined where no judged folder holds it. */
function placeOf(places: readonly Reach[], inside: string): { readonly path: string; readonly judge: Judge } | undefined {
  const place = places.find((each) => inside === seenAt(each) || inside.startsWith(`${seenAt(each)}/`));
  if (place?.judge === undefined) return undefined;
  return { path: place.path + inside.slice(seenAt(place).length), judge: place.judge };
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
