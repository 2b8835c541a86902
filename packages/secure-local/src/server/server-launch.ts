// How a server is started, as it is approved: its program and every file its entry names by their bytes; and copies of them to start from.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { makeFolder } from "../audit/make-folder.js";
import { canonicalJson } from "../inspection/drift.js";
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
 * are left out: they may be secrets.
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
    ...named.data.map((path) => `the file ${path}, which it may write`),
    ...named.folders.map((path) => `what lies in the folder ${path}`),
    ...(workingDirectory === undefined ? [] : [`what lies in its working directory ${workingDirectory}`]),
    ...(pinned === undefined && FETCHES.test(basename(program))
      ? [`what ${basename(program)} fetches: name an exact version`]
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
  const { files } = namedPaths(grant);
  const at = new Map(files.map(({ real }) => [real, real]));
  if (executable !== undefined) at.set(fs.realpathSync(executable), executable);
  const links = new Map(files.flatMap(({ word, path, real }) => (path === real ? [] : [[word, real] as const])));
  const copies = [...taken].map(([real, copy]) => ({ copy, at: at.get(real) ?? real }));
  const linked = args.map((arg) => links.get(arg) ?? arg);
  if (pinned === undefined) return { launch, copies, args: linked };
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
  readonly data: readonly string[];
} {
  const texts = [...(launch.kind === "url" ? [] : launch.command.slice(1)), ...env.values()];
  const files = new Map<string, NamedPath>();
  const folders = new Set<string>();
  const data = new Set<string>();
  for (const word of new Set(texts.flatMap(wordsOf))) {
    const path = resolve(workingDirectory, word);
    const status = statOf(path);
    if (status?.isFile() === true) {
      const real = fs.realpathSync(path);
      if (PROGRAM.test(real) || (status.mode & 0o111) !== 0 || !mayWrite(filesystem, real))
        files.set(path, { word, path, real });
      else data.add(path);
    }
    if (status?.isDirectory() === true && path !== "/") folders.add(path);
  }
  const sorted = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files: sorted, folders: [...folders].sort(), data: [...data].sort() };
}

/** Files that are programs whatever is granted of them; others that it may write, as a database, are its data. */
const PROGRAM = /\.(?:[cm]?[jt]sx?|pyz?|rb|pl|php|lua|jar|sh|bash|ps1|exe|wasm|json|toml|ya?ml)$/i;

function mayWrite({ allowed, readOnly, unwritable, denied }: ServerGrant["filesystem"], path: string): boolean {
  const kept = readOnly ?? unwritable.findAround(path) ?? denied.findAround(path);
  return kept === undefined && allowed.find(path) !== undefined;
}

/** The text, its parts, and what stands right behind a short option as in `-r/a.js`. */
function wordsOf(text: string): string[] {
  const parts = [text, ...text.split(BETWEEN)].filter((part) => part !== "" && !part.includes("\0"));
  return parts.flatMap((part) => (/^-\w./.test(part) ? [part, part.slice(2)] : [part]));
}

function statOf(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path);
  } catch {
    return undefined;
  }
}

/** A path, or the first of that name in the folders of PATH; undefined where there is none. */
function programFile(program: string): string | undefined {
  const folders = program.includes("/")
    ? []
    : (process.env["PATH"] ?? "").split(delimiter).filter((each) => each !== "");
  const places = program.includes("/") ? [resolve(program)] : folders.map((folder) => join(folder, program));
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
  const bytes = boundedBytes(real);
  if (bytes === undefined) return undefined;
  const hash = createHash("sha256").update(bytes).digest("hex");
  if (HASHES.size >= MOST_HASHES) HASHES.clear();
  HASHES.set(real, { as, hash });
  return hash;
}

function boundedBytes(path: string): Uint8Array | undefined {
  return fs.statSync(path).size > MAX_HASHED_BYTES ? undefined : fs.readFileSync(path);
}
