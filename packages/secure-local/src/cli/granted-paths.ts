// What a server that is brought under the policy may read: its program with all that is loaded beside it, and what it was told of.
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join, resolve, sep } from "node:path";
import { programFile } from "../server/server-launch.js";

/** Folders above which a whole package is not looked for. */
const LEVELS = 8;
/** Seen in every sandbox. */
export const SYSTEM: RegExp = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;
export const MODULES = "node_modules";
/** Loads nothing that lies beside it, wherever it is installed. */
const WHOLE = /^(?:node|bun|deno)$/;

interface Started {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** Patterns, as the policy has them, for what a command has to read; undefined for nothing. */
export function readablePaths({ command, args, env, cwd }: Started): readonly string[] | undefined {
  const program = programFile(command, cwd);
  const paths = args.flatMap((arg) => {
    if (!/[/\\]/.test(arg) || arg.startsWith("-")) return [];
    const path = resolve(cwd ?? "/", arg.replace(/^~(?=\/)/, homedir()));
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) return [];
    return status.isDirectory() ? [`${path}/**`] : besideProgram(path);
  });
  const kept = keptPlaces(env).map(({ path, folder }) => (path === folder ? `${path}/**` : path));
  const all = [...(program === undefined ? [] : besideCommand(program)), ...paths, ...kept];
  return all.length === 0 ? undefined : [...new Set(all)];
}

/** A program alone is seen in its sandbox: what it loads has to be granted where it is not the system's. */
function besideCommand(program: string): string[] {
  const real = realpathSync(program);
  if (WHOLE.test(basename(real))) return [];
  const beside = (path: string): string[] => besideProgram(path).filter((each) => each !== path);
  const prefix = /^python[\d.]*$/.test(basename(real)) ? [`${dirname(dirname(real))}/**`] : [];
  return [...beside(program), ...beside(real), ...prefix].filter((each) => !SYSTEM.test(each));
}

/** A file with what is installed beside it: modules of Node, an environment of Python, or its own package. */
function besideProgram(path: string): string[] {
  return [...new Set([path, realpathSync(path)].flatMap((file) => packageOf(file)))];
}

export function packageOf(file: string): string[] {
  // The outermost one: what a module needs may lie in any of those around it.
  const at = file.indexOf(`${sep}${MODULES}${sep}`);
  if (at > 0) return [`${file.slice(0, at)}${sep}${MODULES}/**`];
  const above = foldersAbove(file);
  const environment = above.find((folder) => existsSync(join(folder, "pyvenv.cfg")));
  const own = environment ?? above.find((folder) => ROOTS.some((each) => existsSync(join(folder, each))));
  const library = /^(.*\/site-packages)\//.exec(file)?.[1];
  if (own === undefined && library !== undefined) return [`${library}/**`];
  if (own === undefined) return [isFolderOfPrograms(file) ? `${dirname(file)}/**` : file];
  const around = foldersAbove(own).map((folder) => join(folder, MODULES));
  return [`${own}/**`, ...around.filter((each) => existsSync(each)).map((each) => `${each}/**`)];
}

/** What lies at the top of a package, for Node and for Python. */
const ROOTS = ["package.json", "pyproject.toml"];

/** What is read by an interpreter, and loads others that lie beside it. */
const SOURCE = /\.(?:[cm]?[jt]sx?|py|rb|pl|php|lua|sh)$/i;
/** Folders of a home where everything lies that a person has. */
const OF_A_PERSON = /^(?:\..*|Desktop|Documents|Downloads)$/i;
/** What names like these hold is not all refused in every folder, as the protected names are. */
const SECRETS = /secret|credential|token|passw|private|(?:^|[-_.])keys?(?:[-_.]|$)/i;

/** Whether all that lies beside a program may be seen by it: its folder is no home or shared one, and nothing there looks like a secret. */
function isFolderOfPrograms(file: string): boolean {
  const folder = dirname(file);
  if (!SOURCE.test(file) || SYSTEM.test(`${folder}/`) || dirname(dirname(folder)) === dirname(folder)) return false;
  const shared = [homedir(), tmpdir(), "/tmp", "/var/tmp"];
  if (shared.includes(folder) || `${homedir()}${sep}`.startsWith(`${folder}${sep}`)) return false;
  if (dirname(folder) === homedir() && OF_A_PERSON.test(basename(folder))) return false;
  return !namesInFolder(folder).some((name) => SECRETS.test(name) && !SOURCE.test(name));
}

export function namesInFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Up to the home, which is never granted as a whole. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); folders.length < LEVELS; folder = dirname(folder)) {
    if (folder === homedir() || dirname(folder) === folder) break;
    folders.push(folder);
  }
  return folders;
}

/** Where a server keeps what it writes, as a variable tells it. */
export interface KeptPlace {
  readonly variable: string;
  readonly path: string;
  /** What lies beside it: a file is written anew under another name, then renamed. */
  readonly folder: string;
}

/** Endings of what is kept, and of nothing that is run. */
const KEPT = /\.(?:jsonl?|ndjson|csv|tsv|txt|md|log|db|db3|sqlite3?|duckdb|parquet|kuzu)$/i;

/** Variables that name a folder of a person's, or a file that holds data, whether it is there yet or not. */
export function keptPlaces(env: Readonly<Record<string, string>>): readonly KeptPlace[] {
  return Object.entries(env).flatMap(([variable, value]) => {
    if (!/^(?:\/|~\/)/.test(value)) return [];
    const path = resolve(value.replace(/^~(?=\/)/, homedir()));
    const status = statSync(path, { throwIfNoEntry: false });
    const isFolder = status?.isDirectory() === true;
    const folder = isFolder ? path : dirname(path);
    if (SYSTEM.test(`${folder}/`) || !existsSync(folder)) return [];
    return isFolder || KEPT.test(path) ? [{ variable, path, folder }] : [];
  });
}

/** The pattern that lets it be changed: never the whole home, nor what everybody shares. */
export function changeable({ path, folder }: KeptPlace): string | undefined {
  const shared = [homedir(), dirname(homedir()), tmpdir(), "/tmp", "/"];
  if (!shared.includes(folder)) return `${folder}/**`;
  return path === folder ? undefined : path;
}

/** What may be changed may be read: nothing in it is named a second time, with less. */
export function withChangeable(
  readable: readonly string[],
  allowed: readonly string[],
): { readonly readable_paths?: readonly string[]; readonly allowed_paths: readonly string[] } {
  const isIn = (path: string, pattern: string): boolean =>
    path === pattern || (pattern.endsWith("/**") && path.startsWith(pattern.slice(0, -"**".length)));
  const rest = readable.filter((path) => !allowed.some((pattern) => isIn(path, pattern)));
  return { ...(rest.length === 0 ? {} : { readable_paths: rest }), allowed_paths: [...new Set(allowed)] };
}
