// Where this program keeps what it lives by, and the check that no policy lets a sandbox write there, nor a kept home lie in what is granted.
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { decide } from "./decide.js";
import type { Policy } from "./policy.js";
import type { Faults, PolicyFault, Rule } from "./faults.js";
import { PathMatcher } from "./path-matcher.js";
import type { Section } from "./section.js";

const NAME = "mcp-secure-local";

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder for what this program is set up with, as each system has it. */
export function configFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const { XDG_CONFIG_HOME: config, APPDATA: roaming } = environment;
  if (config !== undefined && isAbsolute(config)) return join(config, NAME);
  const home = homedir();
  if (platform === "darwin") return join(home, "Library", "Preferences", NAME);
  if (platform === "win32") return join(roaming || join(home, "AppData", "Roaming"), NAME, "Config");
  return join(home, ".config", NAME);
}

/** The folder for what this program remembers, as each system has it. */
export function stateFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const { XDG_STATE_HOME: state, LOCALAPPDATA: local } = environment;
  if (state !== undefined && isAbsolute(state)) return join(state, NAME);
  const home = homedir();
  if (platform === "darwin") return join(home, "Library", "Logs", NAME);
  if (platform === "win32") return join(local || join(home, "AppData", "Local"), NAME, "Log");
  return join(home, ".local", "state", NAME);
}

/** The folder for the code V8 made of this program, as the launcher has it. */
export function cacheFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const home = platform === "darwin" ? join(homedir(), "Library", "Caches") : join(homedir(), ".cache");
  const { XDG_CACHE_HOME: cache } = environment;
  return join(cache !== undefined && isAbsolute(cache) ? cache : home, NAME);
}

/** The folder for what this program keeps for its user, as each system has it. */
export function dataFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const { XDG_DATA_HOME: data, LOCALAPPDATA: local } = environment;
  if (data !== undefined && isAbsolute(data)) return join(data, NAME);
  const home = homedir();
  if (platform === "darwin") return join(home, "Library", "Application Support", NAME);
  if (platform === "win32") return join(local || join(home, "AppData", "Local"), NAME, "Data");
  return join(home, ".local", "share", NAME);
}

/** Whether a path lies where this program keeps what it lives by, which no policy can grant. */
export function isOwnPlace(path: string): boolean {
  return ownFolders(process.env).some((own) => `${path}/`.startsWith(`${own.path}/`));
}

interface Place {
  /** In words, with the line that names it, or its path. */
  readonly what: string;
  readonly path: string;
}

/** A part of a policy that lets a sandbox write, or see, all below a folder. */
interface Grant {
  readonly rule: Rule;
  readonly holds: (path: string) => Rule | undefined;
  /** The folders that it names. */
  readonly folders: readonly string[];
}

/** Every name by which a path is found, also below `folders`, and the links on the way to it. */
export type NamesOfPlace = (path: string, folders: readonly string[]) => readonly string[];

interface Surroundings {
  /** Default: that of the process. */
  readonly environment?: Environment;
  /** Default: a path has no name but its own, and nothing is looked at. */
  readonly namesOf?: NamesOfPlace;
}

/** The lines of keys that name places of the program's own, for `ownPlaceFaults`. */
export function placeLines(root: Section): ReadonlyMap<string, number> {
  const lineOf = (section: string, key: string): readonly (readonly [string, number])[] => {
    const tree = root.tree(section);
    const line = tree?.kind === "map" ? tree.entries.get(key)?.value.place.line : undefined;
    return line === undefined ? [] : [[`${section}.${key}`, line]];
  };
  return new Map([
    ...lineOf("audit", "log_file"),
    ...lineOf("audit", "checkpoints"),
    ...lineOf("sandbox", "homes"),
    ...lineOf("sandbox", "read_only_paths"),
  ]);
}

/** The faults of `ownPlaceFaults` that can be told by names alone. */
export function checkOwnPlaces(faults: Faults, policy: Policy, environment: Environment): void {
  for (const { line, column, message } of ownPlaceFaults(policy, { environment }))
    faults.add({ line, column }, message);
}

/**
 * What a sandbox may write must not hold what the guard itself goes by, and no grant what another sandbox's home is, nor a home what
 * is granted: each fault stands at the line of the grant and names the line of the other.
 */
export function ownPlaceFaults(policy: Policy, { environment, namesOf = itself }: Surroundings): PolicyFault[] {
  const faults: PolicyFault[] = [];
  const tell = ({ text, line = 1, column = 1 }: Rule, words: string): void =>
    void faults.push({ file: policy.file ?? "the built-in policy", line, column, message: `${text} ${words}` });
  const writable = writableGrants(policy);
  const seen = seenEverywhere(policy);
  const places = [...ownPlaces(policy, environment ?? process.env), ...seen];
  const folders = foldersOf([...writable, ...filesToWrite(policy)]);
  // Looked up once, below the folders of all grants.
  const namesOfPath = new Map<string, readonly string[]>();
  const namesFor = (path: string): readonly string[] => {
    const names = namesOfPath.get(path) ?? namesOf(path, folders);
    namesOfPath.set(path, names);
    return names;
  };
  const check = ({ holds }: Grant, among: readonly Place[]): void => {
    const rules = among.map(({ what, path }) => ({ what, rule: firstOf(namesFor(path), holds) }));
    const held = rules.filter(({ rule }) => rule !== undefined);
    const [first] = held;
    if (first?.rule === undefined) return;
    const all = held.map(({ what }) => what).join(" and ");
    const lies = held.length === 1 ? "lies; put that elsewhere" : "lie; put these elsewhere";
    tell(first.rule, `would let a program write where ${all} ${lies}, or grant another folder`);
  };
  for (const grant of writable) check(grant, places);
  for (const grant of filesToWrite(policy)) check(grant, seen);
  for (const { place, rule } of grantsInOwn(policy, environment ?? process.env))
    tell(rule, `lies in ${place}, where no server writes; name a folder of yours`);
  const { homes } = policy.sandbox;
  if (homes === undefined) return faults;
  const where = `sandbox.homes keeps the homes of sandboxes${lineOf(policy, "sandbox.homes")}`;
  const grants = homeGrants(policy);
  const names = namesOf(homes, foldersOf(grants));
  for (const grant of grants) {
    const rule = grantHolding(grant, names);
    if (rule !== undefined)
      tell(rule, `holds the place where ${where}, in which nothing is judged; put them elsewhere`);
    else if (namesOfGrant(grant, names, namesOf).some((name) => liesInHome(name, names)))
      tell(grant.rule, `lies in the place where ${where}, in which nothing is judged; put them elsewhere`);
  }
  return faults;
}

/** The grant by which a folder that is kept as a home is seen elsewhere too, or that names what lies in it. */
export function grantOfHome(policy: Policy, home: string, namesOf: NamesOfPlace): Rule | undefined {
  const grants = homeGrants(policy.whole ?? policy);
  const names = namesOf(home, foldersOf(grants));
  for (const grant of grants) {
    const rule = grantHolding(grant, names);
    if (rule !== undefined) return rule;
    if (namesOfGrant(grant, names, namesOf).some((name) => isBelow(name, names))) return grant.rule;
  }
  return undefined;
}

function homeGrants(policy: Policy): Grant[] {
  return [...writableGrants(policy), ...seenGrants(policy)];
}

function foldersOf(grants: readonly Grant[]): string[] {
  return [...new Set(grants.flatMap(({ folders }) => folders))];
}

/** By which a home of these names, or what is made in it, lies in what is granted. */
function grantHolding({ holds }: Grant, names: readonly string[]): Rule | undefined {
  return firstOf(
    names.flatMap((name) => [name, `${name}/home`, `${name}/home/file`]),
    holds,
  );
}

function namesOfGrant({ folders }: Grant, names: readonly string[], namesOf: NamesOfPlace): string[] {
  return folders.flatMap((folder) => namesOf(folder, names));
}

/** As `folderName` of kept homes makes them. */
const HOME = /^[^/]+-[0-9a-f]{12}$/;

/** Whether it lies in one of the homes that are kept in a folder of these names. */
function liesInHome(path: string, names: readonly string[]): boolean {
  return names.some((name) => isBelow(path, [name]) && HOME.test(path.slice(name.length).split("/")[1] ?? ""));
}

function isBelow(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder === "/" ? "" : folder}/`));
}

function itself(path: string): readonly string[] {
  return [path];
}

function firstOf(names: readonly string[], holds: Grant["holds"]): Rule | undefined {
  for (const name of names) {
    const rule = holds(name);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

function ownPlaces(policy: Policy, environment: Environment): Place[] {
  const { file, audit } = policy;
  const log = `the audit log${lineOf(policy, "audit.log_file")}`;
  const checkpoints = `the file of checkpoints${lineOf(policy, "audit.checkpoints")}`;
  const places: readonly { readonly what: string; readonly path: string | undefined }[] = [
    { what: "this policy", path: file && resolve(file) },
    { what: log, path: audit.logFile },
    { what: checkpoints, path: audit.checkpoints?.file },
    ...ownFolders(environment),
    { what: `this program's own code (${import.meta.dirname})`, path: import.meta.dirname },
  ];
  return places.flatMap(({ what, path }) => (path ? [{ what, path }] : []));
}

function ownFolders(environment: Environment): Place[] {
  const folders: readonly (readonly [string, typeof stateFolder])[] = [
    ["configuration", configFolder],
    ["state", stateFolder],
    ["data", dataFolder],
    ["cache", cacheFolder],
  ];
  return folders.map(([what, folder]) => ({
    what: `this program's ${what} (${folder(environment)})`,
    path: folder(environment),
  }));
}

/** No sandbox could be built by them: a server whose entry has one would never start. */
function grantsInOwn({ servers }: Policy, environment: Environment): { readonly place: string; readonly rule: Rule }[] {
  const own = ownFolders(environment);
  return [...servers.values()].flatMap(({ filesystem: { allowed } }) =>
    allowed.rules.flatMap(({ rule, pattern }) => {
      const place = own.find(({ path }) => `${folderOf(pattern)}/`.startsWith(`${path}/`));
      return place === undefined ? [] : [{ place: place.what, rule }];
    }),
  );
}

/** A link that a program puts in such a place would be mounted over what every sandbox is made of. */
function seenEverywhere(policy: Policy): Place[] {
  return policy.sandbox.readOnlyPaths.map((path) => ({
    what: `what every sandbox sees${lineOf(policy, "sandbox.read_only_paths")}`,
    path,
  }));
}

function lineOf({ lines }: Policy, key: string): string {
  const line = lines?.get(key);
  return line === undefined ? "" : ` (line ${line}: ${key})`;
}

function writableGrants(policy: Policy): Grant[] {
  const { commands, plugins, servers } = policy;
  return [
    ...[...plugins.load.values(), ...servers.values()].flatMap(({ rule, filesystem }) => {
      const folders = filesystem.allowed.rules.map(({ pattern }) => folderOf(pattern));
      // Most write nothing, and no place has to be looked up for them.
      if (folders.length === 0) return [];
      const holds = (path: string): Rule | undefined =>
        filesystem.readOnly === undefined ? filesystem.allowed.find(path) : undefined;
      return [{ rule, folders, holds }];
    }),
    ...[...commands.allowed.values()].flatMap(({ rule, workingDirectory: folder }) => {
      if (folder === undefined || !decide(policy, { kind: "file", path: folder, op: "write" }).allowed) return [];
      const named = { ...rule, text: `${rule.text}: working_directory ${folder}` };
      const above = `${folder === "/" ? "" : folder}/`;
      const holds = (path: string): Rule | undefined => (path.startsWith(above) ? named : undefined);
      return [{ rule: named, folders: [folder], holds }];
    }),
  ];
}

/** Commands that are told which files to write: one that is not there yet needs its folder to be written. */
function filesToWrite(policy: Policy): Grant[] {
  const folders = policy.filesystem.allowed.rules.map(({ pattern }) => folderOf(pattern));
  return [...policy.commands.allowed.values()].flatMap(({ rule, positions, flags }) => {
    const grammars = [...positions.map(({ grammar }) => grammar), ...flags.map(({ value }) => value)];
    if (!grammars.some((grammar) => grammar?.kind === "path" && grammar.access === "write")) return [];
    const holds = (path: string): Rule | undefined =>
      decide(policy, { kind: "file", path, op: "write" }).allowed ? rule : undefined;
    return [{ rule, folders, holds }];
  });
}

/** What plugins and servers read, and what `sandbox -- COMMAND` is granted by the policy as a whole. */
function seenGrants({ filesystem, plugins, servers }: Policy): Grant[] {
  const others = [...plugins.load.values(), ...servers.values()];
  return [filesystem, ...others.map((other) => other.filesystem)].flatMap((granted) =>
    [granted.allowed, granted.readable].flatMap((matcher) =>
      matcher.rules.map(({ rule, pattern }) => {
        const one = new PathMatcher([{ rule, pattern }], false);
        return { rule, folders: [folderOf(pattern)], holds: (path: string) => one.find(path) };
      }),
    ),
  );
}

/** What a pattern names up to its first wildcard. */
function folderOf(pattern: string): string {
  const names = pattern.split("/");
  const wild = names.findIndex((name) => /[*?]/.test(name));
  return (wild < 0 ? names : names.slice(0, wild)).join("/") || "/";
}
