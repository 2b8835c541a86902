// Remembers in a file which launches of servers were approved, so that nobody is asked twice for the same one.
import { randomUUID } from "node:crypto";
import { access, constants, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { parseEnv } from "node:util";
import { fileURLToPath, pathToFileURL } from "node:url";
import { LocalError } from "../jsonrpc/errors.js";
import { LONGEST_TIMER_MS } from "../jsonrpc/outgoing.js";
import type { Root } from "../protocol/features/elicitation.js";

/** Approvals kept in a file, for the next run. */
export interface ApprovalFile {
  get(name: string): Promise<string | undefined>;
  set(name: string, digest: string): Promise<void>;
}

/** A SHA-256 in hexadecimal digits: nothing else is an approval. */
const DIGEST = /^[0-9a-f]{64}$/;
const OTHERS_WRITE = 0o022;
/** Files of Windows have no such modes; there the user's profile folder keeps others out. */
const HAS_MODES = process.platform !== "win32";

/**
 * Approvals in a file that only its owner reads and writes (mode 0600), as `approvals` of a host. Made when something is approved.
 * Rejects with `APPROVALS` when the file cannot be read, or is none of ours: then nothing counts as approved.
 */
export function approvalFile(path: string): ApprovalFile {
  let last: Promise<unknown> = Promise.resolve();
  return {
    get: async (name) => (await approvalsIn(path)).get(name),
    set(name, digest) {
      const written = last.then(async () => {
        const approvals = await approvalsIn(path);
        await write(path, Object.fromEntries(approvals.set(name, digest)));
      });
      last = written.catch(() => undefined);
      return written;
    },
  };
}

async function approvalsIn(path: string): Promise<Map<string, string>> {
  let text;
  try {
    text = await readOwn(path);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return new Map();
    throw broken(path, error);
  }
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return new Map(entries.filter((entry): entry is [string, string] => isDigest(entry[1])));
  } catch (error) {
    throw broken(path, error);
  }
}

// What others can write approves whatever they like; a pipe would be waited for.
async function readOwn(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const { mode, uid } = await file.stat();
    if (process.getuid !== undefined && uid !== process.getuid()) throw new Error("it belongs to somebody else");
    if (HAS_MODES && (mode & OTHERS_WRITE) !== 0) throw new Error("others can write it (chmod 600)");
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function isDigest(value: unknown): boolean {
  return typeof value === "string" && DIGEST.test(value);
}

// Beside it and then in its place: whoever reads it sees the old or the new one, never half of one.
async function write(path: string, approvals: object): Promise<void> {
  const beside = `${path}.${randomUUID()}.new`;
  try {
    await makeFolder(dirname(path));
    await writeFile(beside, `${JSON.stringify(approvals, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw broken(path, error);
  }
}

function broken(path: string, cause: unknown): LocalError {
  const text = `The approvals in ${path} cannot be used: ${(cause as Error).message}. Mend the file, or delete it to be asked again.`;
  return new LocalError("APPROVALS", text, { cause });
}

// Reads the files a configuration of servers is made of: itself, and the variables beside it.

/** Configurations have a few kilobytes; what is larger is another file. */
const MOST_BYTES = 4_000_000;

/** The text of a file. Rejects with `CONFIG_FILE`, which says the path and why. */
export async function readConfigFile(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      if (size > MOST_BYTES) throw new Error(`it has ${size} bytes, more than ${MOST_BYTES}`);
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new LocalError("CONFIG_FILE", `${path} could not be read: ${(error as Error).message}`, { cause: error });
  }
}

/** The variables of a file of `NAME=value` lines. Rejects with `CONFIG_FILE`. */
export async function readEnvFile(path: string): Promise<Record<string, string>> {
  const parsed = parseEnv(await readConfigFile(path));
  return Object.fromEntries(
    Object.entries(parsed).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

// Folders of this machine as a source of roots: only those that can be read, looked at again now and then.

/** How often folders are looked at. */
export interface FolderRootsOptions {
  /** Milliseconds between two looks at whether the folders are still there. Default 2,000. */
  readonly intervalMs?: number;
}

/** Folders of this machine as roots, and whether they are there. */
export interface FolderRoots {
  list(): readonly Root[];
  accessible(root: Root): Promise<boolean>;
  watch(changed: () => void): () => void;
  /** Other folders from now on. */
  set(paths: readonly string[]): void;
}

/** Soon enough for a person who makes a folder and asks for it, seldom enough to cost nothing. */
const INTERVAL_MS = 2_000;

/** Folders by path, as `roots.source` of a host. */
export function folderRoots(
  paths: readonly string[],
  { intervalMs = INTERVAL_MS }: FolderRootsOptions = {},
): FolderRoots {
  let roots = paths.map(rootOf);
  const watchers = new Set<() => void>();
  return {
    list: () => roots,
    accessible: ({ uri }) => isReadableFolder(fileURLToPath(uri)),
    set(others) {
      roots = others.map(rootOf);
      for (const changed of watchers) changed();
    },
    watch(changed) {
      watchers.add(changed);
      const stop = poll(() => stateOf(roots), { intervalMs, changed });
      return () => {
        watchers.delete(changed);
        stop();
      };
    },
  };
}

function rootOf(path: string): Root {
  const whole = resolve(path);
  return { uri: pathToFileURL(whole).href, name: basename(whole) || whole };
}

async function isReadableFolder(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    await access(path, constants.R_OK | constants.X_OK);
    return found.isDirectory();
  } catch {
    return false;
  }
}

async function stateOf(roots: readonly Root[]): Promise<string> {
  const states = await Promise.all(roots.map(({ uri }) => isReadableFolder(fileURLToPath(uri))));
  return JSON.stringify(states);
}

// Watching by events does not see a folder come back whose parent was gone as well.
function poll(
  look: () => Promise<string>,
  { intervalMs, changed }: { intervalMs: number; changed: () => void },
): () => void {
  let before: string | undefined;
  let stopped = false;
  let looking = false;
  const once = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    const now = await look();
    looking = false;
    const differs = before !== undefined && before !== now;
    before = now;
    if (differs && !stopped) changed();
  };
  void once();
  const timer = setInterval(() => void once(), Math.min(intervalMs, LONGEST_TIMER_MS)).unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

// Makes folders with those above them, and ends where a file system refuses without saying so.

/**
 * Makes the folder for its owner only, those above it too where they are missing. Node's own `recursive` tries for ever below
 * `/proc`, which says of every new name that the folder above is missing. Rejects with the file system's error.
 */
export async function makeFolder(path: string): Promise<void> {
  const fault = await made(path);
  if (fault === undefined) return;
  const above = dirname(path);
  if (fault.code !== "ENOENT" || above === path) throw fault;
  await makeFolder(above);
  const again = await made(path);
  if (again !== undefined) throw again;
}

/** Undefined when the folder is there now. */
async function made(path: string): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await mkdir(path, { mode: 0o700 });
    return undefined;
  } catch (error) {
    const isThere = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    return isThere ? undefined : (error as NodeJS.ErrnoException);
  }
}
