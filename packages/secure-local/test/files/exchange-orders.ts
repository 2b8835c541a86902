// Exchanges what a name stands for exactly between two looks of an operation, and back: every order, where a race has a few by chance.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import type { Files } from "../../src/capabilities/files/files.js";
import { type AttackedFolder, SECRET } from "./attacked-folder.js";

/** Stands in folders outside alone. */
const CANARY = "canary.txt";
/** Longer than what lies inside, so that its size tells it. */
const LONG = SECRET.repeat(100);

/** How an operation asks the system: before each the exchange is made, or made undone. */
const LOOKS = {
  lstat: [fs, "lstatSync"],
  "lstat of promises": [fs.promises, "lstat"],
  fstat: [fs, "fstatSync"],
  open: [fs, "openSync"],
  opendir: [fs, "opendirSync"],
  "opendir of promises": [fs.promises, "opendir"],
  readlink: [fs, "readlinkSync"],
  "readlink of promises": [fs.promises, "readlink"],
  realpath: [fs.realpathSync, "native"],
  "realpath of promises": [fs.promises, "realpath"],
  chdir: [process, "chdir"],
  cwd: [process, "cwd"],
} as const;
type Look = keyof typeof LOOKS;

const { renameSync, symlinkSync, unlinkSync, linkSync, writeFileSync, mkdirSync } = fs;

interface Exchange {
  on(t: AttackedFolder): void;
  off(t: AttackedFolder): void;
}

const EXCHANGES: Readonly<Record<string, Exchange>> = {
  "a folder for a link": {
    on({ inside, outside }) {
      renameSync(join(inside, "dir"), join(inside, "dir.kept"));
      symlinkSync(join(outside, "dir"), join(inside, "dir"));
    },
    off({ inside }) {
      unlinkSync(join(inside, "dir"));
      renameSync(join(inside, "dir.kept"), join(inside, "dir"));
    },
  },
  "a folder that is taken out for a link": {
    on({ inside, outside }) {
      renameSync(join(inside, "dir"), join(outside, "taken"));
      symlinkSync(join(outside, "dir"), join(inside, "dir"));
    },
    off({ inside, outside }) {
      unlinkSync(join(inside, "dir"));
      renameSync(join(outside, "taken"), join(inside, "dir"));
    },
  },
  "a file for a link": {
    on({ inside, outside }) {
      renameSync(join(inside, "dir/file.txt"), join(inside, "kept.txt"));
      symlinkSync(join(outside, "dir/file.txt"), join(inside, "dir/file.txt"));
    },
    off({ inside }) {
      unlinkSync(join(inside, "dir/file.txt"));
      renameSync(join(inside, "kept.txt"), join(inside, "dir/file.txt"));
    },
  },
  "a file for another name of one outside": {
    on({ inside, outside }) {
      renameSync(join(inside, "dir/file.txt"), join(inside, "kept.txt"));
      linkSync(join(outside, "dir/file.txt"), join(inside, "dir/file.txt"));
    },
    off({ inside }) {
      unlinkSync(join(inside, "dir/file.txt"));
      renameSync(join(inside, "kept.txt"), join(inside, "dir/file.txt"));
    },
  },
};

const decoded = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** What comes out, in words in which a secret, its size or the canary would be seen. */
const OPERATIONS: Readonly<Record<string, (files: Files, folder: string, file: string) => Promise<string>>> = {
  read: async (files, _folder, file) => decoded((await files.read(file)).bytes),
  open: async (files, _folder, file) => {
    const open = await files.open(file);
    const bytes = new Uint8Array(LONG.length);
    const length = await open.read(bytes, 0).finally(() => open.close());
    return `${open.size} ${decoded(bytes.subarray(0, length))}`;
  },
  info: async (files, _folder, file) => `${(await files.info(file)).size}`,
  edit: async (files, _folder, file) => {
    let seen = "";
    await files.edit(file, (bytes) => ((seen = decoded(bytes)), undefined));
    return seen;
  },
  list: async (files, folder) => JSON.stringify((await files.list(folder)).entries),
  walk: async (files, folder) => {
    const all: unknown[] = [];
    for await (const entry of files.walk(folder)) all.push(entry);
    return JSON.stringify(all);
  },
};

function fill(t: AttackedFolder): void {
  for (const folder of [t.inside, t.outside]) mkdirSync(join(folder, "dir"), { recursive: true });
  t.put("dir/file.txt", "mine");
  writeFileSync(join(t.outside, "dir/file.txt"), LONG);
  writeFileSync(join(t.outside, "dir", CANARY), SECRET);
}

/** Calls `before` ahead of each look, until what it returns is called. */
function watchLooks(before: (look: Look) => void): () => void {
  const restored: (() => void)[] = [];
  let inside = false;
  for (const [look, [holder, name]] of Object.entries(LOOKS)) {
    const methods = holder as unknown as Record<string, (...given: unknown[]) => unknown>;
    const real = methods[name] as (...given: unknown[]) => unknown;
    const watched = (...given: unknown[]): unknown => {
      // The exchange looks too.
      if (!inside) {
        inside = true;
        before(look as Look);
        inside = false;
      }
      return Reflect.apply(real, holder, given);
    };
    methods[name] = Object.assign(watched, real);
    restored.push(() => void (methods[name] = real));
  }
  syncBuiltinESMExports();
  return () => {
    for (const restore of restored) restore();
    syncBuiltinESMExports();
  };
}

/** Whether it is exchanged when this look is made. */
type Wanted = (look: Look, index: number) => boolean;

/** Exchanged between any two looks, and for any set of kinds of looks. */
function orders(looks: readonly Look[]): Wanted[] {
  const all: Wanted[] = [];
  for (let from = 0; from < looks.length; from += 1)
    for (let to = from + 1; to <= looks.length; to += 1) all.push((_look, index) => index >= from && index < to);
  const kinds = [...new Set(looks)];
  for (let set = 1; set < 2 ** kinds.length; set += 1) all.push((look) => ((set >> kinds.indexOf(look)) & 1) === 1);
  return all;
}

/** What came of an operation while something was exchanged. */
export interface Came {
  readonly what: string;
  readonly method: string;
  /** The looks of it, in their order. */
  readonly looks: readonly string[];
  readonly done: boolean;
  /** Whether something of what lies outside came out. */
  readonly escaped: boolean;
}

interface Orders {
  readonly folder: AttackedFolder;
  readonly files: Files;
  /** Which of all orders to try. */
  readonly some?: <T>(orders: readonly T[]) => readonly T[];
}

/** Tries every operation in every order of exchanges; only one caller in a process may do so at a time. */
export async function inEveryOrder({ folder: t, files, some = (all) => all }: Orders): Promise<Came[]> {
  let seen: (look: Look) => void = () => undefined;
  const stop = watchLooks((look) => seen(look));
  const [folder, file] = [join(t.inside, "dir"), join(t.inside, "dir/file.txt")];
  const came: Came[] = [];
  const once = async (method: string, exchange: string, wanted: Wanted): Promise<Came> => {
    const { on, off } = EXCHANGES[exchange] as Exchange;
    const looks: Look[] = [];
    let exchanged = false;
    const turn = (to: boolean): void => {
      if (to !== exchanged) (to ? on : off)(t);
      exchanged = to;
    };
    seen = (look) => turn(wanted(look, looks.push(look) - 1));
    const operate = OPERATIONS[method] as (typeof OPERATIONS)[string];
    const text = await operate(files, folder, file).catch(() => undefined);
    seen = () => undefined;
    turn(false);
    const escaped = [SECRET, CANARY, String(LONG.length)].some((sign) => text?.includes(sign));
    return { what: exchange, method, looks, done: text !== undefined, escaped };
  };
  try {
    fill(t);
    for (const exchange of Object.keys(EXCHANGES))
      for (const method of Object.keys(OPERATIONS)) {
        // The first time more is looked at.
        await once(method, exchange, () => false);
        const { done, looks } = await once(method, exchange, () => false);
        if (!done) throw new Error(`${method} is not done though nothing is exchanged`);
        for (const order of some(orders(looks as Look[]))) came.push(await once(method, exchange, order));
      }
  } finally {
    stop();
  }
  return came;
}
