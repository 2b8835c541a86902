// Judges paths by one policy and the built-in protections: a real path is judged under every name the policy has for it.
import { lstatSync } from "node:fs";
import { startedFiles } from "../../policy/started-files.js";
import type { Policy } from "../../policy/policy.js";
import {
  type Alias,
  aliasOf,
  join,
  liesIn,
  literalPrefix,
  namesOf,
  outermost,
  parentOf,
  pathOf,
  realPrefix,
  rootFolders,
} from "./plain-path.js";
import { aliasesOf, placesStarted, type StartedPlace } from "./bases.js";
import { COMMANDS, GIT_STORE, OWN, PROGRAM, type Protection, STARTED } from "./protected-names.js";
import { beginsProtected, foldName, leadsOn, mayCount, protectionOf } from "./protection-of.js";
import { type OwnFiles, programFiles, programPlaces, writtenPlaces } from "./own-files.js";
import { foldCase } from "../../policy/path-matcher.js";
import { decide, type FileOperation } from "../../policy/decide.js";
import type { Rule } from "../../policy/faults.js";
import { FolderSurvey, SecondViews } from "./folder-survey.js";
import { type Listing, LISTING, type Mounts, MOUNTS, storedPath } from "./mounted-names.js";
import { homePlace, ProtectedLinks } from "./protected-links.js";

/** Why a path is refused. */
interface Refusal {
  readonly rule: string;
  readonly reason: string;
}

/** Stands for no refusal in the judgements that are kept. */
const ALLOWED: Refusal = Object.freeze({ rule: "", reason: "" });
/** Judgements kept: about those of one session, in less than a megabyte. */
const MOST_KNOWN = 2_000;
const LONGEST_KNOWN = 256;
/** Links that only deny are looked at no more often: there may be many, and their names stay denied meanwhile. */
const OTHERS_MS = 1_000;
/** A link that moves on with each release leaves one behind; the policy is loaded anew long before. */
const MOST_FORMER = 1_000;
const SHORT_NAME: Refusal = Object.freeze({
  rule: "built-in protection of names that are short for others",
  reason: "The file system knows it by another name, which cannot be found out; use the name that its folder lists.",
});
const OUTSIDE: Refusal = Object.freeze({ rule: "default deny", reason: "The policy does not allow it." });

/** Who looks: git's own files are for the reader of git history and for nobody else. */
export type Reader = "git" | undefined;

export class FileRules {
  readonly policy: Policy;
  /** Where lookups begin. */
  readonly roots: readonly string[];
  /** What people are told they may use. */
  readonly shown: readonly string[];
  /** Those of them that patterns with wildcards begin with, which therefore are folders. */
  readonly folders: readonly string[];
  #aliases: readonly Alias[];
  /** Those that have led elsewhere since: what they deny there stays denied, and nothing is allowed by them. */
  #former: readonly Alias[];
  /** The roots, as they are written and as they really are. */
  #tops: readonly string[] = [];
  #othersChecked = 0;
  readonly #own: OwnFiles;
  /** Folded, as named and as they really are. */
  readonly #started: readonly StartedPlace[];
  readonly #byName: boolean;
  readonly #system: SeenSystem;
  readonly #views: SecondViews;
  readonly #permissions: readonly (readonly string[])[];
  /** Judgements made: they cannot change as long as the policy does not. */
  readonly #known = new Map<string, Refusal>();

  private constructor(policy: Policy, { aliases, former, own, started, byName, system }: Known) {
    this.policy = policy;
    this.#system = system;
    this.#started = started;
    this.#byName = byName;
    this.#aliases = aliases;
    this.#former = former;
    this.#own = own;
    const places = byName ? [] : [...writtenPlaces(own), ...programPlaces(), ...started.map(({ written }) => written)];
    this.#views = new SecondViews(places);
    const { allowed, readable } = policy.filesystem;
    const patterns = [...allowed.rules, ...readable.rules].map(({ pattern }) => pattern);
    this.roots = rootFolders(patterns);
    this.shown = outermost(patterns.map(literalPrefix));
    this.folders = this.shown.filter((path) => !patterns.includes(path));
    this.#permissions = patterns.map(namesOf);
  }

  /** Judges names alone, without a look at the disk: no other names of folders are known to it, and no files of its own. */
  static byName(policy: Policy): FileRules {
    return new FileRules(policy, {
      aliases: [],
      former: [],
      own: [] as readonly string[] as OwnFiles,
      started: [],
      byName: true,
      system: SYSTEM,
    });
  }

  /** `system`: another one, for tests. */
  static async of(policy: Policy, own: OwnFiles, system: SeenSystem = SYSTEM): Promise<FileRules> {
    const { linked: aliases, others: former } = await aliasesOf(policy.filesystem);
    const started = startedFiles(policy).flatMap(placesStarted);
    const rules = new FileRules(policy, { aliases, former, own, started, byName: false, system });
    await rules.#findTops();
    return rules;
  }

  async #findTops(): Promise<void> {
    const real = await Promise.all(this.roots.map(realPrefix));
    this.#tops = [...new Set([...this.roots, ...real])];
    await SURVEY.add(outermost(real));
  }

  /**
   * Looks for links of protected names wherever programs find them: at home, and in each allowed folder above a path. What could not be
   * looked through may hold one that leads to the path.
   */
  #lookAround(path: string): Refusal | undefined {
    if (this.#byName) return undefined;
    LINKS.look(homePlace()); // One that cannot be listed has nothing for its owner's programs.
    for (let above = parentOf(path); this.#tops.some((top) => liesIn(above, top)); above = parentOf(above)) {
      const fault = LINKS.look(above);
      if (fault !== undefined) return { rule: "built-in protection of what protected names lead to", reason: fault };
      if (above === parentOf(above)) break;
    }
    return undefined;
  }

  /** Why the name itself stays as it is: a protected name would lead elsewhere without it. */
  onTheWay(path: string): Refusal | undefined {
    if (this.#byName) return undefined;
    const fault = this.#lookAround(path);
    if (fault !== undefined) return fault;
    const [written] = [path, ...this.#system.mounts.namesOf(path).names].flatMap((name) => LINKS.passing(name) ?? []);
    if (written === undefined) return undefined;
    const named = protectionOf(written)?.rule ?? "built-in protection of where protected names begin";
    return {
      rule: `${named}, and this is on the way to it`,
      reason: "This name is protected, and no policy can allow to change it.",
    };
  }

  /** Whether protected names begin with one of its names (`beginsProtected`). */
  begins(path: string, by: "bring" | "fill"): boolean {
    return [path, ...this.otherNames(path), ...this.#outsideName(path)].some((name) => beginsProtected(name, by));
  }

  /** Every name under which what the path leads to is found as well: by links of protected names, and by what is mounted again. */
  otherNames(path: string): string[] {
    if (this.#byName) return [];
    const stored = this.#storedPath(path) ?? path;
    const mounted = [path, stored].flatMap((name) => this.#system.mounts.namesOf(name).names);
    const names = stored === path ? mounted : [stored, ...mounted];
    const linked = [path, ...names].flatMap((name) => this.#linkedNames(name));
    return [...new Set([...linked, ...this.#views.namesOf(path), ...names])];
  }

  /** By the names that its folders list; undefined where they do not list what is there. */
  #storedPath(path: string): string | undefined {
    const short = this.#system.mounts.shortNames(path);
    return short === undefined ? path : storedPath(path, short, this.#system.listing);
  }

  /**
   * What a mounted part is called outside of a container, where others start what it says. Where that part as a whole is protected by
   * its name there, and is all that is allowed, it would leave nothing.
   */
  #outsideName(path: string): string[] {
    const { outside } = this.#byName ? { outside: undefined } : this.#system.mounts.namesOf(path);
    if (outside === undefined) return [];
    const { name, root, at } = outside;
    const isGranted = protectionOf(root) !== undefined && this.#tops.some((top) => liesIn(top, at));
    return isGranted ? [] : [name];
  }

  /** The names a path has by links of protected names. One that leads to all that is allowed would leave nothing. */
  #linkedNames(path: string): string[] {
    return LINKS.namesOf(path)
      .filter(
        ({ written, real }) => protectionOf(written) === undefined || !this.#tops.some((top) => liesIn(top, real)),
      )
      .map(({ name }) => name);
  }

  /**
   * Looks where the links in the rules lead by now. A folder that is allowed by the name of a link is allowed where the link
   * leads; a link that stands inside of what is allowed could be moved by whoever writes there, so it allows what it did when
   * the policy was loaded, and denies there and where it leads.
   */
  async followLinks(): Promise<void> {
    const due = performance.now() - this.#othersChecked >= OTHERS_MS;
    if (due) {
      this.#othersChecked = performance.now();
      await this.#findTops();
    }
    const checked = this.#aliases.filter(({ written }) => due || this.shown.includes(written));
    if (checked.length === 0) return;
    const moved = (await Promise.all(checked.map(({ written }) => aliasOf(written)))).filter(
      ({ real }, index) => real !== checked[index]?.real,
    );
    if (moved.length === 0) return;
    const before = this.#aliases;
    const nowOf = ({ written }: Alias): Alias | undefined => moved.find((alias) => alias.written === written);
    this.#aliases = before.map((alias) => (this.shown.includes(alias.written) ? nowOf(alias) : undefined) ?? alias);
    const apart = [...before, ...moved].filter((alias) => !this.#aliases.includes(alias));
    const news = apart.filter(
      ({ written, real }) => !this.#former.some((old) => old.written === written && old.real === real),
    );
    if (news.length === 0 && this.#aliases.every((alias, index) => alias === before[index])) return;
    this.#former = [...this.#former, ...news].slice(-MOST_FORMER);
    this.#known.clear();
  }

  /** Undefined when the operation is allowed. The path is plain, and where it matters free of links. */
  judge(path: string, op: FileOperation, reader?: Reader): Refusal | undefined {
    const key = `${reader ?? ""}${op} ${path}`;
    let known = this.#known.get(key);
    if (known === undefined) {
      known = this.#judged(path, { op, reader }) ?? ALLOWED;
      if (this.#known.size === MOST_KNOWN) this.#known.clear();
      if (path.length <= LONGEST_KNOWN) this.#known.set(key, known);
    }
    if (known !== ALLOWED) return known;
    const refusal = this.#lookAround(path) ?? this.#elsewhere(path, { op, reader });
    if (refusal !== undefined) return refusal;
    // What lies around a file may change, so this is not kept.
    return refusalOf(this.#repositoryProtection(path, op), { op, reader });
  }

  /**
   * What a path is protected from whatever the policy says, by its names, as the program's own, and by the git repository it
   * lies in. For whoever shows folders to other programs.
   */
  protection(path: string): Protection | undefined {
    const names = [...this.#namesFor(path), ...this.otherNames(path), ...this.#outsideName(path)];
    const found = names.flatMap((name) => [this.#ownProtection(name), protectionOf(name)]);
    const strict = found.find((protection) => protection?.from === "read and write");
    return strict ?? this.#repositoryProtection(path, "write") ?? found.find(Boolean);
  }

  #judged(path: string, asked: Asked): Refusal | undefined {
    const { op } = asked;
    const names = this.#namesFor(path);
    // What lies outside is all alike: the rule that protects it would say what it is.
    if (!names.some((name) => this.roots.some((root) => liesIn(name, root)))) return OUTSIDE;
    // What is allowed is written as it is allowed; what is denied is denied in all spellings, behind links too.
    for (const name of [path, ...underAliases(path, [...this.#aliases, ...this.#former], foldCase)]) {
      const refusal = this.#protectedAs(name, asked) ?? this.denial(name, op);
      if (refusal !== undefined) return refusal;
    }
    const decisions = names.map((name) => decide(this.policy, { kind: "file", path: name, op }));
    if (decisions.some(({ allowed }) => allowed)) return undefined;
    if (op === "list" && names.some((name) => this.#mayHold(name))) return undefined;
    const rule = decisions.find((decision) => decision.rule.text !== OUTSIDE.rule)?.rule;
    return rule === undefined ? OUTSIDE : { rule: lined(rule), reason: `The policy denies this ${op}.` };
  }

  #protectedAs(name: string, asked: Asked): Refusal | undefined {
    const named = protectionOf(name, changes(asked.op) ? undefined : asked.reader);
    return refusalOf(this.#ownProtection(name), asked) ?? refusalOf(named, asked);
  }

  /** What is led to by a protected link, or mounted a second time, is what it is there. Both come and go, so nothing is kept. */
  #elsewhere(path: string, asked: Asked): Refusal | undefined {
    if (this.#byName) return undefined;
    if (this.#storedPath(path) === undefined) return SHORT_NAME;
    for (const name of this.otherNames(path)) {
      const refusal = this.#protectedAs(name, asked) ?? this.denial(name, asked.op);
      if (refusal !== undefined) return refusal;
    }
    const [outside] = this.#outsideName(path);
    return outside === undefined ? undefined : this.#protectedAs(outside, asked);
  }

  #repositoryProtection(path: string, op: FileOperation): Protection | undefined {
    if (this.#byName) return undefined;
    for (const name of [path, ...this.#system.mounts.namesOf(path).names]) {
      const found = repositoryProtection(name, op);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The path as the policy writes it. */
  show(path: string): string {
    return this.#namesFor(path).find((name) => this.shown.some((folder) => liesIn(name, folder))) ?? path;
  }

  /** The path itself, and under every other name a rule has for a folder it lies in. */
  #namesFor(path: string): string[] {
    return [path, ...underAliases(path, this.#aliases)];
  }

  #ownProtection(path: string): Protection | undefined {
    const name = foldCase(path);
    if (this.#own.some((own) => liesIn(name, own) || name.startsWith(`${own}.`))) return OWN;
    if (programFiles().some((own) => liesIn(name, own))) return PROGRAM;
    const started = this.#started.some(
      (one) => (one.alone ? name === one.path : liesIn(name, one.path)) && one.except?.find(path) === undefined,
    );
    return started ? STARTED : undefined;
  }

  /** What denies a path by its own name, wherever it lies: a denied folder denies what is in it. */
  denial(path: string, op: FileOperation): Refusal | undefined {
    const { denied, unwritable } = this.policy.filesystem;
    const names = namesOf(path);
    for (let length = names.length; length > 0; length -= 1) {
      const above = pathOf(names.slice(0, length));
      const rule = denied.find(above) ?? (changes(op) ? unwritable.find(above) : undefined);
      if (rule !== undefined) return { rule: lined(rule), reason: `The policy denies this ${op}.` };
    }
    return undefined;
  }

  /** Whether something in this folder may be allowed: then it may be listed, as far as that goes. */
  #mayHold(path: string): boolean {
    const names = namesOf(path);
    return this.#permissions.some((pattern) => {
      for (const [index, name] of names.entries()) {
        const wanted = pattern[index];
        if (wanted === "**") return true;
        if (wanted === undefined || (wanted !== name && !/[*?]/.test(wanted))) return false;
      }
      return pattern.length > names.length && liesIn(path, literalPrefix(pathOf(pattern)));
    });
  }
}

const LINKS: ProtectedLinks = new ProtectedLinks({
  mayCount,
  classOf: (path) => protectionOf(path)?.class,
  begins: (path) => beginsProtected(path, "bring"),
  leadsOn,
  large: new Set([GIT_STORE, "version-managers", "package-managers", "browsers", "histories"]),
  passedOver: COMMANDS,
});

/** What is asked about mounts and folders. */
interface SeenSystem {
  readonly mounts: Mounts;
  readonly listing: Listing;
}

const SYSTEM: SeenSystem = { mounts: MOUNTS, listing: LISTING };

/** Packages are brought by programs, and no person keeps settings there. */
const PACKAGES = /\/node_modules$/;

const SURVEY: FolderSurvey = new FolderSurvey((folder) => void LINKS.look(folder), {
  mayCount,
  isApart: (path) => PACKAGES.test(path) || protectionOf(path) !== undefined,
});

/** `fold`: where the names of folders are compared by what it makes of them. */
function underAliases(path: string, aliases: readonly Alias[], fold: (path: string) => string = same): string[] {
  const others = aliases.filter(({ real }) => liesIn(fold(path), fold(real)));
  return others.map(({ real, written }) => namesOf(path).slice(namesOf(real).length).reduce(join, written));
}

function same(path: string): string {
  return path;
}

interface Known {
  readonly aliases: readonly Alias[];
  readonly former: readonly Alias[];
  readonly own: OwnFiles;
  readonly started: readonly StartedPlace[];
  /** Whether nothing is known but names. */
  readonly byName: boolean;
  readonly system: SeenSystem;
}

interface Asked {
  readonly op: FileOperation;
  readonly reader: Reader;
}

function changes(op: FileOperation): boolean {
  return op === "write" || op === "delete";
}

function refusalOf(protection: Protection | undefined, { op, reader }: Asked): Refusal | undefined {
  if (protection === undefined || (protection.from === "write" && !changes(op))) return undefined;
  if (reader === "git" && protection.class === GIT_STORE && !changes(op)) return undefined;
  return {
    rule: protection.rule,
    reason: changes(op)
      ? "This name is protected, and no policy can allow to change it."
      : "This name is protected, and no policy can allow it.",
  };
}

/** What git keeps in a repository's folder, whatever that folder is called. */
const GIT_LAYOUT: ReadonlySet<string> = new Set(
  (
    "head objects refs reftable commondir gitdir config config.worktree config.lock hooks info index packed-refs logs lfs modules " +
    "worktrees shallow branches remotes annex description fetch_head orig_head merge_head commit_editmsg rebase-merge rebase-apply sequencer"
  ).split(" "),
);
/** With a `HEAD` beside them git takes a folder for a repository, and runs what its `config` and `hooks` say. */
const COMPLETING: readonly string[] = ["objects", "refs", "commondir"];
const BARE: Protection = Object.freeze({
  class: GIT_STORE,
  from: "read and write",
  rule: "built-in protection of git repositories: git takes a folder with HEAD, objects and refs for one, and runs what it says",
});

/**
 * A folder with a file `HEAD` is a repository, or one file away from being one: what git keeps there is not written, and where
 * it is one not read either. No tool makes a file `HEAD`, so that the parts of a repository come together in no order.
 */
function repositoryProtection(path: string, op: FileOperation): Protection | undefined {
  const names = namesOf(path);
  for (const [index, name] of names.entries()) {
    if (!GIT_LAYOUT.has(foldName(name))) continue;
    const folder = pathOf(names.slice(0, index));
    const begun = (): boolean => COMPLETING.some((part) => isThere(`${folder}/${part}`));
    if (isFile(`${folder}/HEAD`) && (changes(op) || begun())) return BARE;
    const makesHead = index === names.length - 1 && op === "write" && foldName(name) === "head";
    if (makesHead && (name === "HEAD" || begun())) return BARE;
  }
  return undefined;
}

/** Whether a path is judged by what lies beside it, too, which may come or go. */
export function isOfGit(path: string): boolean {
  return namesOf(path).some((name) => GIT_LAYOUT.has(foldName(name)));
}

/** A link counts: git follows it. What cannot be looked at may be one. */
function isFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return true;
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function lined({ text, line }: Rule): string {
  return line === undefined ? text : `${text} (line ${line} of the policy)`;
}
