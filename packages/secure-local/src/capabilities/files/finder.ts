// Finds what a path leads to, link by link, lets nothing through that the rules do not allow at its real place, and
// works in the folder it found.
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { parse } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import type { FileOperation } from "../../policy/decide.js";
import type { FileRules, Reader } from "./file-rules.js";
import { FileError } from "./files.js";
import { isWhereJudged } from "./leads-to.js";
import { join, liesIn, namesOf, outermost, parentOf, plainPath, realPrefix } from "./plain-path.js";

/** Links followed for one path, as on Linux. */
const MOST_LINKS = 40;

/** The rules one operation goes by. */
export interface OperationRules {
  readonly rules: FileRules;
  /** Undefined when the client has none to say. */
  readonly client: ClientRoots | undefined;
  readonly reader?: Reader;
}

/** A place for a file in a folder that was found. */
export interface FoundPlace {
  readonly folder: Found;
  readonly name: string;
  /** Where it is, free of links but perhaps in its last name. */
  readonly path: string;
}

export class Finder {
  readonly #lookup: Lookup;

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  /** Throws unless the rules allow the path by its words. */
  judge(terms: OperationRules, given: string, op: FileOperation): void {
    this.#judge(terms, plainPath(given), { given, op });
  }

  /** What `given` leads to. Close it. */
  async find(terms: OperationRules, given: string, op: FileOperation): Promise<Found> {
    const { found } = await this.#follow(terms, { given, op, last: true });
    const refusal = found.stats.isFile() && found.stats.nlink > 1 ? HARD_LINK : undefined;
    if (refusal === undefined) return found;
    found.close();
    throw new FileError("hard-link", `"${given}" ${refusal}.`, "built-in rule: no hard links");
  }

  /** The folder `given` stands in, and its name there; what has that name is not looked at. Close the folder. */
  async place(terms: OperationRules, given: string, op: FileOperation): Promise<FoundPlace> {
    const { found, name } = await this.#follow(terms, { given, op, last: false });
    if (found.stats.isDirectory()) return { folder: found, name, path: join(found.path, name) };
    found.close();
    throw new FileError("not-found", `"${given}" does not exist: a part of its path is no folder.`);
  }

  async #follow(terms: OperationRules, want: Wanted): Promise<{ readonly found: Found; readonly name: string }> {
    let path = plainPath(want.given);
    for (let hops = 0; hops <= MOST_LINKS; hops += 1) {
      this.#judge(terms, path, want);
      const names = namesOf(path);
      const name = names.at(-1) ?? "";
      const looked = want.last ? path : parentOf(path);
      const { what, real } = await this.#look(terms, looked, want);
      if (isLink(what)) path = plainTarget(behind(what, want.last ? [] : [name]), want.given);
      // Where the kernel says that it is, in so many words: anything else is looked up and judged anew.
      else if (what.path === real) return this.#accepted(terms, { found: what, name }, { ...want, judged: path });
      else {
        what.close();
        path = plainTarget(want.last ? what.path : join(what.path, name), want.given);
      }
    }
    throw new FileError("not-found", `"${want.given}" does not exist: its links go round in circles.`);
  }

  /** The rules have seen the path as it was asked for; now they see where that is. */
  #accepted(
    terms: OperationRules,
    at: { readonly found: Found; readonly name: string },
    want: Wanted & { readonly judged: string },
  ): typeof at {
    const path = want.last ? at.found.path : join(at.found.path, at.name);
    try {
      if (path !== want.judged) this.#judge(terms, path, want);
      const kept = want.last ? undefined : terms.rules.onTheWay(path);
      if (kept !== undefined)
        throw new FileError("denied", `"${want.given}": ${kept.reason} Rule: ${kept.rule}.`, kept.rule);
      if (!isWhereJudged(want.given, path))
        throw new FileError("changed", `"${want.given}" leads elsewhere than when the call was judged; make it again.`);
      return at;
    } catch (error) {
      at.found.close();
      throw error;
    }
  }

  async #look(terms: OperationRules, path: string, want: Pick<Wanted, "given" | "op">): Promise<Look> {
    const written = terms.rules.roots.find((root) => liesIn(path, root)) ?? (await this.#rootThatIs(terms, path));
    if (written === undefined) throw outside(terms, want);
    try {
      return await this.#lookFrom(written, path);
    } catch (error) {
      throw fileErrorOf(error, want.given);
    }
  }

  /** The root is opened anew each time: what it leads to may have moved on, been made anew or put back. */
  async #lookFrom(written: string, path: string): Promise<Look> {
    const root = await this.#lookup.openRoot(written);
    try {
      const names = namesOf(path.slice(liesIn(path, written) ? written.length : root.real.length));
      return { what: await this.#lookup.find(root, names), real: names.reduce(join, root.real) };
    } finally {
      root.close();
    }
  }

  /** The root whose real place this path lies in, for paths that are written otherwise than the policy writes them. */
  async #rootThatIs({ rules }: OperationRules, path: string): Promise<string | undefined> {
    for (const written of rules.roots) {
      const root = await this.#lookup.openRoot(written).catch(() => undefined);
      root?.close();
      if (root !== undefined && liesIn(path, root.real)) return written;
    }
    return undefined;
  }

  #judge({ rules, client, reader }: OperationRules, path: string, { given, op }: Pick<Wanted, "given" | "op">): void {
    const refusal = rules.judge(path, op, reader);
    if (refusal !== undefined) {
      const { rule, reason } = refusal;
      if (rule === "default deny") {
        // Of the name that was asked for alone: the rule for the place of a link would say where it leads.
        const by = path === plainPath(given) ? rules.denial(path, op)?.rule : undefined;
        if (by === undefined) throw outside({ rules, client }, { given, op });
        throw new FileError("denied", `"${given}": The policy denies this ${op}. Rule: ${by}.`, by);
      }
      throw new FileError("denied", `"${given}": ${reason} Rule: ${rule}.`, rule);
    }
    if (client !== undefined && !client.hold(path, rules)) {
      const words = `"${given}" is outside the folders the client shares (its roots): ${client.shown.join(", ") || "none"}.`;
      throw new FileError("denied", words, "client roots");
    }
  }
}

interface Look {
  readonly what: Found | LinkOnTheWay;
  /** Where it has to be when nothing led elsewhere. */
  readonly real: string;
}

interface Wanted {
  readonly given: string;
  readonly op: FileOperation;
  /** Whether the last name is looked up too. */
  readonly last: boolean;
}

const HARD_LINK = "has several names (hard links), some perhaps outside the allowed folders; copy it to use it";

function behind({ folder, target, rest }: LinkOnTheWay, more: readonly string[]): string {
  const absolute = /^(?:\/|[A-Za-z]:\/)/.test(target) ? target : `${folder}/${target}`;
  return [absolute, ...rest, ...more].join("/");
}

/** As the caller's own path, but what a link says is not told. */
function plainTarget(path: string, given: string): string {
  try {
    return plainPath(path);
  } catch {
    throw notFound(given);
  }
}

function outside({ rules, client }: OperationRules, { given, op }: Pick<Wanted, "given" | "op">): FileError {
  const folders = (client?.narrow(rules.shown) ?? rules.shown).join(", ") || "no folder";
  const words = `The policy does not allow this ${op} of "${given}". It allows files in: ${folders}`;
  return new FileError("denied", `${words}; others can be added to filesystem.allowed_paths.`, "default deny");
}

// What a way of finding files has to offer: the very thing behind a path, reached without following any link unseen.

/** A folder everything is looked up from. */
export interface RootFolder {
  /** As the policy writes it. */
  readonly written: string;
  /** Free of links. */
  readonly real: string;
  /** A path under which this process reaches the folder. */
  readonly at: string;
  close(): void;
}

/** What was found. Valid until it is closed. */
export interface Found {
  /** Where it really is, free of links. */
  readonly path: string;
  readonly stats: Stats;
  /** A path under which this process reaches the very thing (where the system has no such path, its own). */
  readonly at: string;
  /** Opens the very file that was found. @throws FileError `changed` when something else has its name */
  open(flags: number): number;
  /** Whether it is still where it was found. */
  isCurrent(): boolean;
  close(): void;
}

/** A link on the way: the folder it stands in, what it says, and the names behind it. */
export interface LinkOnTheWay {
  readonly folder: string;
  readonly target: string;
  readonly rest: readonly string[];
}

/** Both methods reject with the system's own errors. */
export interface Lookup {
  /** Follows the links of `written`, as they are now. */
  openRoot(written: string): Promise<RootFolder>;
  /** What `names` lead to from a root. */
  find(root: RootFolder, names: readonly string[]): Promise<Found | LinkOnTheWay>;
}

function isLink(what: Found | LinkOnTheWay): what is LinkOnTheWay {
  return "target" in what;
}

// Puts the system's errors into words that fit for the model: what happened to the path that was asked for.

const WORDS: Readonly<Record<string, readonly [FileError["code"], string]>> = {
  ENOENT: ["not-found", "does not exist"],
  ENOTDIR: ["not-found", "does not exist: a part of its path is no folder"],
  ELOOP: ["not-found", "does not exist: its links go round in circles"],
  ENAMETOOLONG: ["bad-path", "has a name that is too long"],
  EINVAL: ["bad-path", "is no path this system knows"],
  EACCES: ["system", "may not be touched by this program: the system denies it"],
  EPERM: ["system", "may not be touched by this program: the system denies it"],
  EROFS: ["system", "is on a disk that cannot be written"],
  ENOSPC: ["system", "was not written: the disk is full. Free space and try again"],
  EDQUOT: ["system", "was not written: the disk quota is used up. Free space and try again"],
  EFBIG: ["too-large", "is larger than this system allows"],
  EMFILE: ["system", "was not opened: too many files are open. Try again in a moment"],
  ENFILE: ["system", "was not opened: too many files are open. Try again in a moment"],
  EEXIST: ["exists", "exists already"],
  EISDIR: ["not-a-file", "is a folder"],
  ENOTEMPTY: ["exists", "is a folder that is not empty"],
  ENXIO: ["not-a-file", "is no regular file"],
};

/** The error as a FileError about `shown`, the path as the caller gave it. Other errors (aborts, faults of ours) pass. */
export function fileErrorOf(error: unknown, shown: string): unknown {
  if (error instanceof FileError) return error.message === "" ? notFound(shown) : error;
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  if (typeof code !== "string" || !/^E[A-Z]+$/.test(code)) return error;
  const [kind, words] = WORDS[code] ?? ["system", `could not be used (${code})`];
  return new FileError(kind, `"${shown}" ${words}.`);
}

function notFound(shown: string): FileError {
  return new FileError("not-found", `"${shown}" does not exist.`);
}

// Works in a folder that was found, and in no other that has its name by then.

/**
 * Calls `act` with a path under which the very folder is reached until it returns; `act` must not wait for anything.
 *
 * @throws FileError `changed` when what has its name is another one, `system` where the process cannot go anywhere (threads)
 */
export function inFolder<T>(folder: Found, act: (at: string) => T): T {
  if (folder.at !== folder.path) return act(folder.at);
  return standingIn(folder.path, (real) => {
    const { dev, ino } = lstatSync(".");
    if (dev === folder.stats.dev && ino === folder.stats.ino && real === folder.path) return act(".");
    throw new FileError("changed", "Its folder was exchanged meanwhile; try again.");
  });
}

/**
 * Where folders have no handles the process goes into one for that time: the system keeps a working folder by itself and not by
 * its name, so whatever is done under `.` happens there, even if the name leads elsewhere meanwhile. `act` gets the path the
 * system knows it by, without any link that was followed, and must not wait for anything.
 */
export function standingIn<T>(path: string, act: (real: string) => T): T {
  if (!isMainThread)
    throw new FileError("system", "This thread has no way to hold a folder, so no file is used in it.");
  const back = workingFolder();
  try {
    process.chdir(path);
    return act(workingFolder() ?? "");
  } finally {
    leave(back ?? parse(path).root);
  }
}

/** Somebody may have removed it: then there is no way back. */
function leave(back: string): void {
  try {
    process.chdir(back);
  } catch {
    process.chdir(parse(back).root);
  }
}

/** Undefined when it was removed. Windows says by what path it was entered, and tells the real one by the folder alone. */
function workingFolder(): string | undefined {
  try {
    return process.platform === "win32" ? realpathSync.native(".").replaceAll("\\", "/") : process.cwd();
  } catch {
    return undefined;
  }
}

// The folders a client shares: they narrow what the policy allows, and never widen it.

/** Roots looked at; clients name a handful. */
const MOST_ROOTS = 100;

export class ClientRoots {
  /** As the client wrote them, as paths. */
  readonly shown: readonly string[];
  readonly #real: readonly string[];

  private constructor(shown: readonly string[], real: readonly string[]) {
    this.shown = shown;
    this.#real = real;
  }

  /** URIs that name no local folder are left out. */
  static async of(uris: readonly string[]): Promise<ClientRoots> {
    const shown = outermost(uris.slice(0, MOST_ROOTS).flatMap((uri) => pathOfRoot(uri) ?? []));
    return new ClientRoots(shown, await Promise.all(shown.map(realPrefix)));
  }

  /** Whether a path lies in a root, by this name or where the root really is. */
  hold(path: string, rules: FileRules): boolean {
    const roots = [...this.shown, ...this.#real];
    return [path, rules.show(path)].some((name) => roots.some((root) => liesIn(name, root)));
  }

  /** Those of these folders, or of the roots in them, that are in both. */
  narrow(folders: readonly string[]): string[] {
    const both = folders.flatMap((folder) =>
      this.shown.flatMap((root) => (liesIn(folder, root) ? [folder] : liesIn(root, folder) ? [root] : [])),
    );
    return outermost(both);
  }
}

function pathOfRoot(uri: string): string | undefined {
  try {
    return plainPath(fileURLToPath(uri));
  } catch {
    return undefined;
  }
}
