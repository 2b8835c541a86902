// Says why a server did not come up, with the key of the policy that grants what it lacked, and which paths those grant
// already.
import { existsSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, extname, isAbsolute, join, resolve, sep } from "node:path";
import { cleanLine, cleanText } from "../guard/cleaning/clean-text.js";
import { isOwnPlace } from "../policy/own-places.js";
import type { ServerGrant } from "../policy/policy.js";
import { networkHint } from "../server/sandbox-hints.js";
import { programFile } from "../server/server-launch.js";
import { changeableIn, inOptions } from "./failure.js";

/** A server runs by way of this very program: of its command line a person knows nothing, and of the first question even less. */
const BY_WAY_OF_US =
  /^(?:Could not connect to [^]*?: )?(?:initialize was not answered: )?The server [^]*? (?=exited|was ended|ended)/;

/**
 * Why a server did not come up, with the key that grants what it lacked where its words say so much. `stays`: the client's file that it
 * stays in, of a server that the policy does not have.
 */
export function whyNot(error: unknown, grant: ServerGrant, stays?: string): string {
  const text = inOptions(error instanceof Error ? error.message : String(error), changeableIn(grant.name));
  const lacking = lackingPath(text);
  if (lacking !== undefined && isOwnPlace(lacking.path))
    return cleanLine(`${text.split("\n")[0]}. ${lacking.path} is this program's own, and no grant opens it`);
  if (lacking !== undefined && !isSeen(grant, lacking)) {
    const { path, key } = lacking;
    const what = key === "readable_paths" ? "it does not see" : "it may not change";
    return cleanLine(`${what} ${path}. Grant it: servers.${grant.name}.filesystem.${key}: ["${path}"]`);
  }
  const lines = text
    .replace(/\nBefore that: [^]*$/, "")
    .replace(BY_WAY_OF_US, "it ")
    .split("\n");
  const hint = networkHint(grant, text) ?? loadingHint(grant.name, text) ?? variableHint(grant, text, stays);
  const said = [...lines.filter((each) => !STACK.test(each)), ...(hint === undefined ? [] : [hint])];
  return cleanText(said.join("\n"));
}

/** A name as variables have them, in a line that says that one is missing. */
const VARIABLE = /\b(?!E[A-Z]+_|ERR_|NODE_)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/;
const WANTED =
  /\b(?:requires?|required|needs?|missing|not set|unset|undefined|must|set|provide|expected|environment|env|export)\b/i;

/** For a program that lacks a variable: it is given none of this machine's, and its entry says which it has. */
export function variableHint({ name, launch, env }: ServerGrant, words: string, stays?: string): string | undefined {
  if (launch.kind === "url") return undefined;
  const line = words.split("\n").find((each) => WANTED.test(each) && VARIABLE.test(each) && !STACK.test(each));
  const variable = VARIABLE.exec(line ?? "")?.[0];
  if (variable === undefined || env.has(variable)) return undefined;
  const has = "It has the variables that its entry names and no other.";
  if (stays !== undefined)
    return `${has} Put ${variable} into "env" of its entry in ${stays}, and run install --move again.`;
  const secret = `${name}_${variable}`.toLowerCase().replace(/[^a-z0-9]+/g, "_");
  return (
    `${has} To give it ${variable}, put this into the policy, beside what stands there\n` +
    `servers:\n  ${name}:\n    env: { ${variable}: "\${secret:${secret}}" }\n` +
    `secrets:\n  ${secret}: { from: "file:/path/to/a/file/with/the/value", hosts: [] }`
  );
}

/** Granted already, so that something else is at fault. */
function isSeen({ launch, filesystem: { allowed, readable } }: ServerGrant, { path, key }: Lacking): boolean {
  if (launch.kind === "url" || key !== "readable_paths") return false;
  const any = path.replace(/\*\*$/, "any");
  return [allowed, readable].some((granted) => granted.find(any) !== undefined);
}

/** What Node prints around the words of an error: a person who did not write the server reads nothing in it. */
const STACK = /^\s*(?:at .*|node:internal.*|throw \w+;|\^+|Node\.js v[\d.]+|code: '.*',?|requireStack: .*|[{}]?)$/;

// Finds in the last words of a program the path that it lacked, so that people are told which key grants it.

/** The key of an entry that lets a server have a path. */
export interface Lacking {
  readonly path: string;
  readonly key: "readable_paths" | "allowed_paths";
}

/** Node in both of its forms, where the last words of a bare name say who wanted it. */
const NODE = /Cannot find (?:package|module) '([^']+)'(?: imported from (\S+)|\s+Require stack:\s+- (\S+))?/;
const BUN = /Cannot find (?:package|module) ["']([^"']+)["'] from ["']([^"']+)["']/;
const DENO = /Module not found "file:\/\/([^"]+)"/;
const PYTHON = /No module named '([^']+)'/;
const PYTHON_FILE = /\bFile "([^"\n]+)", line \d+/g;
const RUBY = /cannot load such file -- (\/[^\s)]+)/;
/** What a name without its ending may be. */
const ENDINGS = ["", ".js", ".cjs", ".mjs", ".ts", ".json", "/index.js", ".rb"];

const OPENED = /\b(ENOENT|EACCES|EPERM|EROFS)\b[^\n]*?'([^'\n]+)'/;
const OPENED_BY_PYTHON = /(?:\[Errno (\d+)\][^\n:]*: |can't open file )'([^'\n]+)'/;
/** In a server's own words, which say nothing of why. */
const UNREACHED =
  /\b(?:cannot|can't|could not|couldn't|unable to) (?:access|open|read|find) (?:the )?(?:directory|folder|path|file):? ["'`]?(\/[^\s"'`,;]+)/i;
/** As C has them: not permitted, denied, read-only. */
const REFUSED = new Set(["EACCES", "EPERM", "EROFS", "1", "13", "30"]);
const UNLOADED = /Cannot find (?:package|module)|No module named|cannot load such file|Can't locate \S+ in @INC/;

/** What a program that ended had not got, though it is there outside of its sandbox; undefined where nothing of it can be said. */
export function lackingPath(words: string): Lacking | undefined {
  if (UNLOADED.test(words) || DENO.test(words)) {
    const module = moduleIn(words);
    return module === undefined ? undefined : { path: packageOf(module)[0]!, key: "readable_paths" };
  }
  const [, code = "", path] = OPENED.exec(words) ??
    OPENED_BY_PYTHON.exec(words) ?? ["", "", UNREACHED.exec(words)?.[1]];
  if (path === undefined || !path.startsWith("/")) return undefined;
  const refused = REFUSED.has(code);
  const status = statSync(refused ? dirname(path) : path, { throwIfNoEntry: false });
  if (status === undefined || SYSTEM.test(path)) return undefined;
  if (refused) return { path: `${dirname(path)}/**`, key: "allowed_paths" };
  return { path: status.isDirectory() ? `${path}/**` : path, key: "readable_paths" };
}

/** For a program that could not load something of which nothing is found here: which key makes it see more. */
export function loadingHint(server: string, words: string): string | undefined {
  if (!UNLOADED.test(words)) return undefined;
  return `In its sandbox it sees what servers.${server}.filesystem.readable_paths names: add the folder of what it lacks, if it is installed.`;
}

/** A file that is there and could not be loaded. */
function moduleIn(words: string): string | undefined {
  const [, name, esm, required] = NODE.exec(words) ?? [];
  if (name !== undefined) return ofNode(name, esm ?? required);
  const [, wanted, from] = BUN.exec(words) ?? [];
  if (wanted !== undefined) return ofNode(wanted, from);
  const [, path] = DENO.exec(words) ?? RUBY.exec(words) ?? [];
  if (path !== undefined) return ending(path);
  const [, module] = PYTHON.exec(words) ?? [];
  return module === undefined ? undefined : ofPython(module, words);
}

function ofNode(name: string, from: string | undefined): string | undefined {
  const file = from?.replace(/^file:\/\//, "");
  if (/^\.{0,2}\//.test(name)) return ending(file === undefined ? name : resolve(dirname(file), name));
  return file === undefined ? undefined : installed(name, file);
}

function installed(name: string, file: string): string | undefined {
  const [scope = "", inner = ""] = name.split("/");
  const wanted = scope.startsWith("@") ? `${scope}/${inner}` : scope;
  return foldersAbove(file)
    .map((folder) => join(folder, MODULES, wanted))
    .find((path) => existsSync(path));
}

/** Beside one of the files that the traceback names, or installed for this person alone. */
function ofPython(module: string, words: string): string | undefined {
  const way = module.replaceAll(".", "/");
  const beside = [...words.matchAll(PYTHON_FILE)].map(([, file = ""]) => join(dirname(file), way)).reverse();
  const libraries = join(homedir(), ".local/lib");
  const own = namesInFolder(libraries).map((version) => join(libraries, version, "site-packages", way));
  return [...beside, ...own]
    .filter((path) => path.startsWith("/") && !SYSTEM.test(path))
    .flatMap((path) => [`${path}.py`, `${path}/__init__.py`])
    .find((path) => existsSync(path));
}

function ending(path: string): string | undefined {
  return ENDINGS.map((each) => path + each).find((each) => statSync(each, { throwIfNoEntry: false })?.isFile());
}

// What a server that is brought under the policy may read: its program with all that is loaded beside it, and what it was told of.

/** Folders above which a whole package is not looked for. */
const LEVELS = 8;
/** Seen in every sandbox. */
const SYSTEM: RegExp = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;
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
    const { named } = placeIn(arg);
    if (!/[/\\]/.test(named)) return [];
    const path = resolve(cwd ?? "/", named.replace(/^~(?=\/)/, homedir()));
    const status = statusOf(path);
    if (status === undefined) return [];
    return status.isDirectory() ? [`${path}/**`] : besideProgram(path);
  });
  const kept = keptPlaces(env).map(({ path, folder }) => (path === folder ? `${path}/**` : path));
  const all = [...(program === undefined ? [] : besideCommand(program)), ...paths, ...kept];
  return all.length === 0 ? undefined : [...new Set(all)];
}

/** What a word of a command may name, and what stands before it: of a flag, what is behind its first `=`. */
function placeIn(word: string): { readonly before: string; readonly named: string } {
  const end = word.startsWith("-") ? word.indexOf("=") + 1 || word.length : 0;
  return { before: word.slice(0, end), named: word.slice(end) };
}

/** Undefined for every word that is no path, however long it is. */
function statusOf(path: string): Stats | undefined {
  return existsSync(path) ? statSync(path, { throwIfNoEntry: false }) : undefined;
}

/**
 * A command with the whole paths of the files and folders that it names from `folder`: a server is started elsewhere. A bare word may be
 * a package or an order as well, and the first one is looked for in PATH.
 */
export function wholePaths(command: readonly string[], folder: string): string[] {
  return command.map((word, at) => {
    const { before, named } = placeIn(word);
    const path = resolve(folder, named);
    const status = isAbsolute(named) ? undefined : statusOf(path);
    const isNamed = /[/\\]/.test(named) || named === "." || named === "..";
    const isFile = at > 0 && extname(named) !== "" && status?.isFile() === true;
    return status !== undefined && (isNamed || isFile) ? before + path : word;
  });
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

function namesInFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
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
