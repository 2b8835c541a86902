// How a server is started, as it is approved: its program and every file its entry names by their bytes; and copies of them to start from.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { makeFolder } from "../audit/owned-files.js";
import { canonicalJson } from "@secure-local/inspection/drift";
import type { ServerGrant } from "../policy/policy.js";
import {
  packageFolder,
  type PinnedPackage,
  pinnedPackage,
  programOf,
  treeDigest,
  type WantedPackage,
  wantedPackage,
} from "./pinned-package.js";

/** Longer ones are data rather than programs: they are named among what is not pinned. */
const MAX_HASHED_BYTES = 256 * 1024 * 1024;
/** Only the system's administrator changes what lies there: it is compared, and started from where it is. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;
/** What stands between the paths in an argument or variable, as in `--require=/a.js` and `NODE_OPTIONS`. */
const BETWEEN = /[\s"'`=,;:|&<>()]+/;
/** Programs that fetch what they run, and programs that run what their arguments say. */
const FETCHES = /^(?:npx|npm|pnpm|pnpx|yarn|bun|bunx|uv|uvx|pip|pipx|docker|podman|deno|go|cargo|dotnet)(?:\.\w+)?$/;
const SHELLS = /^(?:(?:ba|z|da|k|fi|c|tc|a)?sh|env|cmd|powershell|pwsh|xargs|busybox|sudo|nohup)(?:\.\w+)?$/;

/** SHA-256 of a file's bytes; undefined for what is too long. */
type HashFile = (real: string) => string | undefined;

/**
 * What is approved of the way a server is started: the bytes of its program and of every file named in its arguments and variables,
 * its working directory, and in plain words what of it all is not pinned; a remote one by its address. Values of variables and headers
 * are left out: they may be secrets. So is data, which comes and goes with every call: see `dataNamed`.
 */
export function serverLaunch(grant: ServerGrant, hash: HashFile = hashOf): unknown {
  const { launch, env, headers, workingDirectory } = grant;
  if (launch.kind === "url") return { url: launch.url, headers: [...headers.keys()].sort() };
  const pinned = pinnedIn(launch.command);
  const program = pinned === undefined ? (launch.command[0] ?? "") : process.execPath;
  const executable = programFile(program);
  const named = namedPaths(grant);
  const files = named.files.map(({ path, real }) => [path, hash(real)] as const);
  const long = files.flatMap(([path, sha256]) => (sha256 === undefined ? [`the file ${path}, which is too long`] : []));
  const unpinned = [
    ...long,
    ...named.folders.map((path) => IN_FOLDER + path),
    ...(workingDirectory === undefined ? [] : [`what lies in its working directory ${workingDirectory}`]),
    ...(pinned === undefined && FETCHES.test(basename(program))
      ? [fetchedText(basename(program), launch.command.slice(1))]
      : []),
    ...(SHELLS.test(basename(program)) ? [`what ${basename(program)} starts: name the program itself`] : []),
  ];
  return {
    command: launch.command,
    ...(pinned === undefined ? {} : { package: pinned.package }),
    executable: executable && { path: executable, sha256: hash(fs.realpathSync(executable)) },
    files: Object.fromEntries(files.filter(([, sha256]) => sha256 !== undefined)),
    env: [...env.keys()].sort(),
    ...(workingDirectory === undefined ? {} : { folder: workingDirectory }),
    ...(unpinned.length === 0 ? {} : { unpinned: [...new Set(unpinned)] }),
  };
}

/** Launchers of Python's packages: nothing here fetches in their place, so that only the version can be named. */
const PYTHON = /^(?:uv|uvx|pipx)(?:\.\w+)?$/;
const EXACT = /^[\w.[\]-]+(?:==|@)\d[\w.!+-]*$/;

function fetchedText(program: string, args: readonly string[]): string {
  const exact = PYTHON.test(program) ? args.find((word) => EXACT.test(word)) : undefined;
  return exact === undefined
    ? `what ${program} fetches: name an exact version`
    : `what ${program} fetches as ${exact}: its files are compared with nothing`;
}

/** The package that a command is started from, where it was fetched to be kept. */
function pinnedIn(
  command: readonly string[],
): { readonly wanted: WantedPackage; readonly package: PinnedPackage } | undefined {
  const wanted = wantedPackage(command);
  const kept = wanted && pinnedPackage(wanted);
  return wanted && kept && { wanted, package: kept };
}

/** What of a launch is not pinned, in plain words. */
export function unpinnedOf(launch: unknown): readonly string[] {
  return (launch as { readonly unpinned?: readonly string[] } | undefined)?.unpinned ?? [];
}

/** Data that the entry names and that is there now, in the same words: it is compared with nothing, not even whether there is any. */
export function dataNamed(grant: ServerGrant): readonly string[] {
  if (grant.launch.kind === "url") return [];
  const { data, kept } = namedPaths(grant);
  return [
    ...data.map(({ path, why }) => `the file ${path}, which ${why}`),
    ...kept.map((path) => `${IN_FOLDER}${path}, which it may write`),
  ];
}

/** What begins the words for a folder that the entry names. */
const IN_FOLDER = "what lies in the folder ";

/**
 * What was approved of a launch, as `serverLaunch` says it of the entry by now. A folder of which a person approved that what lies in it
 * is compared with nothing may have been granted to be written since, and is data then: nothing more can change unseen by that.
 */
export function approvedLaunch({ filesystem }: ServerGrant, approved: unknown): unknown {
  const isData = (what: string): boolean => {
    const path = what.startsWith(IN_FOLDER) ? what.slice(IN_FOLDER.length) : "";
    return path.startsWith("/") && mayWrite(filesystem, join(realOrSame(path), "any"));
  };
  const all = unpinnedOf(approved);
  const unpinned = all.filter((what) => !isData(what));
  if (unpinned.length === all.length) return approved;
  const { unpinned: _, ...rest } = approved as Readonly<Record<string, unknown>>;
  return unpinned.length === 0 ? rest : { ...rest, unpinned };
}

/** Whether a server would be started as it was approved; the one comparison there is. `now`: how it was, or is to be, started. */
export function isAsApproved(grant: ServerGrant, approved: unknown, now: unknown = serverLaunch(grant)): boolean {
  return canonicalJson(approvedLaunch(grant, approved) ?? null) === canonicalJson(now);
}

function realOrSame(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

/** Names one launch: what is started may be told which one was approved. */
export function launchDigest(launch: unknown): string {
  return createHash("sha256").update(canonicalJson(launch)).digest("hex");
}

/** A copy of a file, and where it has to be seen. */
export interface CopiedFile {
  readonly at: string;
  readonly copy: string;
}

/** What a server is started from: nobody changes it any more. */
export interface TakenLaunch {
  readonly launch: unknown;
  /** The program, where it is not the one that the command names. */
  readonly program?: string;
  readonly copies: readonly CopiedFile[];
  /** The arguments, with the file itself where one led there by links. */
  readonly args: readonly string[];
}

/**
 * Copies every file that the launch pins into `folder`, each by its hash: what is compared is what is started, whoever changes the
 * file meanwhile. @throws the system's errors
 */
export function takeLaunch(grant: ServerGrant, folder: string): TakenLaunch {
  makeFolder(folder);
  sweep(folder);
  const taken = new Map<string, string>();
  const launch = serverLaunch(grant, (real) => {
    if (SYSTEM.test(real)) return hashOf(real);
    const bytes = boundedBytes(real);
    if (bytes === undefined) return undefined;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    taken.set(real, copyOf(folder, bytes, { sha256, runs: (fs.statSync(real).mode & 0o111) !== 0 }));
    return sha256;
  });
  if (grant.launch.kind === "url") return { launch, copies: [], args: [] };
  const pinned = pinnedIn(grant.launch.command);
  const [named = "", ...words] = grant.launch.command;
  const [program, args] =
    pinned === undefined ? [named, words] : [process.execPath, [programOf(pinned.wanted), ...pinned.wanted.args]];
  const executable = programFile(program);
  const { files, data } = namedPaths(grant);
  // No part of the launch, and seen all the same where the entry grants nothing of it: as it is now, and not to be changed.
  for (const { real } of data) {
    const bytes = isGranted(grant.filesystem, real) ? undefined : boundedBytes(real);
    if (bytes === undefined) continue;
    taken.set(real, copyOf(folder, bytes, { sha256: createHash("sha256").update(bytes).digest("hex"), runs: false }));
  }
  const at = new Map(files.map(({ real }) => [real, real]));
  const script = executable === undefined ? undefined : linkedScript(executable);
  if (executable !== undefined) at.set(fs.realpathSync(executable), script ?? executable);
  const links = new Map(files.flatMap(({ word, path, real }) => (path === real ? [] : [[word, real] as const])));
  const copies = [...taken].map(([real, copy]) => ({ copy, at: at.get(real) ?? real }));
  const linked = args.map((arg) => links.get(arg) ?? arg);
  if (pinned === undefined)
    return { launch, copies, args: linked, ...(script === undefined ? {} : { program: script }) };
  const kept = packageFolder(pinned.wanted);
  // What lies there now counts, and not what was written down of it.
  const found = { ...(launch as object), package: { ...pinned.package, sha256: treeDigest(kept) } };
  return { launch: found, program, copies: [...copies, { at: kept, copy: kept }], args: linked };
}

/** A copy that was not used for so long is not missed; a server that runs has it open. */
const IDLE_MS = 30 * 24 * 60 * 60_000;

function sweep(folder: string): void {
  for (const name of fs.readdirSync(folder)) {
    const path = join(folder, name);
    if (Date.now() - (fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > IDLE_MS)
      fs.rmSync(path, { force: true });
  }
}

function copyOf(folder: string, bytes: Uint8Array, { sha256, runs }: { sha256: string; runs: boolean }): string {
  const path = join(folder, runs ? `${sha256}.run` : sha256);
  const kept = fs.statSync(path, { throwIfNoEntry: false })?.isFile() === true ? boundedBytes(path) : undefined;
  if (kept === undefined || Buffer.compare(kept, bytes) !== 0) {
    const draft = join(folder, `.${process.pid}.${basename(path)}`);
    fs.rmSync(draft, { force: true });
    fs.writeFileSync(draft, bytes, { flag: "wx", mode: runs ? 0o555 : 0o444 });
    fs.renameSync(draft, path);
  }
  fs.utimesSync(path, new Date(), new Date());
  return path;
}

interface NamedPath {
  /** As it stands in the argument. */
  readonly word: string;
  readonly path: string;
  readonly real: string;
}

/** What there is under the words of the arguments and variables, as the server will read them. */
function namedPaths({ launch, env, workingDirectory = "/", filesystem }: ServerGrant): {
  readonly files: readonly NamedPath[];
  readonly folders: readonly string[];
  readonly data: readonly (NamedPath & { readonly why: string })[];
  /** Folders that it may write as a whole, and so makes itself. */
  readonly kept: readonly string[];
} {
  const words = new Set((launch.kind === "url" ? [] : launch.command.slice(1)).flatMap(wordsOf));
  const told = new Set([...env].flatMap(([name, value]) => (LOADS.test(name) || words.has(value) ? [] : [value])));
  const files = new Map<string, NamedPath>();
  const [folders, kept] = [new Set<string>(), new Set<string>()];
  const data = new Map<string, NamedPath & { readonly why: string }>();
  for (const word of new Set([...words, ...[...env.values()].flatMap(wordsOf)])) {
    const path = resolve(workingDirectory, word);
    const status = statOf(path);
    if (status?.isFile() === true) {
      const real = fs.realpathSync(path);
      const why = dataOf(real, { status, told: told.has(word), mayWrite: mayWrite(filesystem, real) });
      if (why === undefined) files.set(path, { word, path, real });
      else data.set(path, { word, path, real, why });
    }
    if (status?.isDirectory() !== true || path === "/") continue;
    // One that it may write it may have made itself.
    (mayWrite(filesystem, join(fs.realpathSync(path), "any")) ? kept : folders).add(path);
  }
  return { files: sortedByPath(files), folders: [...folders].sort(), data: sortedByPath(data), kept: [...kept].sort() };
}

function sortedByPath<T extends NamedPath>(paths: ReadonlyMap<string, T>): T[] {
  return [...paths.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Files that are programs whatever is granted of them. */
const PROGRAM = /\.(?:[cm]?[jt]sx?|pyz?|rb|pl|php|lua|jar|sh|bash|ps1|exe|wasm)$/i;
/** May say what is to be started, and may be where a server keeps its data. */
const SETTINGS = /\.(?:json|toml|ya?ml)$/i;
/** Only ever data, where nobody is told to load it. */
const KEPT = /\.(?:jsonl|ndjson|csv|tsv|txt|md|log)$/i;
/** Variables whose files an interpreter, a shell or the loader of the system runs. */
const LOADS =
  /^(?:BASH_ENV|ENV|LD_\w+|DYLD_\w+|\w*PRELOADS?|\w*OPTIONS|\w*OPTS?|(?:PYTHON|NODE|PERL|RUBY|LUA|PHP)\w*)$/i;
const DATABASE = "SQLite format 3\0";

/**
 * Why a file is data rather than a part of the program, as the end of a sentence; undefined where it may be one: it is pinned then. Data
 * changes with every call, and no approval would outlive it. `told`: it is the whole value of a variable that nothing is loaded by.
 */
function dataOf(
  real: string,
  { status, told, mayWrite: writes }: { readonly status: fs.Stats; readonly told: boolean; readonly mayWrite: boolean },
): string | undefined {
  if (PROGRAM.test(real) || (status.mode & 0o111) !== 0) return undefined;
  const first = firstBytes(real, DATABASE.length);
  if (first === DATABASE) return "is a database";
  if (told && KEPT.test(real) && !first.startsWith("#!")) return "holds data";
  return writes && (told || !SETTINGS.test(real)) ? "it may write" : undefined;
}

function firstBytes(real: string, count: number): string {
  const file = fs.openSync(real, "r");
  try {
    const bytes = Buffer.alloc(count);
    return bytes.toString("latin1", 0, fs.readSync(file, bytes));
  } finally {
    fs.closeSync(file);
  }
}

function mayWrite({ allowed, readOnly, unwritable, denied }: ServerGrant["filesystem"], path: string): boolean {
  const kept = readOnly ?? unwritable.findAround(path) ?? denied.findAround(path);
  return kept === undefined && allowed.find(path) !== undefined;
}

function isGranted({ allowed, readable }: ServerGrant["filesystem"], path: string): boolean {
  return [allowed, readable].some((each) => each.find(path) !== undefined);
}

/** What of a launch is another than was approved, in plain words; `full`: with the folders of this machine. */
export function launchDifference(approved: unknown, now: unknown, full = false): string {
  const [before, after] = [approved, now].map((launch) => (launch ?? {}) as Readonly<Record<string, unknown>>);
  const parts = new Set([...Object.keys(before!), ...Object.keys(after!)]);
  const differs = (a: unknown, b: unknown): boolean => canonicalJson(a ?? null) !== canonicalJson(b ?? null);
  const shown = (path: string): string => `the file ${full ? path : basename(path)}`;
  const words = [...parts].flatMap((part): string[] => {
    const [was, is] = [before![part], after![part]];
    if (!differs(was, is)) return [];
    if (part === "executable") return [shown((is as ExecutableFile)?.path ?? (was as ExecutableFile)?.path ?? "")];
    if (part !== "files") return [NAMED_PARTS[part] ?? part];
    const [old, fresh] = [was, is].map((each) => (each ?? {}) as Readonly<Record<string, unknown>>);
    const paths = new Set([...Object.keys(old!), ...Object.keys(fresh!)]);
    return [...paths].filter((path) => differs(old![path], fresh![path])).map(shown);
  });
  // What is not pinned follows from the rest, and is news only where it stands alone.
  const news = words.length > 1 ? words.filter((each) => each !== NAMED_PARTS["unpinned"]) : words;
  return [...new Set(news)].join(", ");
}

/** Why a server is not started, and what mends it: for callers, who are told names of files and nothing of their folders. */
export function launchReason(grant: ServerGrant, approved: ReadonlyMap<string, unknown>): string {
  const what = launchDifference(approvedLaunch(grant, approved.get("launch")), serverLaunch(grant));
  const changed = `launch was changed${what === "" ? "" : `: ${what}`}`;
  return `it is not as it was approved (${changed}); look at it: mcp-secure-local servers review ${grant.name}`;
}

type ExecutableFile = { readonly path: string } | undefined;

const NAMED_PARTS: Readonly<Record<string, string>> = {
  command: "its command",
  package: "its package",
  env: "the names of its variables",
  headers: "the names of its headers",
  folder: "its working directory",
  url: "its address",
  unpinned: "what of it may change without being approved again",
};

/** The text, its parts, what stands right behind a short option as in `-r/a.js`, and what each is as a URL or a file of arguments. */
function wordsOf(text: string): string[] {
  const parts = [text, ...text.split(BETWEEN), ...text.split(BETWEEN_URLS)];
  const words = parts.flatMap((part) => (/^(?:-\w|@)./.test(part) ? [part, part.replace(/^(?:-\w|@)/, "")] : [part]));
  const all = words.flatMap((word) => [word, ...asUrl(word)]);
  return [...new Set(all)].filter((word) => word !== "" && !word.includes("\0"));
}

/** What stands between URLs, which have some of the characters of `BETWEEN` in them. */
const BETWEEN_URLS = /[\s"'`=|<>()]+/;

/** The paths that a word may mean to a program which reads it as a URL: without query and fragment, and with its escapes read. */
function asUrl(word: string): string[] {
  if (!/%|[?#]|^file:/i.test(word)) return [];
  const bare = word.replace(/^file:(?:\/\/[^/]*)?/i, "");
  const path = bare.replace(/[?#].*$/s, "");
  return [bare, path].flatMap((each) => [each, unescaped(each)]);
}

/** Escapes that are none stay as they are. */
function unescaped(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => Buffer.from(escapes.replaceAll("%", ""), "hex").toString());
}

function statOf(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path);
  } catch {
    return undefined;
  }
}

/** The file behind a link to a script, as in `node_modules/.bin`: what it loads lies beside the file, and not beside the link. */
function linkedScript(executable: string): string | undefined {
  const real = fs.realpathSync(executable);
  if (real === resolve(executable) || SYSTEM.test(real)) return undefined;
  return firstBytes(real, 2) === "#!" ? real : undefined;
}

/** A path, or the first of that name in the folders of PATH; undefined where there is none. */
export function programFile(program: string, folder = "."): string | undefined {
  const folders = program.includes("/")
    ? []
    : (process.env["PATH"] ?? "").split(delimiter).filter((each) => each !== "");
  const places = program.includes("/") ? [resolve(folder, program)] : folders.map((each) => join(each, program));
  return places.find((path) => {
    try {
      fs.accessSync(path, fs.constants.X_OK);
      return fs.statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

/** Hashes of files that are as they were: a runtime has a hundred megabytes, and is looked at before each start. */
const HASHES = new Map<string, { readonly as: string; readonly hash: string }>();
/** Files of all servers of a policy; more are hashed again. */
const MOST_HASHES = 1_024;

function hashOf(real: string): string | undefined {
  const { dev, ino, size, mtimeNs, ctimeNs } = fs.statSync(real, { bigint: true });
  const as = [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  const known = HASHES.get(real);
  if (known?.as === as) return known.hash;
  const hash = boundedHash(real);
  if (hash === undefined) return undefined;
  if (HASHES.size >= MOST_HASHES) HASHES.clear();
  HASHES.set(real, { as, hash });
  return hash;
}

/** A piece stays in the processor's cache; a whole runtime in memory costs more than its hash. */
const PIECE_BYTES = 256 * 1024;

function boundedHash(path: string): string | undefined {
  const file = fs.openSync(path, "r");
  try {
    const hash = createHash("sha256");
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let bytes = 0;
    for (let read; (read = fs.readSync(file, piece)) > 0; hash.update(piece.subarray(0, read))) {
      bytes += read;
      if (bytes > MAX_HASHED_BYTES) return undefined;
    }
    return hash.digest("hex");
  } finally {
    fs.closeSync(file);
  }
}

function boundedBytes(path: string): Uint8Array | undefined {
  return fs.statSync(path).size > MAX_HASHED_BYTES ? undefined : fs.readFileSync(path);
}
