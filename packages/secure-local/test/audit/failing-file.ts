// A log file whose operations fail when told to, for tests of full and broken disks.
import { openLogFile, type LogFile } from "../../src/audit/log-file.js";

export interface FaultyFile {
  /** Answers each append in turn: an error to throw, a number of bytes to take, or undefined to work. */
  appends: (Error | number | undefined)[];
  syncs: (Error | undefined)[];
  truncates: (Error | undefined)[];
  counts: { appends: number; syncs: number; truncates: number };
  open: (path: string) => LogFile;
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code });
}

export function faultyFile(): FaultyFile {
  const faulty: FaultyFile = {
    appends: [],
    syncs: [],
    truncates: [],
    counts: { appends: 0, syncs: 0, truncates: 0 },
    open(path) {
      const real = openLogFile(path);
      return {
        ...real,
        append(bytes) {
          faulty.counts.appends++;
          const fault = faulty.appends.shift();
          if (fault instanceof Error) throw fault;
          return real.append(fault === undefined ? bytes : bytes.subarray(0, fault));
        },
        async sync() {
          faulty.counts.syncs++;
          await real.sync();
          const fault = faulty.syncs.shift();
          if (fault) throw fault;
        },
        // The disk under test is the log's own; the journal has tests of its own.
        journal: () => Promise.reject(systemError("ENOSPC")),
        truncate(size) {
          faulty.counts.truncates++;
          const fault = faulty.truncates.shift();
          if (fault) throw fault;
          real.truncate(size);
        },
      };
    },
  };
  return faulty;
}
