// Changes a large file in a copy beside it that takes its place when it is whole.
import { closeSync, constants, fsync, readdirSync, renameSync, rmSync, type Stats, write } from "node:fs";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import {
  type AtomicWrite,
  begun,
  checked,
  discard,
  keepMode,
  present,
  syncFolder,
  UNFINISHED,
} from "./atomic-write.js";
import { FileError } from "./file-error.js";
import { inFolder } from "./held-folder.js";

const syncTo = promisify(fsync);
const writeAt = promisify(write);

/** Gets the path of the copy under which this process reaches it until the promise settles. */
export type RebuildWork = (copy: string) => Promise<void>;

export interface Rebuild extends Pick<AtomicWrite, "place" | "shown" | "stillAllowed"> {
  readonly signal: AbortSignal;
  readonly work: RebuildWork;
}

const COPIED_AT_ONCE = 1_048_576;
const COPY_NAME = new RegExp(`^\\${UNFINISHED}copy-(\\d{1,9})-[0-9a-f]{16}\\.tmp$`);

export async function rebuildFile({ place, shown, signal, stillAllowed, work }: Rebuild): Promise<void> {
  const { folder, name } = place;
  const copy = `${UNFINISHED}copy-${process.pid}-${randomBytes(8).toString("hex")}.tmp`;
  const { before, fd } = inFolder(folder, (at) => {
    removeLeftovers(at);
    return begun({ mode: "either", shown, place }, at, copy);
  });
  try {
    try {
      stillAllowed();
      if (before !== undefined) await copyInto(fd, `${folder.at}/${name}`, { before, shown, signal });
      await work(`${folder.at}/${copy}`);
      signal.throwIfAborted();
      if (before !== undefined) keepMode(fd, before);
      await syncTo(fd);
    } finally {
      closeSync(fd);
    }
    signal.throwIfAborted();
    // Nothing waits between the last look and the renaming.
    stillAllowed();
    inFolder(folder, (at) => {
      const now = present(`${at}/${name}`);
      if (before === undefined) checked({ mode: "create", shown }, now);
      else checked({ mode: "replace", shown, expected: before }, now);
      renameSync(`${at}/${copy}`, `${at}/${name}`);
    });
  } catch (error) {
    discard(folder, copy);
    throw error;
  }
  await syncFolder(folder.at);
}

interface Source {
  readonly before: Stats;
  readonly shown: string;
  readonly signal: AbortSignal;
}

async function copyInto(fd: number, target: string, { before, shown, signal }: Source): Promise<void> {
  const source = await open(target, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const { ino, dev } = await source.stat();
    if (ino !== before.ino || dev !== before.dev)
      throw new FileError("changed", `"${shown}" was replaced by somebody else meanwhile.`);
    const bytes = Buffer.allocUnsafe(COPIED_AT_ONCE);
    for (let at = 0; ;) {
      signal.throwIfAborted();
      const { bytesRead } = await source.read(bytes, 0, bytes.length, at);
      if (bytesRead === 0) return;
      await writeAt(fd, bytes, 0, bytesRead, at);
      at += bytesRead;
    }
  } finally {
    await source.close();
  }
}

/** A process that was killed leaves its copy behind. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = COPY_NAME.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) rmSync(`${folder}/${name}`, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { readonly code?: string }).code !== "ESRCH";
  }
}
