// Turns the files a policy allows into what a sandbox sees: what was found and judged, by handle, and a judge for what lies in it.
import { type BigIntStats, closeSync, lstatSync, openSync, readdirSync, statSync } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { decide } from "../policy/decide.js";
import type { FilesystemPolicy, Policy } from "../policy/policy.js";
import { HANDED_FOLDER, type Held, type Judge, KEPT_HOME, type Reach, type Wall, WallError } from "../sandbox/wall.js";
import { FileRules, isOfGit } from "./files/file-rules.js";
import { FileError } from "./files/files.js";
import { Finder, type Found } from "./files/finder.js";
import { portableLookup, procLookup } from "./files/lookup.js";
import type { OwnFiles } from "./files/own-files.js";
import { liesIn, parentOf } from "./files/plain-path.js";
import { takeGitConfig, withGit } from "./git-inside.js";

type Asked = Parameters<Judge>[1];

function bringsMore(asked: Asked): asked is "bring" | "fill" {
  return asked === "bring" || asked === "fill";
}

/** What may put something else where a name leads; a folder is made only where nothing is. */
function exchanges(asked: Asked): boolean {
  return asked === "write" || bringsMore(asked);
}

/** More than a project with its packages has; looking for denied names among more would hold up every start. */
const MAX_ENTRIES = 200_000;

export interface Wanted {
  readonly path: string;
  /** `most`: written where the policy allows that, else read. */
  readonly access: "read" | "write" | "most";
}

/** By policy and own files: what a link in a rule allows is decided once, however often programs are started. */
const KNOWN = new WeakMap<FilesystemPolicy, Map<string, Promise<FileRules>>>();

async function rulesOf(policy: Policy, own: OwnFiles): Promise<FileRules> {
  const known = KNOWN.get(policy.filesystem) ?? new Map<string, Promise<FileRules>>();
  KNOWN.set(policy.filesystem, known);
  const key = own.join("\0");
  const made = known.get(key) ?? FileRules.of(policy, own);
  known.set(key, made);
  const rules = await made;
  await rules.followLinks();
  return rules;
}

export interface ViewOptions {
  readonly policy: Policy;
  /** The program's own files, which no sandbox sees. */
  readonly own: OwnFiles;
  readonly wall: Wall["name"];
  /** Hears of what was refused inside. */
  readonly refusals?: RefusalTally | undefined;
}

/** Finds what a sandbox is to see, each as the file tools find it. */
export class SandboxView {
  readonly #rules: FileRules;
  readonly #finder: Finder;
  readonly #wall: Wall["name"];
  readonly #judge: Judge;
  readonly #more: Pick<Reach, "takeGitConfig" | "refused" | "made">;
  readonly #environments = new MadeEnvironments();
  readonly #budget = { left: MAX_ENTRIES };

  private constructor(rules: FileRules, { wall, refusals }: ViewOptions) {
    const lookup = process.platform === "linux" ? procLookup : portableLookup;
    this.#rules = rules;
    this.#finder = new Finder(lookup);
    this.#wall = wall;
    const { git } = rules.policy.sandbox;
    this.#judge = git ? withGit(this.#judgeNames) : this.#judgeNames;
    const refused: Reach["refused"] = (path, op) => refusals?.add(path, op, this.#ruleOf(path, op));
    const made: Reach["made"] = (path, inode) => this.#environments.made(path, inode);
    this.#more = { made, ...(git ? { takeGitConfig } : {}), ...(refusals === undefined ? {} : { refused }) };
  }

  static async of(options: ViewOptions): Promise<SandboxView> {
    return new SandboxView(await rulesOf(options.policy, options.own), options);
  }

  /**
   * The file or folder, with a judge for what lies in it, and where nothing can ask one, covers for what is denied. Undefined when
   * there is no such thing. @throws FileError for what may not be reached
   */
  async reach({ path, access }: Wanted): Promise<readonly [Reach, ...Reach[]] | undefined> {
    const found = await this.#find(path, access);
    if (found === undefined) return undefined;
    const { what, writable } = found;
    const folder = what.stats.isDirectory();
    const judge = this.#judge;
    const covers: Reach[] = [];
    const reached = writable ? "write" : "read";
    if (folder && this.#wall === "sandbox-exec") await this.#cover(what.path, reached, covers);
    return [
      {
        path: what.path,
        access: reached,
        held: held(what),
        ...(folder ? { judge, passing: isOfGit, ...this.#more } : {}),
      },
      ...covers,
    ];
  }

  /** Where a file is to be made that is not there: its folder, and its name. @throws FileError */
  async placeFor(path: string): Promise<{ readonly folder: Reach; readonly path: string }> {
    const terms = { rules: this.#rules, client: undefined };
    const { folder, name, path: real } = await this.#finder.place(terms, path, "write");
    const judge = this.#judge;
    if (name === "" || !folder.stats.isDirectory())
      throw new FileError("not-found", `"${path}" has no folder to be made in.`);
    const { path: at } = folder;
    return {
      folder: { path: at, access: "write", held: held(folder), judge, passing: isOfGit, ...this.#more },
      path: real,
    };
  }

  readonly #judgeNames: Judge = (path, asked) => {
    // A link there would lead on to names that nobody has judged as protected ones.
    if (bringsMore(asked) && this.#rules.begins(path, asked)) return false;
    if (exchanges(asked) && this.#rules.onTheWay(path) !== undefined) return false;
    const op = asked === "read" || asked === "list" ? asked : "write";
    if (op === "write" && this.#isOfAnother(path, asked)) return false;
    if (this.#rules.judge(path, op) === undefined) return true;
    // A program that makes a virtual environment runs whatever it puts there itself.
    const built = op === "write" && /\/(?:pyvenv\.cfg|(?:site|dist)-packages\/[^/]+\.pth)$/.test(path);
    if (!built || this.#rules.judge(parentOf(path), op) !== undefined) return false;
    if (!this.#environments.mayWrite(path)) return false;
    return decide(this.#rules.policy, { kind: "file", path, op }).allowed;
  };

  /** A part of an environment may be mounted under another name. */
  #isOfAnother(path: string, asked: Asked): boolean {
    return [path, ...this.#rules.otherNames(path)].some((name) => this.#environments.isOfAnother(name, asked));
  }

  /** Why something was refused; where no rule of files says so, it may only be read there. */
  #ruleOf(path: string, asked: Asked): string {
    if (bringsMore(asked) && this.#rules.begins(path, asked))
      return "built-in protection of where protected names begin";
    const op = asked === "read" || asked === "list" ? asked : "write";
    if (op === "write" && this.#isOfAnother(path, asked))
      return "built-in protection of Python's environments: what runs by itself is found by this name";
    const kept = exchanges(asked) ? this.#rules.onTheWay(path) : undefined;
    return (this.#rules.judge(path, op) ?? kept)?.rule ?? "granted to be read";
  }

  async #find(
    path: string,
    access: Wanted["access"],
  ): Promise<{ readonly what: Found; readonly writable: boolean } | undefined> {
    const terms = { rules: this.#rules, client: undefined };
    const first = access === "read" ? "read" : "write";
    try {
      return { what: await this.#finder.find(terms, path, first), writable: first === "write" };
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (error.code === "not-found") return undefined;
      if (error.code !== "denied") throw error;
      if (access === "most") return await this.#find(path, "read");
      // Something in the folder may be reached, if not the folder as such.
      const listed = await this.#finder.find(terms, path, "list").catch(() => undefined);
      if (listed?.stats.isDirectory()) return { what: listed, writable: access === "write" };
      listed?.close();
      throw error;
    }
  }

  /** Finds what in a folder may not be read, or not written where the folder may be. */
  async #cover(folder: string, access: "read" | "write", covers: Reach[]): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      this.#budget.left -= 1;
      if (this.#budget.left < 0) {
        throw new WallError(
          `There are more than ${MAX_ENTRIES} files to look through for a sandbox; grant smaller folders.`,
        );
      }
      // A link leads nowhere inside but to what is seen there anyway.
      if (entry.isSymbolicLink()) continue;
      const path = `${folder}/${entry.name}`;
      if (this.#rules.judge(path, "read") !== undefined) {
        covers.push({ path, at: entry.isDirectory() ? `${path}/` : path, access: "hidden" });
      } else if (access === "write" && this.#rules.judge(path, "write") !== undefined) {
        covers.push({ path, access: "read" });
        if (entry.isDirectory()) await this.#cover(path, "read", covers);
      } else if (entry.isDirectory()) await this.#cover(path, access, covers);
    }
  }
}

/**
 * Rules of `filesystem` that name a file, or a folder with all that lies in it (`/data/**`), become what is seen inside, where the
 * policy writes it. What does not exist is left out. @throws WallError for other patterns, and for what may not be reached
 */
export async function sandboxReach(options: ViewOptions): Promise<Reach[]> {
  const { policy } = options;
  const { allowed, readable, readOnly } = policy.filesystem;
  const wanted: Wanted[] = [
    ...readable.rules.map(({ pattern }) => ({ path: wholePath(pattern), access: "read" as const })),
    ...allowed.rules.map(({ pattern }) => ({
      path: wholePath(pattern),
      access: readOnly === undefined ? ("write" as const) : ("read" as const),
    })),
  ];
  if (wanted.length === 0) return [];
  const view = await SandboxView.of(options);
  const reach: Reach[] = [];
  try {
    for (const each of wanted) {
      const [first, ...covers] = (await view.reach(each)) ?? [];
      if (first !== undefined) reach.push({ ...first, at: each.path }, ...covers);
    }
    return widest(reach);
  } catch (error) {
    for (const { held: open } of reach) open?.close();
    if (!(error instanceof FileError)) throw error;
    throw new WallError(`What the policy allows cannot be seen in a sandbox. ${error.message}`);
  }
}

/**
 * Without what a folder that may be written shows anyway, at the same place: mounted on its own it could be neither renamed nor replaced,
 * as programs do with each file that they write anew. Judged by name all that lies in it is all the same.
 */
export function widest(reach: readonly Reach[]): Reach[] {
  const isWider = (each: Reach, wide: Reach): boolean => {
    const [at, place] = [each.at ?? each.path, wide.at ?? wide.path];
    if (wide === each || wide.access !== "write" || each.path !== wide.path + at.slice(place.length)) return false;
    return at.startsWith(`${place}/`) || (at === place && each.access === "read");
  };
  const isShown = (each: Reach): boolean => each.access !== "hidden" && reach.some((wide) => isWider(each, wide));
  for (const each of reach) if (isShown(each)) each.held?.close();
  return reach.filter((each) => !isShown(each));
}

/** A number of a file held open that does nothing to it: `O_PATH`, which Node does not name. */
const O_PATH = 0o10000000;

/**
 * What `sandbox.read_only_paths` names, seen where it really is, and under its own name beside that where it is a link: no part of
 * the place it is mounted at is one, so that it is nowhere else. @throws WallError for what is not there
 */
export async function readOnlyReach({ sandbox }: Policy, wall: Wall["name"]): Promise<Reach[]> {
  const reach: Reach[] = [];
  for (const written of sandbox.readOnlyPaths) {
    try {
      const path = await realpath(written);
      const named = join(await realpath(dirname(written)), basename(written));
      if (INSIDE.some((own) => liesIn(own, path))) throw coveredInside(written);
      const hold = (): Pick<Reach, "held"> => (wall === "bubblewrap" ? { held: heldAt(path) } : {});
      reach.push({ path, access: "read", ...hold() });
      if (named !== path) reach.push({ path, at: named, access: "read", spare: true, ...hold() });
    } catch (error) {
      for (const { held: open } of reach) open?.close();
      if (error instanceof WallError) throw error;
      const code = (error as NodeJS.ErrnoException).code ?? "unknown";
      throw new WallError(
        `"${written}" cannot be shown to programs (${code}). Take it out of sandbox.read_only_paths, or put it there.`,
      );
    }
  }
  return reach;
}

/** What a sandbox has of its own there. */
const INSIDE = ["/tmp", "/proc", "/dev", HANDED_FOLDER, KEPT_HOME];

function coveredInside(path: string): WallError {
  return new WallError(
    `"${path}" in sandbox.read_only_paths would cover what a sandbox has of its own (${INSIDE.join(", ")}). Name a folder in it.`,
  );
}

function heldAt(path: string): Held {
  const fd = openSync(path, O_PATH);
  return held({ at: `/proc/self/fd/${fd}`, close: () => closeSync(fd) });
}

function wholePath(pattern: string): string {
  const path = pattern.replace(/(?:\/\*\*)(?:\/\*)?$/, "") || "/";
  if (!/[*?]/.test(path) && path !== "/") return path;
  throw new WallError(
    `A sandbox sees files and whole folders, such as /data/notes.txt or /data/**; "${pattern}" is neither. Change it in the policy.`,
  );
}

function held({ at, close }: Pick<Found, "at" | "close">): Held {
  const { dev, ino } = statSync(at, { bigint: true });
  let open = true;
  return {
    dev,
    ino,
    close: () => {
      if (open) close();
      open = false;
    },
  };
}

// Knows which of Python's virtual environments one sandbox made itself: what runs in them by itself may be written there alone.

/** Python reads it as it starts, and takes packages and another Python from where it says. */
const SETTINGS = "pyvenv.cfg";
/** What Python runs as it starts, with the folder of the environment it is in. */
const RUN_AT_START = /^(.*)\/lib(?:64)?\/[^/]+\/(?:site|dist)-packages\/[^/]+\.pth$/s;
/** What people source in their shell, and the Python they start. */
const STARTED = /^(.*)\/(?:bin|scripts)\/(?:(?:activate|deactivate)[^/]*|(?:python|pypy)[\d.]*(?:\.exe)?)$/is;
/** Folders by whose names Python and people find what they run, whatever lies in them. */
const PART = /^(.*)\/(?:bin|scripts|include|lib(?:64)?(?:\/(?:python|pypy)[^/]*(?:\/(?:site|dist)-packages)?)?)$/is;
const PYTHON = /^(?:python|pypy)[\d.]*(?:\.exe)?$/i;
/** Where a Python lies in an environment, and settings beside it. */
const IN_ENVIRONMENT = ["", "/bin", "/Scripts"];
const NS_IN_MS = 1_000_000n;

/** Remembered of one sandbox: an environment has a handful. What comes after them counts as somebody else's. */
const MOST_MADE = 10_000;

/** Begins with its sandbox; one for each. */
class MadeEnvironments {
  readonly #began = BigInt(Date.now()) * NS_IN_MS;
  /** Files that were made inside, by device, number and moment: a number is used again. */
  readonly #made = new Set<string>();

  /** Hears of a file that was made inside, with its number: another may have its name by now. */
  made(path: string, inode: bigint): void {
    const stats = statsOf(path);
    if (stats instanceof Error || stats === undefined || stats.ino !== inode || this.#made.size === MOST_MADE) return;
    this.#made.add(identityOf(stats));
  }

  /** Whether a file that is protected for what Python makes of it may be written all the same. */
  mayWrite(path: string): boolean {
    if (path.endsWith(`/${SETTINGS}`)) {
      const folder = parentOf(path);
      return this.#isOwn(path) || (statsOf(path) === undefined && !this.#hasOlderPython(folder));
    }
    const [, environment] = RUN_AT_START.exec(path) ?? [];
    if (environment === undefined) return false;
    // Whoever removes an environment may have removed its settings first.
    return this.#isOwn(path) || (this.#isOwn(`${environment}/${SETTINGS}`) && statsOf(path) === undefined);
  }

  /** Whether it belongs to an environment that somebody else made, where what runs by itself is found by this name. */
  isOfAnother(path: string, asked: Asked): boolean {
    const [, started] = STARTED.exec(path) ?? [];
    if (started !== undefined && this.#isAnothers(started)) return true;
    // A folder is made where nothing is, and its mode leads nowhere.
    const [, environment] = asked === "folder" || asked === "mode" ? [] : (PART.exec(path) ?? []);
    if (environment === undefined) return false;
    const leads = bringsMore(asked) || /\/(?:bin|scripts)$/i.test(path);
    return this.#isAnothers(environment) || (leads && this.#hasOlderPython(environment));
  }

  #isAnothers(environment: string): boolean {
    return IN_ENVIRONMENT.some((part) => {
      const settings = `${environment}${part}/${SETTINGS}`;
      return statsOf(settings) !== undefined && !this.#isOwn(settings);
    });
  }

  #isOwn(path: string): boolean {
    const stats = statsOf(path);
    return stats !== undefined && !(stats instanceof Error) && this.#made.has(identityOf(stats));
  }

  /** Settings beside a Python, or in the folder above it, are its own. */
  #hasOlderPython(folder: string): boolean {
    return IN_ENVIRONMENT.some((part) => {
      const names = pythonsIn(folder + part);
      return names === undefined || names.some((name) => this.#isOlder(statsOf(`${folder}${part}/${name}`)));
    });
  }

  #isOlder(stats: BigIntStats | Error | undefined): boolean {
    return stats !== undefined && (stats instanceof Error || (!stats.isDirectory() && !this.#isNew(stats)));
  }

  #isNew(stats: BigIntStats | Error): boolean {
    return !(stats instanceof Error) && stats.birthtimeNs >= this.#began;
  }
}

function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`;
}

/** Undefined where nothing is; an error for what cannot be looked at, which may be anything. */
function statsOf(path: string): BigIntStats | Error | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    return error as Error;
  }
}

/** Undefined for what cannot be looked at. */
function pythonsIn(folder: string): string[] | undefined {
  try {
    return readdirSync(folder).filter((name) => PYTHON.test(name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? [] : undefined;
  }
}

// Counts what a sandbox was refused, so that a few records tell of it however often it asks.

/** What was asked for, and where, in words, with how often; the rule that refused it. */
export type TellRefusals = (what: string, rule: string) => void;

/** The first is told of after this long, with all that came meanwhile; each further time takes twice as long, up to the longest. */
const FIRST_MS = 10_000;
const LONGEST_MS = 10 * 60_000;
/** Rules told apart; there are some hundred, of which a program meets a few. */
const MOST_RULES = 16;
const REST = "further rules";
/** Paths that are named for each rule; the others are counted. */
const MOST_PATHS = 5;

interface Refused {
  count: number;
  readonly paths: Set<string>;
}

export class RefusalTally {
  readonly #tell: TellRefusals;
  readonly #refused = new Map<string, Refused>();
  #wait = FIRST_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: TellRefusals) {
    this.#tell = tell;
  }

  add(path: string, op: Parameters<Judge>[1], rule: string): void {
    const known = this.#refused.has(rule) || this.#refused.size < MOST_RULES ? rule : REST;
    const refused = this.#refused.get(known) ?? { count: 0, paths: new Set() };
    this.#refused.set(known, refused);
    refused.count += 1;
    if (refused.paths.size < MOST_PATHS) refused.paths.add(`${op} ${path}`);
    this.#timer ??= setTimeout(() => this.#flush(), this.#wait).unref();
  }

  /** Tells what was not told yet. */
  close(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wait = Math.min(this.#wait * 2, LONGEST_MS);
    const told = [...this.#refused];
    this.#refused.clear();
    for (const [rule, { count, paths }] of told) {
      const more = paths.size === MOST_PATHS ? ", …" : "";
      this.#tell(`${[...paths].join(", ")}${more}${count === 1 ? "" : ` (${count} times)`}`, rule);
    }
  }
}
