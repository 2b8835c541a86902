// Changes a large file in a copy beside it that takes its place when it is whole.
import { constants, readdirSync, renameSync, type Stats } from "node:fs";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import {
  type AtomicWrite,
  checked,
  discard,
  keepMode,
  NEW_FILE,
  NEW_MODE,
  present,
  syncFolder,
  UNFINISHED,
} from "./atomic-write.js";
import { FileError } from "./file-error.js";

/** Gets the path of the copy under which this process reaches it until the promise settles. */
export type RebuildWork = (copy: string) => Promise<void>;

export interface Rebuild extends Pick<AtomicWrite, "place" | "shown" | "stillAllowed"> {
  readonly signal: AbortSignal;
  readonly work: RebuildWork;
}

const COPIED_AT_ONCE = 1_048_576;
const COPY_NAME = new RegExp(`^\\${UNFINISHED}copy-(\\d{1,9})-[0-9a-f]{16}\\.tmp$`);

export async function rebuildFile({ place, shown, signal, stillAllowed, work }: Rebuild): Promise<void> {
  const folder = place.folder.at;
  const target = `${folder}/${place.name}`;
  const before = checked({ mode: "either", shown }, present(target));
  removeLeftovers(folder);
  const copy = `${folder}/${UNFINISHED}copy-${process.pid}-${randomBytes(8).toString("hex")}.tmp`;
  const file = await open(copy, NEW_FILE, before === undefined ? NEW_MODE : 0o600);
  try {
    try {
      stillAllowed();
      if (before !== undefined) await copyInto(file, target, { before, shown, signal });
      await work(copy);
      signal.throwIfAborted();
      if (before !== undefined) await keepMode(file, before);
      await file.sync();
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    // Nothing waits between the last look and the renaming.
    stillAllowed();
    if (before === undefined) checked({ mode: "create", shown }, present(target));
    else checked({ mode: "replace", shown, expected: before }, present(target));
    renameSync(copy, target);
  } catch (error) {
    discard(copy);
    throw error;
  }
  await syncFolder(folder);
}

interface Source {
  readonly before: Stats;
  readonly shown: string;
  readonly signal: AbortSignal;
}

async function copyInto(file: FileHandle, target: string, { before, shown, signal }: Source): Promise<void> {
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
      await file.write(bytes, 0, bytesRead, at);
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
    if (owner !== undefined && !isAlive(Number(owner))) discard(`${folder}/${name}`);
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
