// Keeps credentials in a file that only its owner can read, shared by all of the owner's processes.
import { constants } from "node:fs";
import { open, rename, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { createHash, randomUUID } from "node:crypto";
import type { CredentialStore, HeldCredentials } from "../auth/client/credential-store.js";
import { readCredentials } from "../auth/client/credentials-record.js";
import { isPlainObject } from "../auth/strict-object.js";
import { LocalError } from "../jsonrpc/local-error.js";
import { type FileLock, type FileLockOptions, lockFile } from "./file-lock.js";
import { makeFolder } from "./make-folder.js";

/** Longest wait to write what is there to be written: others hold the file for milliseconds. */
const CHANGE_WAIT_MS = 60_000;
/** Largest file read: some hundred servers. */
const MAX_BYTES = 4 * 1024 * 1024;
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
/** Files of Windows have no such modes; there the user's profile folder keeps others out. */
const HAS_MODES = process.platform !== "win32";

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
    handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw broken(path, code === "ELOOP" ? "is a link; name the file itself" : `could not be opened: ${message}`, error);
  }
  try {
    const { mode, uid, size } = await handle.stat();
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
