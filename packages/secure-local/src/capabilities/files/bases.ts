// Where the paths that a policy names led when it was loaded, and which of them a program could lead elsewhere.
import * as fs from "node:fs";
import { decide } from "../../policy/decide.js";
import { foldCase, PathMatcher } from "../../policy/path-matcher.js";
import { grantedPolicy } from "../../policy/granted-policy.js";
import type { AllowedCommand, FilesystemPolicy, Policy, StartedFile } from "../../policy/policy.js";
import { startedFiles } from "../../policy/started-files.js";
import type { PatternRule, Rule } from "../../policy/faults.js";
import { wayTo } from "./leads-to.js";
import { slashed } from "./own-files.js";
import { type Alias, aliasOf, liesIn, literalPrefix, namesOf, parentOf, pathOf, realPrefixNow } from "./plain-path.js";

/** The paths that rules begin with, and where each led when a policy with it was first seen by this process. */
const BASES = new Map<string, string>();
/** Folders that programs may write, of every policy seen: a link that one has put there stays when its permission goes. */
const WRITTEN = new Set<string>();
/** What a policy starts: where that was when it was loaded, and whether a program could have led it elsewhere. */
const STARTS = new Map<string, { readonly real: string; readonly exchangeable: boolean }>();

/**
 * To be called when a policy is loaded, before anything is started by it: what becomes a link later is one that somebody else put
 * there, and nothing is allowed where it leads. So is one that a plugin, server or command may put there at any time.
 */
export function rememberBases(policy: Policy): void {
  for (const folder of writtenFolders(policy)) WRITTEN.add(folder).add(realPrefixNow(folder));
  const { filesystem, plugins, servers } = policy;
  const granted = [...plugins.load.values(), ...servers.values()].map((other) => other.filesystem);
  const named = [...[filesystem, ...granted].flatMap(prefixesOf), ...namedFiles(policy)];
  for (const path of new Set([...BASES.keys(), ...named])) {
    if (isExchangeable(path)) BASES.set(path, path);
    else if (!BASES.has(path)) BASES.set(path, realPrefixNow(path));
  }
  for (const { path } of startedFiles(policy))
    STARTS.set(path, { real: realPrefixNow(path), exchangeable: isExchangeable(path) });
}

/** Whether something to start is elsewhere than when the policy was loaded, behind a link that a program may have exchanged. */
export function isMoved(path: string): boolean {
  const was = STARTS.get(path);
  if (was !== undefined && !wayTo(path).isWhole && fs.existsSync(path)) return true;
  return was !== undefined && was.real !== realPrefixNow(path) && (was.exchangeable || isExchangeable(path));
}

/** Scripts that are interpreted by scripts: more the system does not follow. */
const MOST_INTERPRETERS = 5;
/** A first line is no longer for Linux. */
const FIRST_LINE = 256;

/** All that decides what is started by a path, folded: where it is, its interpreters, and the links on the way to each. */
export function placesStarted({ path, except, from, existing = false }: StartedFile): StartedPlace[] {
  if (existing && !mayBeFile(path)) return [];
  const places: Omit<StartedPlace, "written">[] = [];
  let next: string | undefined = slashed(path);
  for (let depth = 0; next !== undefined && depth <= MOST_INTERPRETERS; depth += 1) {
    const { real, links, isWhole } = wayTo(next);
    // Where not all links were seen, what lies around counts as well.
    const around = isWhole ? [] : [next, real].map(parentOf);
    const whole = [next, real, realPrefixNow(next), ...around].map((place) => ({ path: place, except, alone: false }));
    places.push(...whole, ...links.map((link) => ({ path: link, except: undefined, alone: true })));
    // By the name it is started by: where that leads need not be text.
    next = interpreterOf(next, from);
  }
  return places.map((place) => ({ ...place, path: foldCase(place.path), written: place.path }));
}

/** What a path or a text that may be one is when it is not there, and cannot be. */
const ABSENT: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"]);

/** What cannot be looked at may be one. */
function mayBeFile(path: string): boolean {
  try {
    return isFile(path);
  } catch (error) {
    return !ABSENT.has((error as NodeJS.ErrnoException).code);
  }
}

function isFile(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** What the first line of a script names; undefined for other files, and for what cannot be read. */
function interpreterOf(file: string, from: string | undefined): string | undefined {
  try {
    if (!isFile(file)) return undefined;
    const fd = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    try {
      const line = Buffer.alloc(FIRST_LINE);
      const text = line.toString("utf8", 0, fs.readSync(fd, line, 0, FIRST_LINE, 0));
      const named = /^#![ \t]*([^ \t\r\n\0]+)/.exec(text)?.[1];
      if (named === undefined || named.startsWith("/")) return named;
      return from === undefined ? undefined : `${from}/${named}`;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** A part of what a policy starts. */
export interface StartedPlace {
  /** Folded. */
  readonly path: string;
  readonly written: string;
  readonly except: PathMatcher | undefined;
  /** A link on the way: what is named below it has a name of its own. */
  readonly alone: boolean;
}

/** What plugins, servers and commands may write, and so what links they may put there. */
function writtenFolders(policy: Policy): string[] {
  const { plugins, servers, commands, filesystem } = policy;
  const granted = [...plugins.load.values(), ...servers.values()].map((other) => other.filesystem);
  if ([...commands.allowed.values()].some(isToldWhatToWrite)) granted.push(filesystem);
  const written = granted.flatMap(({ allowed, readOnly }) => (readOnly === undefined ? allowed.rules : []));
  return [
    ...written.map(({ pattern }) => literalPrefix(pattern)),
    ...[...commands.allowed.values()].flatMap(({ workingDirectory: folder }) =>
      folder !== undefined && decide(policy, { kind: "file", path: folder, op: "write" }).allowed ? [folder] : [],
    ),
  ];
}

/** A file that is not there yet is made by writing its folder. */
function isToldWhatToWrite({ positions, flags }: AllowedCommand): boolean {
  const grammars = [...positions.map(({ grammar }) => grammar), ...flags.map(({ value }) => value)];
  return grammars.some((grammar) => grammar?.kind === "path" && grammar.access === "write");
}

/** Whether a link on the way to a path stands where a program of the policy may put another. */
export function isExchangeable(path: string): boolean {
  const names = namesOf(path);
  // Each folder above by itself: what cannot be looked at ends a way, and its beginning counts all the same.
  return names.some((_, index) => {
    const { links, isWhole } = wayTo(pathOf(names.slice(0, names.length - index)));
    // What nobody could see to its end may be led elsewhere anywhere.
    if (!isWhole) return true;
    return links.some((link) => [...WRITTEN].some((folder) => link !== folder && liesIn(link, folder)));
  });
}

/** What the program opens by itself because the policy names it. */
function namedFiles({ prompts, databases }: Policy): string[] {
  const stores = [...databases.values()].flatMap(({ store }) => (store.kind === "sqlite" ? [store.file] : []));
  return [...(prompts.analyzeLogsFile === undefined ? [] : [prompts.analyzeLogsFile]), ...stores];
}

/** A policy that grants the reading of one file that `policy` names, and nothing else. What `policy` denies stays denied. */
export function readingOnly(policy: Policy, file: string, rule: Rule): Policy {
  const real = BASES.get(file) ?? file;
  // A name with a wildcard in it would be a pattern.
  const readable: PatternRule[] = [file, ...(/[*?]/.test(real) ? [] : [real])].map((pattern) => ({ pattern, rule }));
  const none = new PathMatcher([], false);
  const filesystem = { ...policy.filesystem, allowed: none, readable: new PathMatcher(readable, false) };
  return grantedPolicy(policy, { network: policy.network, filesystem });
}

interface Aliases {
  /** Those that were links when the policy was loaded. */
  readonly linked: Alias[];
  /** Where they and others lead by now: what is denied there is denied, and nothing is allowed by them. */
  readonly others: Alias[];
}

/** Every prefix of a rule, of permissions and denials alike, that is another path in truth. */
export async function aliasesOf(filesystem: FilesystemPolicy): Promise<Aliases> {
  const now = await Promise.all([...new Set(prefixesOf(filesystem))].map(aliasOf));
  const first = now.map(({ written, real }): Alias => {
    if (!BASES.has(written)) BASES.set(written, isExchangeable(written) ? written : real);
    return { written, real: BASES.get(written) ?? real };
  });
  const linked = first.filter(({ written, real }) => written !== real);
  const others = now.filter(({ written, real }, index) => written !== real && first[index]?.real !== real);
  return { linked, others };
}

function prefixesOf({ allowed, readable, denied, unwritable }: FilesystemPolicy): string[] {
  const rules = [allowed, readable, denied, unwritable].flatMap((matcher) => matcher.rules);
  return rules.map(({ pattern }) => literalPrefix(pattern)).filter((prefix) => prefix !== "/");
}
