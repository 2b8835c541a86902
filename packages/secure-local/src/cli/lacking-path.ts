// Finds in the last words of a program the path that it lacked, so that people are told which key grants it.
import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { foldersAbove, MODULES, namesInFolder, packageOf, SYSTEM } from "./granted-paths.js";

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
/** As C has them: not permitted, denied, read-only. */
const REFUSED = new Set(["EACCES", "EPERM", "EROFS", "1", "13", "30"]);
const UNLOADED = /Cannot find (?:package|module)|No module named|cannot load such file|Can't locate \S+ in @INC/;

/** What a program that ended had not got, though it is there outside of its sandbox; undefined where nothing of it can be said. */
export function lackingPath(words: string): Lacking | undefined {
  if (UNLOADED.test(words) || DENO.test(words)) {
    const module = moduleIn(words);
    return module === undefined ? undefined : { path: packageOf(module)[0]!, key: "readable_paths" };
  }
  const [, code = "", path] = OPENED.exec(words) ?? OPENED_BY_PYTHON.exec(words) ?? [];
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
