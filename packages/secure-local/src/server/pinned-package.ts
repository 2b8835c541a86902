// Packages that `npx` would fetch at each start: fetched once, kept as they were approved, and looked at before each start.
import type { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve, sep } from "node:path";
import { makeFolder, readAtOnce } from "../audit/owned-files.js";
import { exactText } from "../sandbox/exact-text.js";
import { stateFolder } from "../policy/own-places.js";

/** What an entry wants to have run. */
export interface WantedPackage {
  /** As npm takes it: `@scope/name@1.2.3`. */
  readonly spec: string;
  readonly name: string;
  /** What stands behind it in the command. */
  readonly args: readonly string[];
}

/** A package as it was fetched: part of what is approved of a launch. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** What the registry says of the archive; npm has compared it. */
  readonly integrity: string;
  /** SHA-256 over all files, those of the packages it needs too. */
  readonly sha256: string;
}

const NPX = /^npx(?:\.cmd|\.exe)?$/;
const SPEC = /^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*(?:@[\w.^~<>=*+-]+)?$/i;
/** A package with all that it needs, on a slow line. */
const FETCH_MS = 300_000;
/** What is quoted of npm's standard error. */
const QUOTED = 300;
const DRAFT_BYTES = 6;
const DRAFT = /^[0-9a-f]{32}\.[0-9a-f]{12}$/;
/** Files of its data that are named to a person. */
const MOST_DATA = 5;
/** More files are no server. */
const MOST_FILES = 200_000;

/** The package that a command has `npx` run; undefined for every other command, and for options that mean something else. */
export function wantedPackage([program = "", ...rest]: readonly string[]): WantedPackage | undefined {
  if (!NPX.test(basename(program))) return undefined;
  const first = rest.findIndex((word) => word !== "-y" && word !== "--yes" && word !== "-q" && word !== "--quiet");
  const spec = rest[first];
  if (spec === undefined || spec.startsWith("-") || !SPEC.test(spec)) return undefined;
  const version = spec.indexOf("@", 1);
  return { spec, name: version === -1 ? spec : spec.slice(0, version), args: rest.slice(first + 1) };
}

/** Where all of them lie. */
export function keptPackages(): string {
  return join(stateFolder(), "packages");
}

/** Where a package lies, whether it was fetched or not. */
export function packageFolder({ spec }: WantedPackage): string {
  return join(keptPackages(), createHash("sha256").update(spec).digest("hex").slice(0, 32));
}

/** What was fetched; undefined where nothing was, or where it lies there no more. */
export function pinnedPackage(wanted: WantedPackage): PinnedPackage | undefined {
  if (!fs.existsSync(join(packageFolder(wanted), "node_modules", wanted.name, "package.json"))) return undefined;
  try {
    const kept = JSON.parse(readAtOnce(`${packageFolder(wanted)}.json`)) as Partial<PinnedPackage>;
    const { name, version, integrity, sha256 } = kept;
    const texts = [name, version, integrity, sha256].every((text) => typeof text === "string");
    return texts && name === wanted.name ? (kept as PinnedPackage) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it lies there as it was fetched, byte by byte. */
export function isIntact(wanted: WantedPackage, { sha256 }: PinnedPackage): boolean {
  try {
    return treeDigest(packageFolder(wanted)) === sha256;
  } catch {
    return false;
  }
}

/**
 * Fetches a package with all it needs, by npm and without running any of their scripts. @throws Error with what npm said
 */
export async function pinPackage(wanted: WantedPackage): Promise<PinnedPackage> {
  const folder = packageFolder(wanted);
  makeFolder(dirname(folder));
  removeOldDrafts();
  const draft = `${folder}.${randomBytes(DRAFT_BYTES).toString("hex")}`;
  fs.mkdirSync(draft, { mode: 0o700 });
  const removeDraft = (): void => fs.rmSync(draft, { recursive: true, force: true });
  process.once("exit", removeDraft);
  try {
    // Without a name of its own npm writes down that of the folder, and no fetch is like another.
    fs.writeFileSync(join(draft, "package.json"), '{ "name": "kept", "private": true }\n');
    await npmInstall(draft, wanted.spec);
    const pinned = { ...lockedIn(draft, wanted.name), sha256: treeDigest(draft) };
    fs.rmSync(folder, { recursive: true, force: true });
    fs.renameSync(draft, folder);
    fs.rmSync(`${folder}.json`, { force: true });
    fs.writeFileSync(`${folder}.json`, `${JSON.stringify(pinned)}\n`, { mode: 0o600, flag: "wx" });
    return pinned;
  } finally {
    process.off("exit", removeDraft);
    removeDraft();
  }
}

/** What a process that was killed had begun to fetch: no fetch takes as long. */
function removeOldDrafts(): void {
  for (const name of fs.readdirSync(keptPackages())) {
    const path = join(keptPackages(), name);
    const age = DRAFT.test(name)
      ? Date.now() - (fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
      : 0;
    if (age > 2 * FETCH_MS) fs.rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Files in the copies that `npx` keeps of a package, outside of what it needs, that are not in the copy kept here: what it wrote there
 * when a client started it. Paths, the newest first.
 */
export function dataOf(wanted: WantedPackage): readonly string[] {
  const own = join(packageFolder(wanted), "node_modules", wanted.name);
  const cache = join(process.env["npm_config_cache"] ?? join(homedir(), ".npm"), "_npx");
  if (!fs.existsSync(own) || !fs.existsSync(cache)) return [];
  const found = fs.readdirSync(cache).flatMap((hash) => {
    const copy = join(cache, hash, "node_modules", wanted.name);
    // Of another version every file may be another.
    if (versionIn(copy) !== versionIn(own)) return [];
    return filesBelow(copy).filter((path) => !fs.existsSync(join(own, path.slice(copy.length))));
  });
  const changed = (path: string): number => fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return found.toSorted((a, b) => changed(b) - changed(a)).slice(0, MOST_DATA);
}

function versionIn(folder: string): unknown {
  try {
    return (JSON.parse(readAtOnce(join(folder, "package.json"))) as { readonly version?: unknown }).version;
  } catch {
    return undefined;
  }
}

function filesBelow(folder: string): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

/** The file that a package's command starts. @throws Error where it has none, or several and none of its own name */
export function programOf(wanted: WantedPackage): string {
  const root = join(packageFolder(wanted), "node_modules", wanted.name);
  const { bin } = JSON.parse(readAtOnce(join(root, "package.json"))) as {
    readonly bin?: string | Readonly<Record<string, string>>;
  };
  const named = typeof bin === "string" ? [bin] : Object.values(bin ?? {});
  const own = typeof bin === "object" ? bin[wanted.name.replace(/^@[^/]*\//, "")] : undefined;
  const file = own ?? (new Set(named).size === 1 ? named[0] : undefined);
  const path = file === undefined ? undefined : resolve(root, file);
  if (path?.startsWith(root + sep) === true) return path;
  throw new Error(`${wanted.name} has no command of its name; start its file by node instead`);
}

/** Another file of that name, decoded, would be looked at in its place. @throws Error */
function textOf(name: Buffer, folder: string): string {
  const text = exactText(name);
  if (text !== undefined) return text;
  throw new Error(`${folder} has a name that is no UTF-8 (${JSON.stringify(name.toString("latin1"))})`);
}

/** One digest for all that lies in a folder: names, bytes, who may run it, and where links lead. @throws Error for too much */
export function treeDigest(folder: string): string {
  const digest = createHash("sha256");
  let files = 0;
  const visit = (path: string, shown: string): void => {
    const entries = fs.readdirSync(path, { withFileTypes: true, encoding: "buffer" });
    const named = entries.map((entry) => ({ entry, text: textOf(entry.name, folder) }));
    for (const { entry, text } of named.sort((a, b) => (a.text < b.text ? -1 : 1))) {
      const [at, name] = [join(path, text), `${shown}/${text}`];
      if (entry.isDirectory()) {
        visit(at, name);
        continue;
      }
      if (++files > MOST_FILES) throw new Error(`${folder} has more than ${MOST_FILES} files`);
      const bytes = entry.isSymbolicLink() ? fs.readlinkSync(at, { encoding: "buffer" }) : readAtOnce(at, null);
      const kind = entry.isSymbolicLink() ? "link" : (fs.statSync(at).mode & 0o111) === 0 ? "file" : "program";
      const sum = createHash("sha256").update(bytes).digest("hex");
      digest.update(`${JSON.stringify([name, kind, sum])}\n`);
    }
  };
  visit(folder, "");
  return digest.digest("hex");
}

/** What npm wrote down of the package itself. */
function lockedIn(folder: string, name: string): Omit<PinnedPackage, "sha256"> {
  const { packages = {} } = JSON.parse(readAtOnce(join(folder, "package-lock.json"))) as {
    readonly packages?: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
  };
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined) throw new Error(`npm did not say what it fetched for ${name}`);
  return { name, version, integrity };
}

/** npm keeps to the folder it is started in, and reads the settings it reads elsewhere; `--prefix` would hide those of the machine. */
async function npmInstall(folder: string, spec: string): Promise<void> {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error"];
  const child = spawn("npm", ["install", ...flags, "--", spec], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: FETCH_MS,
  });
  const end = (): void => void child.kill();
  process.once("exit", end);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-QUOTED * 10)));
  const code = await new Promise<number | string>((done) => {
    child.once("error", ({ message }) => done(message));
    child.once("close", (status, signal) => done(status ?? signal ?? "no end"));
  });
  process.off("exit", end);
  if (code === 0) return;
  const lines = said.split("\n").map((line) => line.replace(/^npm (?:error|ERR!)\s*/, "").trim());
  const words = lines.filter((line) => line !== "" && !line.startsWith("A complete log of this run")).join("; ");
  throw new Error(`npm could not fetch ${spec}: ${words === "" ? code : words.slice(0, QUOTED)}`);
}
