// Finds what a path leads to, link by link, and lets nothing through that the rules do not allow at its real place.
import type { FileOperation } from "../../policy/decide.js";
import type { ClientRoots } from "./client-roots.js";
import { FileError } from "./file-error.js";
import type { FileRules, Reader } from "./file-rules.js";
import { type Found, isLink, type LinkOnTheWay, type Lookup } from "./lookup.js";
import { join, liesIn, namesOf, plainPath } from "./plain-path.js";
import { parentOf } from "./root-folders.js";
import { fileErrorOf, notFound } from "./system-error.js";

/** Links followed for one path, as on Linux. */
const MOST_LINKS = 40;

/** The rules one operation goes by. */
export interface Terms {
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
  judge(terms: Terms, given: string, op: FileOperation): void {
    this.#judge(terms, plainPath(given), { given, op });
  }

  /** What `given` leads to. Close it. */
  async find(terms: Terms, given: string, op: FileOperation): Promise<Found> {
    const { found } = await this.#follow(terms, { given, op, last: true });
    const refusal = found.stats.isFile() && found.stats.nlink > 1 ? HARD_LINK : undefined;
    if (refusal === undefined) return found;
    found.close();
    throw new FileError("hard-link", `"${given}" ${refusal}.`, "built-in rule: no hard links");
  }

  /** The folder `given` stands in, and its name there; what has that name is not looked at. Close the folder. */
  async place(terms: Terms, given: string, op: FileOperation): Promise<FoundPlace> {
    const { found, name } = await this.#follow(terms, { given, op, last: false });
    if (found.stats.isDirectory()) return { folder: found, name, path: join(found.path, name) };
    found.close();
    throw new FileError("not-found", `"${given}" does not exist: a part of its path is no folder.`);
  }

  async #follow(terms: Terms, want: Wanted): Promise<{ readonly found: Found; readonly name: string }> {
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
    terms: Terms,
    at: { readonly found: Found; readonly name: string },
    want: Wanted & { readonly judged: string },
  ): typeof at {
    const path = want.last ? at.found.path : join(at.found.path, at.name);
    try {
      if (path !== want.judged) this.#judge(terms, path, want);
      return at;
    } catch (error) {
      at.found.close();
      throw error;
    }
  }

  async #look(terms: Terms, path: string, want: Pick<Wanted, "given" | "op">): Promise<Look> {
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
  async #rootThatIs({ rules }: Terms, path: string): Promise<string | undefined> {
    for (const written of rules.roots) {
      const root = await this.#lookup.openRoot(written).catch(() => undefined);
      root?.close();
      if (root !== undefined && liesIn(path, root.real)) return written;
    }
    return undefined;
  }

  #judge({ rules, client, reader }: Terms, path: string, { given, op }: Pick<Wanted, "given" | "op">): void {
    const refusal = rules.judge(path, op, reader);
    if (refusal !== undefined) {
      const { rule, reason } = refusal;
      if (rule === "default deny") throw outside({ rules, client }, { given, op });
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

function outside({ rules, client }: Terms, { given, op }: Pick<Wanted, "given" | "op">): FileError {
  const folders = (client?.narrow(rules.shown) ?? rules.shown).join(", ") || "no folder";
  const words = `The policy does not allow to ${op} "${given}". It allows files in: ${folders}`;
  return new FileError("denied", `${words}; others can be added to filesystem.allowed_paths.`, "default deny");
}
