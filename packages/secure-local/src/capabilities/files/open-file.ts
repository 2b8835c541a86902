// Opens and reads the very file that was found.
import { closeSync, constants, openSync, read as readByCallback, readSync, type Stats } from "node:fs";
import { Buffer } from "node:buffer";
import { promisify } from "node:util";
import { FileError } from "./file-error.js";
import type { FileInfo, OpenFile } from "./files.js";
import type { Found } from "./lookup.js";

const read = promisify(readByCallback);

/** Without waiting for anybody, without becoming anybody's terminal. */
const READ_ONLY =
  constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0) | (constants.O_NOFOLLOW ?? 0);
/** Bytes read without asking a thread to do it, which would take ten times as long. */
const AT_ONCE = 16_384;
/** Added when a file grows while it is read. */
const GROWTH = 65_536;

/** @throws FileError `not-a-file` for anything but a regular file */
export function openFound(found: Found, shown: string): number {
  if (found.stats.isDirectory()) throw new FileError("not-a-file", `"${shown}" is a folder.`);
  if (!found.stats.isFile()) throw new FileError("not-a-file", `"${shown}" is no regular file.`);
  // A path of the kernel's own is a link by nature, and leads to what was found and nowhere else.
  const flags = found.at === found.path ? READ_ONLY : READ_ONLY & ~(constants.O_NOFOLLOW ?? 0);
  // What is opened has been looked up already, so this waits for no disk.
  const fd = openSync(found.at, flags);
  try {
    found.confirm(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}

/** Reads everything. @throws FileError `too-large`, the signal's reason */
export async function readWhole(fd: number, size: number, at: ReadingLimits): Promise<Uint8Array> {
  if (size > at.maxBytes) throw tooLarge(at, size);
  let bytes = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (;;) {
    at.signal?.throwIfAborted();
    length +=
      size <= AT_ONCE ? readSync(fd, bytes, length, bytes.length - length, length) : await more(fd, bytes, length);
    if (length > at.maxBytes) throw tooLarge(at, length);
    // Regular files give all they have: less than there is room for is the end.
    if (length < bytes.length) return bytes.subarray(0, length);
    bytes = Buffer.concat([bytes, Buffer.allocUnsafe(GROWTH)]);
  }
}

async function more(fd: number, into: Uint8Array, from: number): Promise<number> {
  const { bytesRead } = await read(fd, into, from, into.length - from, from);
  return bytesRead;
}

export interface ReadingLimits {
  readonly maxBytes: number;
  /** The path as the caller gave it. */
  readonly shown: string;
  readonly signal: AbortSignal | undefined;
}

export function infoOf(path: string, stats: Stats): FileInfo {
  const folder = stats.isDirectory();
  return { path, kind: folder ? "folder" : "file", size: folder ? 0 : stats.size, modifiedMs: stats.mtimeMs };
}

export function opened(fd: number, info: FileInfo): OpenFile {
  let closed = false;
  return {
    ...info,
    handlePath: process.platform === "linux" ? `/proc/self/fd/${fd}` : info.path,
    async read(into, position) {
      const { bytesRead } = await read(fd, into, 0, into.length, position);
      return bytesRead;
    },
    close() {
      if (closed) return;
      closed = true;
      closeSync(fd);
    },
  };
}

function tooLarge({ maxBytes, shown }: ReadingLimits, size: number): FileError {
  return new FileError("too-large", `"${shown}" has ${size} bytes; at most ${maxBytes} are read at once.`);
}
