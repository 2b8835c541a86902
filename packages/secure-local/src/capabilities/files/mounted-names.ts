// Knows the other names that files have because a part of their file system is mounted in several places (bind mounts of containers and
// services), whatever they are: a folder of start files that is seen under a name of its own is what it is at home all the same.
//
// The kernel tells for each mount which folder of which file system it shows. From that all names of a path follow, without a look at
// the files themselves.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { type BytePath, bytesOfPath, join, liesIn, looksLike, namesOf, pathOf, textOfPath } from "./plain-path.js";

interface Mount {
  readonly id: string;
  /** The mount in which it is mounted. */
  readonly parent: string;
  /** Of the file system. */
  readonly device: string;
  /** What of the file system is shown, by its path in there. */
  readonly root: BytePath;
  /** Where. */
  readonly at: BytePath;
  /** The kind of file system, and what it was told. */
  readonly type: string;
  readonly options: readonly string[];
}

export interface MountedNames {
  /** Under which it is found as well. */
  readonly names: readonly string[];
  /** In its file system, where the mount shows a part of that alone: outside of a container it may be found by that. */
  readonly outside: OutsideName | undefined;
}

export interface OutsideName {
  /** Begins in no root: where the file system itself is mounted is not known. */
  readonly name: string;
  /** The same of what is mounted. */
  readonly root: string;
  /** Where that is. */
  readonly at: string;
}

/** How long what was read counts: what is mounted is known after this. */
const KEPT_MS = 1_000;
/** Paths remembered within that time. */
const MOST_KNOWN = 10_000;
const TABLE = "/proc/self/mountinfo";
/** How the kernel writes blanks, line breaks and backslashes, and what it appends to what was removed. */
const ESCAPED = /\\([0-7]{3})/g;
const REMOVED = /\/\/deleted$/;
/** Stands for wherever a file system is mounted outside: no protected name begins so. */
const SOMEWHERE = "/(elsewhere)";
/** Kinds of file systems that know a file by the name it was given and by no other. */
const ONE_NAME: ReadonlySet<string> = new Set(
  "bcachefs btrfs cramfs erofs ext2 ext3 ext4 f2fs jffs2 overlay proc ramfs reiserfs rootfs squashfs sysfs tmpfs ubifs xfs zfs".split(
    " ",
  ),
);
const NONE: MountedNames = { names: [], outside: undefined };

export class Mounts {
  readonly #table: () => string;
  #since = -KEPT_MS;
  #text = "";
  #byDevice: ReadonlyMap<string, readonly Mount[]> = new Map();
  #byParent: ReadonlyMap<string, readonly Mount[]> = new Map();
  #first: readonly Mount[] = [];
  readonly #known = new Map<string, MountedNames>();

  /** `table`: what the kernel says, for tests. */
  constructor(table: () => string = readTable) {
    this.#table = table;
  }

  namesOf(path: string): MountedNames {
    if (performance.now() - this.#since >= KEPT_MS || this.#known.size > MOST_KNOWN) this.#renew();
    let known = this.#known.get(path);
    if (known === undefined) {
      known = this.#namesOf(bytesOfPath(path));
      this.#known.set(path, known);
    }
    return known;
  }

  /** Whether anything is mounted somewhere in a folder, or over it. */
  holdsOne(folder: string): boolean {
    if (performance.now() - this.#since >= KEPT_MS) this.#renew();
    const bytes = bytesOfPath(folder);
    return [...this.#byDevice.values()].some((mounts) => mounts.some(({ at }) => liesIn(at, bytes)));
  }

  /** Which names there may be short for others; undefined on file systems that have none. */
  shortNames(path: string): ShortNames | undefined {
    if (performance.now() - this.#since >= KEPT_MS) this.#renew();
    const mount = this.#mountOf(bytesOfPath(path));
    if (mount === undefined || ONE_NAME.has(mount.type)) return undefined;
    return mount.options.includes("nonumtail") ? "any" : "marked";
  }

  #namesOf(path: BytePath): MountedNames {
    const mount = this.#mountOf(path);
    const same = mount === undefined ? [] : (this.#byDevice.get(mount.device) ?? []);
    if (mount === undefined || (same.length === 1 && mount.root === "/")) return NONE;
    const inside = moved(path, mount.at, mount.root);
    const names = new Set<string>();
    for (const other of same) {
      if (other === mount || !liesIn(inside, other.root)) continue;
      const name = moved(inside, other.root, other.at);
      const text = textOfPath(name);
      // What something else was mounted over is not found there.
      if (text !== undefined && name !== path && this.#mountOf(name) === other) names.add(text);
    }
    const somewhere = (each: BytePath): string => looksLike(SOMEWHERE + each);
    const outside =
      mount.root === "/"
        ? undefined
        : { name: somewhere(inside), root: somewhere(mount.root), at: looksLike(mount.at) };
    return { names: [...names], outside };
  }

  /** As the kernel comes to it: from the root on, through each mount that stands on the way in the one before. */
  #mountOf(path: BytePath): Mount | undefined {
    let found: Mount | undefined;
    let inside = this.#first;
    for (;;) {
      let next: Mount | undefined;
      for (const mount of inside)
        if (liesIn(path, mount.at) && (next === undefined || mount.at.length <= next.at.length)) next = mount;
      if (next === undefined) return found;
      found = next;
      inside = this.#byParent.get(next.id) ?? [];
    }
  }

  #renew(): void {
    this.#since = performance.now();
    this.#known.clear();
    const text = this.#table();
    if (text === this.#text) return;
    this.#text = text;
    const mounts = text.split("\n").flatMap((line) => mountOf(line) ?? []);
    const ids = new Set(mounts.map(({ id }) => id));
    const isFirst = ({ id, parent }: Mount): boolean => parent === id || !ids.has(parent);
    this.#first = mounts.filter(isFirst);
    this.#byParent = grouped(
      mounts.filter((mount) => !isFirst(mount)),
      ({ parent }) => parent,
    );
    this.#byDevice = grouped(mounts, ({ device }) => device);
  }
}

/** Those of this machine: for whoever compares a path with rules, so that all of them know it by the same names. */
export const MOUNTS: Mounts = new Mounts();

function readTable(): string {
  try {
    return process.platform === "linux" ? readFileSync(TABLE, "latin1") : "";
  } catch {
    // Without it the system tells no tool where anything is either.
    return "";
  }
}

/** From here on there are fields that may be missing, up to one that is a dash. */
const OPTIONAL = 6;

function mountOf(line: string): Mount | undefined {
  const fields = line.split(" ").map((field) => field.replace(ESCAPED, unescaped));
  const [id, parent, device, root, at] = fields;
  const [type = "", , options = ""] = fields.slice(fields.indexOf("-", OPTIONAL) + 1);
  if (id === undefined || parent === undefined || device === undefined || !root?.startsWith("/") || !at)
    return undefined;
  if (REMOVED.test(root) || REMOVED.test(at)) return undefined;
  return { id, parent, device, root, at, type, options: options.split(",") };
}

function unescaped(_: string, octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}

/** A path in one folder, by the name it has in another. */
function moved(path: BytePath, from: BytePath, to: BytePath): BytePath {
  const rest = from === "/" ? path.slice(1) : path.slice(from.length + 1);
  return rest === "" ? to : join(to, rest);
}

function grouped(mounts: readonly Mount[], keyOf: (mount: Mount) => string): ReadonlyMap<string, readonly Mount[]> {
  const groups = new Map<string, Mount[]>();
  for (const mount of mounts) {
    const same = groups.get(keyOf(mount));
    if (same === undefined) groups.set(keyOf(mount), [mount]);
    else same.push(mount);
  }
  return groups;
}

// Finds the names under which a file system keeps what is asked for by another one: FAT and its heirs give each file a short name as
// well (`ENV~1` of `.env`), which no folder lists and no rule knows.

/** Which names may be short for others: those that look like it, or all that are short. */
type ShortNames = "marked" | "any";

/** What is asked of the file system. */
export interface Listing {
  namesIn(folder: string): readonly string[];
  /** Undefined for what is not there. */
  numberOf(path: string): string | undefined;
}

/** As FAT knows them: eight characters, and three behind a dot. */
const SHORT = /^[^.]{1,8}(?:\.[^.]{0,3})?$/u;
const MARKED = /~\d/;

export const LISTING: Listing = {
  namesIn: (folder) => readdirSync(folder),
  numberOf: (path) => {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  },
};

/** The path by the names that its folders list. Undefined where one of them is there and cannot be found in its folder. */
export function storedPath(path: string, short: ShortNames, listing: Listing = LISTING): string | undefined {
  let folder = pathOf([]);
  for (const name of namesOf(path)) {
    const mayBeShort = SHORT.test(name) && (short === "any" || MARKED.test(name));
    const stored = mayBeShort ? storedName(folder, name, listing) : name;
    if (stored === undefined) return undefined;
    folder = join(folder, stored);
  }
  return folder;
}

function storedName(folder: string, name: string, { namesIn, numberOf }: Listing): string | undefined {
  try {
    const number = numberOf(join(folder, name));
    if (number === undefined) return name;
    const names = namesIn(folder);
    return names.includes(name) ? name : names.find((each) => numberOf(join(folder, each)) === number);
  } catch {
    return undefined;
  }
}
