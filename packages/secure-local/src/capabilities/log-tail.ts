// Reads the newest part of the log that the policy names, found and judged as every file is.
import type { Policy } from "../policy/policy.js";
import { isExchangeable, readingOnly } from "./files/bases.js";
import { FileError } from "./files/files.js";
import { FileSystem } from "./files/file-system.js";

const RULE = { text: "prompts.analyze_logs.log_file" };

/** Of the log that the policy of the moment names, its last bytes, from the beginning of a line. */
export type ReadLog = (maxBytes: number) => Promise<string>;

/** `own` are the program's own files, which no log is. The reader refuses what is no regular file, by a FileError. */
export function logTail(policy: () => Policy, own: readonly string[]): ReadLog {
  let granted: { readonly policy: Policy; readonly own: Policy } | undefined;
  const named = (): string => policy().prompts.analyzeLogsFile ?? "";
  const files = new FileSystem(
    () => {
      const now = policy();
      if (granted?.policy !== now) granted = { policy: now, own: readingOnly(now, named(), RULE) };
      return granted.own;
    },
    { own },
  ).files();
  return async (maxBytes) => {
    const path = named();
    if (isExchangeable(path)) throw exchangeable(path);
    const file = await files.open(path);
    try {
      const start = Math.max(0, file.size - maxBytes);
      const bytes = Buffer.alloc(file.size - start);
      const text = bytes.toString("utf8", 0, await file.read(bytes, start));
      return start === 0 ? text : text.slice(text.indexOf("\n") + 1);
    } finally {
      file.close();
    }
  };
}

function exchangeable(path: string): FileError {
  const words = `"${path}" goes by a link that a program of the policy may exchange; name where it leads`;
  return new FileError("link", words, RULE.text);
}
