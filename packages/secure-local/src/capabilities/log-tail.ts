// Reads the newest part of one file that the policy names.
import { Buffer } from "node:buffer";

/** Returns a reader of the last bytes of `path`, from the beginning of a line. It refuses what is no regular file. */
export function logTail(path: string): (maxBytes: number) => Promise<string> {
  return async (maxBytes) => {
    const { constants } = await import("node:fs");
    const { open } = await import("node:fs/promises");
    // Without waiting: the name may belong to a pipe that nobody writes to.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw Object.assign(new Error("not a regular file"), { code: "not a regular file" });
      const start = Math.max(0, stats.size - maxBytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size - start), 0, stats.size - start, start);
      const text = buffer.toString("utf8", 0, bytesRead);
      return start === 0 ? text : text.slice(text.indexOf("\n") + 1);
    } finally {
      await file.close();
    }
  };
}
