// What a server that is brought under the policy may read: its program with all that is loaded beside it, and what it was told of.
import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join, resolve, sep } from "node:path";
import { programFile } from "../server/server-launch.js";

/** Folders above which a whole package is not looked for. */
const LEVELS = 8;
/** Seen in every sandbox. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;
const MODULES = "node_modules";
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

function packageOf(file: string): string[] {
  // The outermost one: what a module needs may lie in any of those around it.
  const at = file.indexOf(`${sep}${MODULES}${sep}`);
  if (at > 0) return [`${file.slice(0, at)}${sep}${MODULES}/**`];
  const above = foldersAbove(file);
  const environment = above.find((folder) => existsSync(join(folder, "pyvenv.cfg")));
  const own = environment ?? above.find((folder) => existsSync(join(folder, "package.json")));
  if (own === undefined) return [file];
  const around = foldersAbove(own).map((folder) => join(folder, MODULES));
  return [`${own}/**`, ...around.filter((each) => existsSync(each)).map((each) => `${each}/**`)];
}

/** Up to the home, which is never granted as a whole. */
function foldersAbove(path: string): string[] {
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

// Finds in the last words of a program the path that it lacked, so that people are told which key grants it.

/** The key of an entry that lets a server have a path. */
export interface Lacking {
  readonly path: string;
  readonly key: "readable_paths" | "allowed_paths";
}

const MODULE = /Cannot find (?:package|module) '([^']+)'(?: imported from (\S+)|\s+Require stack:\s+- (\S+))?/;
const OPENED = /\b(ENOENT|EACCES|EPERM|EROFS)\b[^\n]*?'([^'\n]+)'/;
const PYTHON = /(?:\[Errno (\d+)\][^\n:]*: |can't open file )'([^'\n]+)'/;
/** As C has them: not permitted, denied, read-only. */
const REFUSED = new Set(["EACCES", "EPERM", "EROFS", "1", "13", "30"]);

/** What a program that ended had not got, though it is there outside of its sandbox; undefined where nothing of it can be said. */
export function lackingPath(words: string): Lacking | undefined {
  const [, name, esm, required] = MODULE.exec(words) ?? [];
  if (name !== undefined) {
    const path = name.startsWith("/") ? name : installed(name, esm ?? required);
    return path === undefined || !existsSync(path) ? undefined : { path: packageOf(path)[0]!, key: "readable_paths" };
  }
  const [, code = "", path] = OPENED.exec(words) ?? PYTHON.exec(words) ?? [];
  if (path === undefined || !path.startsWith("/")) return undefined;
  const refused = REFUSED.has(code);
  const status = statSync(refused ? dirname(path) : path, { throwIfNoEntry: false });
  if (status === undefined || SYSTEM.test(path)) return undefined;
  if (refused) return { path: `${dirname(path)}/**`, key: "allowed_paths" };
  return { path: status.isDirectory() ? `${path}/**` : path, key: "readable_paths" };
}

function installed(name: string, from: string | undefined): string | undefined {
  if (from === undefined) return undefined;
  const [scope = "", inner = ""] = name.split("/");
  const wanted = scope.startsWith("@") ? `${scope}/${inner}` : scope;
  return foldersAbove(from.replace(/^file:\/\//, ""))
    .map((folder) => join(folder, MODULES, wanted))
    .find((path) => existsSync(path));
}
