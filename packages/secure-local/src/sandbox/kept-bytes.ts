// Bytes kept in a file that has no name: many sandboxes read them without their passing through this process again.
import type { Buffer } from "node:buffer";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where the system shows the open files of this process; only there can one be opened anew. */
const OPEN_FILES = "/proc/self/fd";
const UNUSED = new FinalizationRegistry<number>(closeSync);

/** The file goes when nobody holds this any more. */
export class KeptBytes {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
    // Not before: a number that is used again would be another file.
    UNUSED.register(this, fd);
  }

  /** Linux only. @throws Error of the file system */
  static of(...pieces: readonly Buffer[]): KeptBytes {
    const { fd, name } = nameless();
    try {
      for (const piece of pieces) writeAll(fd, piece);
      return new KeptBytes(openSync(name, "r"));
    } finally {
      closeSync(fd);
    }
  }

  /** Each piece is written before the next is asked for. Linux only. @throws Error of the file system */
  static async from(pieces: AsyncIterable<Buffer>): Promise<KeptBytes> {
    const { fd, name } = nameless();
    try {
      for await (const piece of pieces) writeAll(fd, piece);
      return new KeptBytes(openSync(name, "r"));
    } finally {
      closeSync(fd);
    }
  }

  /** At its beginning, to be read once; the caller closes it. */
  open(): number {
    return openSync(`${OPEN_FILES}/${this.#fd}`, "r");
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}

/** A file that nobody else can open: its folder is this user's alone, and it is gone from there before a byte is written. */
function nameless(): { readonly fd: number; readonly name: string } {
  const folder = mkdtempSync(join(tmpdir(), "mcp-kept-"));
  try {
    const fd = openSync(join(folder, "bytes"), "wx+", 0o600);
    return { fd, name: `${OPEN_FILES}/${fd}` };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
