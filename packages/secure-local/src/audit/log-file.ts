// The few file operations the log needs, behind an interface so that tests can make each of them fail.
import * as fs from "node:fs";
import { dirname } from "node:path";

/** An open log file. Every operation throws (or rejects) with the system's error. */
export interface LogFile {
  /** Appends bytes and returns how many were taken. It fills the page cache and does not wait for the disk. */
  append(bytes: Buffer): number;
  /** Resolves once everything appended is on the disk. */
  sync(): Promise<void>;
  size(): number;
  truncate(size: number): void;
  /** Reads exactly `length` bytes at `position`, or fewer at the end of the file. */
  read(position: number, length: number): Buffer;
  close(): void;
}

/** Opens (or creates, for its owner only) a file for appending. */
export function openLogFile(path: string): LogFile {
  const fd = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_APPEND | fs.constants.O_CREAT | NO_FOLLOW, 0o600);
  if (process.platform !== "win32" && fs.fstatSync(fd).size === 0) syncFolder(dirname(path));
  return {
    append: (bytes) => fs.writeSync(fd, bytes),
    sync: () =>
      new Promise((resolve, reject) => {
        fs.fdatasync(fd, (error) => (error ? reject(error) : resolve()));
      }),
    size: () => fs.fstatSync(fd).size,
    truncate: (size) => fs.ftruncateSync(fd, size),
    read: (position, length) => {
      const buffer = Buffer.alloc(length);
      return buffer.subarray(0, fs.readSync(fd, buffer, 0, length, position));
    },
    close: () => fs.closeSync(fd),
  };
}

/** A link planted under the log's name would send the records elsewhere. Windows has no such flag. */
const NO_FOLLOW: number = fs.constants.O_NOFOLLOW ?? 0;

/** Without this a power failure could take the name of a new log away, and its records with it. */
function syncFolder(path: string): void {
  const fd = fs.openSync(path, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
