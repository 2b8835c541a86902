// Says which records of a log were archived, and so are not among those that a command reads.
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { archivedFiles } from "../audit/archive.js";

/** Which records of the logs lie elsewhere, one sentence for each folder; what lies beside a log is read with it. */
export function archivedNotes(logs: readonly string[]): readonly string[] {
  return logs.flatMap((log) => {
    const counts = new Map<string, number>();
    let before = 0;
    for (const { file, seq, bytes, to } of toldOf(log)) {
      const records = seq - before;
      before = seq;
      if (!liesBeside(log, { file, bytes, to })) counts.set(to, (counts.get(to) ?? 0) + records);
    }
    return [...counts].map(([to, records]) => noteOf(records, join(to, basename(log))));
  });
}

/** What cannot be read is told by `audit verify`, and keeps no log from being searched. */
function toldOf(log: string): ReturnType<typeof archivedFiles> {
  try {
    return archivedFiles(log);
  } catch {
    return [];
  }
}

function noteOf(records: number, log: string): string {
  const what = records === 1 ? "1 older record is" : `${records} older records are`;
  return `${what} archived in ${dirname(log)} and ${records === 1 ? "was" : "were"} not searched: --audit ${log}`;
}

/** Where the log is the archive itself, or a file was brought back. */
function liesBeside(log: string, { file, bytes, to }: { file: string; bytes: number; to: string }): boolean {
  const folder = dirname(log);
  if (existsSync(folder) && realpathSync(folder) === to) return true;
  return statSync(join(folder, file), { throwIfNoEntry: false })?.size === bytes;
}
