// Keeps credentials in a file that only its owner can read, shared by all of the owner's processes.
import { constants, readlinkSync } from "node:fs";
import { open, readFile, rename, stat, unlink, utimes } from "node:fs/promises";
import { dirname } from "node:path";
import { createHash, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type CredentialStore, type HeldCredentials, readCredentials } from "../auth/client/credential-store.js";
import { isPlainObject } from "../auth/fetch-json.js";
import { LocalError } from "../jsonrpc/errors.js";
import { LONGEST_TIMER_MS } from "../jsonrpc/outgoing.js";
import { makeFolder } from "./host-files.js";
import { processEntry } from "./process-table.js";

/** Longest wait to write what is there to be written: others hold the file for milliseconds. */
const CHANGE_WAIT_MS = 60_000;
/** Largest file read: some hundred servers. */
const MAX_BYTES = 4 * 1024 * 1024;
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
/** Files of Windows have no such modes; there the user's profile folder keeps others out. */
const HAS_MODES = process.platform !== "win32";
/** To read: a pipe would be waited for. Windows has no such flag. */
export const AT_ONCE: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

type Table = Record<string, unknown>;

/**
 * The store in the file at `path`, which is made with mode 0600 when first written, its folder with 0700. Methods reject with
 * `AUTH_STORE` for a file that others can read, that another user owns, or that is no file of ours.
 */
export function tokenFile(path: string, options: FileLockOptions = {}): CredentialStore {
  const read = async (key: string): ReturnType<CredentialStore["read"]> => readCredentials((await load(path))[key]);
  return {
    read,
    async exclusively(key, work) {
      await prepareFolder(dirname(path));
      return locked(placeOf(path, key), options, (lock) => {
        const held: HeldCredentials = {
          read: () => read(key),
          async write(credentials) {
            await lock.check();
            await change(path, key, credentials);
          },
        };
        return work(held);
      });
    },
  };
}

/** Changes of the file, of whatever server, follow each other. */
function change(path: string, key: string, credentials: unknown): Promise<void> {
  return locked(path, { waitMs: CHANGE_WAIT_MS }, async (lock) => {
    const servers = { ...(await load(path)), [key]: credentials };
    await lock.check();
    await save(path, servers);
  });
}

async function locked<T>(path: string, options: FileLockOptions, work: (lock: FileLock) => Promise<T>): Promise<T> {
  const lock = await lockFile(path, options);
  try {
    return await work(lock);
  } finally {
    await lock.release();
  }
}

/** Where the work for one server is locked: beside the file, by a name that any URL can have. */
function placeOf(path: string, key: string): string {
  return `${path}.${createHash("sha256").update(key).digest("hex").slice(0, 16)}`;
}

async function load(path: string): Promise<Table> {
  const text = await readOwn(path);
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isPlainObject(value) && value["version"] === 1 && isPlainObject(value["servers"])) return value["servers"];
  throw broken(path, "is no token file; delete it to sign in again");
}

/** Undefined when there is no file. The file opened is the one judged, and no link to another. */
async function readOwn(path: string): Promise<string | undefined> {
  let handle;
  try {
    handle = await open(path, AT_ONCE | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw broken(path, code === "ELOOP" ? "is a link; name the file itself" : `could not be opened: ${message}`, error);
  }
  try {
    const status = await handle.stat();
    const { mode, uid, size } = status;
    if (!status.isFile()) throw broken(path, "is no file; move it away to sign in again");
    if (HAS_MODES && (mode & OTHERS) !== 0) throw broken(path, "can be read by others; run chmod 600 on it");
    if (HAS_MODES && uid !== process.geteuid?.()) throw broken(path, "belongs to another user");
    if (size > MAX_BYTES) throw broken(path, `has more than ${MAX_BYTES} bytes`);
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** Written beside its place and moved there once it is on the disk: a reader sees the old text or the new one. */
async function save(path: string, servers: Table): Promise<void> {
  const unfinished = `${path}.${randomUUID()}.tmp`;
  try {
    const handle = await open(unfinished, "wx", 0o600);
    try {
      await handle.writeFile(`${JSON.stringify({ version: 1, servers }, undefined, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await unlink(unfinished).catch(() => undefined);
    throw broken(path, `could not be written: ${(error as Error).message}`, error);
  }
}

async function prepareFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
    const { mode, uid } = await stat(folder);
    const foreign = HAS_MODES && uid !== process.geteuid?.();
    if (!foreign && (!HAS_MODES || (mode & OTHERS_WRITE) === 0)) return;
  } catch (error) {
    throw broken(folder, `could not be used: ${(error as Error).message}`, error);
  }
  throw broken(folder, "can be changed by others, who could put another file there; run chmod 700 on it");
}

function broken(path: string, what: string, cause?: unknown): LocalError {
  return new LocalError("AUTH_STORE", `The token file ${path} ${what}`, cause === undefined ? {} : { cause });
}

// Lets one process at a time work on a file, by a lock file beside it that says whose it is and shows that they are alive.

/** How long a lock is waited for, and when one is taken for left behind, in milliseconds. */
export interface FileLockOptions {
  /** Longest wait for others, in milliseconds. Default: 6 minutes, since one of them may be waiting for its user. */
  readonly waitMs?: number;
  /** Age from which a lock that shows no life is taken away, in milliseconds. Default: 30 seconds. */
  readonly staleMs?: number;
}

export interface FileLock {
  /** Rejects with `AUTH_STORE` when the lock was taken away, because this process stood still for too long. */
  check(): Promise<void>;
  release(): Promise<void>;
}

const WAIT_MS = 6 * 60_000;
const STALE_MS = 30_000;
/** Beats in the time after which a lock counts as stale. */
const BEATS = 4;
/** Pauses between two looks at a lock of others: from the first to the longest, each with some chance in it. */
const FIRST_PAUSE_MS = 8;
const LONGEST_PAUSE_MS = 250;

/** Locks `path` by the file `path.lock`. Rejects with `AUTH_STORE` when others do not let go in time. */
export async function lockFile(path: string, options: FileLockOptions = {}): Promise<FileLock> {
  const { waitMs = WAIT_MS, staleMs = STALE_MS } = options;
  const file = `${path}.lock`;
  const mark = `${process.pid} ${machine()} ${randomUUID()} ${startOf(process.pid)}\n`;
  const end = performance.now() + waitMs;
  for (let pause = FIRST_PAUSE_MS; !(await create(file, mark)); pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if (await breakStale(file, staleMs)) continue;
    if (performance.now() > end) {
      throw new LocalError(
        "AUTH_STORE",
        `${file} has been held by another process (${await holder(file)}) for ${waitMs} ms; if it no longer runs, delete the file`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
  }
  return held(file, mark, staleMs);
}

function held(file: string, mark: string, staleMs: number): FileLock {
  const beat = setInterval(
    () => {
      const now = new Date();
      // A beat that fails is noticed by `check`.
      void utimes(file, now, now).catch(() => undefined);
    },
    Math.min(staleMs / BEATS, LONGEST_TIMER_MS),
  );
  beat.unref();
  return {
    async check() {
      if ((await textOf(file)) === mark) return;
      throw new LocalError("AUTH_STORE", `${file} was taken over by another process; nothing was written, try again`);
    },
    async release() {
      clearInterval(beat);
      if ((await textOf(file)) === mark) await unlink(file).catch(() => undefined);
    },
  };
}

/** Whether the file was made. Its text is there as soon as anybody can tell it is not ours any more. */
async function create(file: string, mark: string): Promise<boolean> {
  let handle;
  try {
    handle = await open(file, "wx", 0o600);
  } catch (error) {
    if ((error as { code?: unknown }).code === "EEXIST") return false;
    throw new LocalError("AUTH_STORE", `${file} could not be made: ${(error as Error).message}`, { cause: error });
  }
  try {
    await handle.writeFile(mark);
  } finally {
    await handle.close();
  }
  return true;
}

/** Takes away the lock of a process that is gone. Whether the lock may be tried again at once. */
async function breakStale(file: string, staleMs: number): Promise<boolean> {
  const seen = await textOf(file);
  if (seen === undefined) return true;
  if (!(await isStale(file, seen, staleMs))) return false;
  // One at a time breaks, and looks again: between our look and the breaking somebody else may have got the lock.
  const breaker = `${file}.break`;
  if (!(await create(breaker, ""))) {
    if (await isOlder(breaker, staleMs)) await unlink(breaker).catch(() => undefined);
    return false;
  }
  try {
    if ((await textOf(file)) === seen) await unlink(file).catch(() => undefined);
  } finally {
    await unlink(breaker).catch(() => undefined);
  }
  return true;
}

async function isStale(file: string, text: string, staleMs: number): Promise<boolean> {
  const [pid, host, , start] = text.trim().split(" ");
  if (host === machine() && !isRunning(Number(pid), start)) return true;
  return isOlder(file, staleMs);
}

async function isOlder(file: string, ms: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(file)).mtimeMs > ms;
  } catch {
    return false;
  }
}

/** Where a process id means something: the machine and, where there are containers, the container. */
function machine(): string {
  let container = "";
  try {
    container = `/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Only Linux says so.
  }
  return hostname() + container;
}

/** When a process started, which tells it from a later one of its number; "-" where systems do not say. */
function startOf(pid: number): string {
  return String(processEntry(pid)?.start ?? "-");
}

function isRunning(pid: number, start: string | undefined): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return true;
  const now = startOf(pid);
  if (start !== undefined && start !== "-" && now !== "-" && now !== start) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code !== "ESRCH";
  }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, { encoding: "utf8", flag: AT_ONCE });
  } catch {
    return undefined;
  }
}

async function holder(file: string): Promise<string> {
  const [pid, host] = ((await textOf(file)) ?? "").trim().split(" ");
  return `pid ${pid ?? "unknown"} on ${host ?? "unknown"}`;
}
