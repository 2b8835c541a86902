// Where this program keeps what it lives by, and the check that no policy lets a sandbox write there.
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { decide } from "./decide.js";
import type { Policy } from "./policy.js";
import type { Rule } from "./faults.js";
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

interface Place {
  /** In words, with the line that names it, or its path. */
  readonly what: string;
  readonly path: string;
}

/** A part of a policy that lets a sandbox write, or see, all below a folder. */
interface Grant {
  readonly rule: Rule;
  readonly holds: (path: string) => Rule | undefined;
}

/**
 * What a sandbox may write must not hold what the guard itself goes by, and no grant what another sandbox's home is: each fault stands
 * at the line of the grant and names the line of the other.
 */
export function checkOwnPlaces(root: Section, policy: Policy, environment: Environment): void {
  const tell = ({ text, line = 1, column = 1 }: Rule, words: string): void =>
    root.faults.add({ line, column }, `${text} ${words}`);
  const writable = writableGrants(policy);
  const seen = seenEverywhere(root, policy);
  const places = [...ownPlaces(root, policy, environment), ...seen];
  const check = ({ holds }: Grant, among: readonly Place[]): void => {
    const held = among.filter(({ path }) => holds(path) !== undefined);
    const rule = held[0] && holds(held[0].path);
    if (rule === undefined) return;
    const all = held.map(({ what }) => what).join(" and ");
    const lies = held.length === 1 ? "lies; put that elsewhere" : "lie; put these elsewhere";
    tell(rule, `would let a program write where ${all} ${lies}, or grant another folder`);
  };
  for (const grant of writable) check(grant, places);
  for (const grant of filesToWrite(policy)) check(grant, seen);
  const { homes } = policy.sandbox;
  if (homes === undefined) return;
  for (const { holds } of [...writable, ...seenGrants(policy)]) {
    const rule = holds(homes);
    const where = `where sandbox.homes keeps the homes of sandboxes${lineOf(root, "sandbox", "homes")}`;
    if (rule !== undefined) tell(rule, `holds the place ${where}, in which nothing is judged; put them elsewhere`);
  }
}

function ownPlaces(root: Section, { file, audit }: Policy, environment: Environment): Place[] {
  const log = `the audit log${lineOf(root, "audit", "log_file")}`;
  const checkpoints = `the file of checkpoints${lineOf(root, "audit", "checkpoints")}`;
  const folders: readonly (readonly [string, typeof stateFolder])[] = [
    ["configuration", configFolder],
    ["state", stateFolder],
    ["data", dataFolder],
    ["cache", cacheFolder],
  ];
  const places: readonly { readonly what: string; readonly path: string | undefined }[] = [
    { what: "this policy", path: file && resolve(file) },
    { what: log, path: audit.logFile },
    { what: checkpoints, path: audit.checkpoints?.file },
    ...folders.map(([what, folder]) => ({
      what: `this program's ${what} (${folder(environment)})`,
      path: folder(environment),
    })),
    { what: `this program's own code (${import.meta.dirname})`, path: import.meta.dirname },
  ];
  return places.flatMap(({ what, path }) => (path ? [{ what, path }] : []));
}

/** A link that a program puts in such a place would be mounted over what every sandbox is made of. */
function seenEverywhere(root: Section, { sandbox }: Policy): Place[] {
  return sandbox.readOnlyPaths.map((path) => ({
    what: `what every sandbox sees${lineOf(root, "sandbox", "read_only_paths")}`,
    path,
  }));
}

function lineOf(root: Section, section: string, key: string): string {
  const line = root.section(section).tree(key)?.place.line;
  return line === undefined ? "" : ` (line ${line}: ${section}.${key})`;
}

function writableGrants(policy: Policy): Grant[] {
  const { commands, plugins, servers } = policy;
  return [
    ...[...plugins.load.values(), ...servers.values()].map(({ rule, filesystem }) => ({
      rule,
      holds: (path: string) => (filesystem.readOnly === undefined ? filesystem.allowed.find(path) : undefined),
    })),
    ...[...commands.allowed.values()].flatMap(({ rule, workingDirectory: folder }) => {
      if (folder === undefined || !decide(policy, { kind: "file", path: folder, op: "write" }).allowed) return [];
      const named = { ...rule, text: `${rule.text}: working_directory ${folder}` };
      const above = `${folder === "/" ? "" : folder}/`;
      return [{ rule, holds: (path: string) => (path.startsWith(above) ? named : undefined) }];
    }),
  ];
}

/** Commands that are told which files to write: one that is not there yet needs its folder to be written. */
function filesToWrite(policy: Policy): Grant[] {
  return [...policy.commands.allowed.values()].flatMap(({ rule, positions, flags }) => {
    const grammars = [...positions.map(({ grammar }) => grammar), ...flags.map(({ value }) => value)];
    if (!grammars.some((grammar) => grammar?.kind === "path" && grammar.access === "write")) return [];
    const holds = (path: string): Rule | undefined =>
      decide(policy, { kind: "file", path, op: "write" }).allowed ? rule : undefined;
    return [{ rule, holds }];
  });
}

/** What plugins and servers read, and what `sandbox -- COMMAND` is granted by the policy as a whole. */
function seenGrants({ filesystem, plugins, servers }: Policy): Grant[] {
  const others = [...plugins.load.values(), ...servers.values()];
  return [filesystem, ...others.map((other) => other.filesystem)].flatMap((granted) =>
    [...granted.allowed.rules, ...granted.readable.rules].map(({ rule, pattern }) => {
      const folder = pattern.replace(/\/\*\*(?:\/\*)?$/, "");
      const within = folder !== pattern && !/[*?]/.test(folder);
      return { rule, holds: (path: string) => (within && path.startsWith(`${folder}/`) ? rule : undefined) };
    }),
  );
}
