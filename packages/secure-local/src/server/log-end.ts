// Reads the end of the log that the policy names for the prompt `analyze_logs`.
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { ReadLog } from "../prompts/analyze-logs.js";

/** A reader of the newest bytes of `file`, from the beginning of a line. It opens nothing but regular files. */
export function logEndOf(file: string): ReadLog {
  return async (maxBytes) => {
    // A pipe under this name must not hold the call.
    const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const status = await handle.stat();
      if (!status.isFile()) throw Object.assign(new Error(`${file} is not a regular file`), { code: "ENOTFILE" });
      const start = Math.max(0, status.size - maxBytes);
      const buffer = Buffer.alloc(Math.min(status.size, maxBytes));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
      const bytes = buffer.subarray(0, bytesRead);
      const text = new TextDecoder().decode(bytes);
      return start === 0 ? text : text.slice(text.indexOf("\n") + 1);
    } finally {
      await handle.close();
    }
  };
}
