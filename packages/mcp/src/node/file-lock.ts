// Lets one process at a time work on a file, by a lock file beside it that says whose it is and shows that they are alive.
import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { open, readFile, stat, unlink, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { LocalError } from "../jsonrpc/local-error.js";
import { processEntry } from "./process-table.js";

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
  const beat = setInterval(() => {
    const now = new Date();
    // A beat that fails is noticed by `check`.
    void utimes(file, now, now).catch(() => undefined);
  }, staleMs / BEATS);
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
    return await readFile(file, "utf8");
  } catch {
    return undefined;
  }
}

async function holder(file: string): Promise<string> {
  const [pid, host] = ((await textOf(file)) ?? "").trim().split(" ");
  return `pid ${pid ?? "unknown"} on ${host ?? "unknown"}`;
}
