// How much of this machine HTTP clients may take together, so that what the server itself needs is left.
import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import type { ServeHttpOptions } from "@secure-local/mcp/http";

type Room = Required<Pick<NonNullable<ServeHttpOptions["limits"]>, "bodyBytes" | "connections">>;

/**
 * The share of memory that large request bodies may have. A body takes some ten times its length while it is served, so
 * this leaves most of the memory to everything else.
 */
const BODY_SHARE = 1 / 32;
/** The longest messages, two at a time, are served on any machine; more than sixty-four on none. */
const LEAST_BODY_BYTES = 8 * 1024 * 1024;
const MOST_BODY_BYTES = 256 * 1024 * 1024;
/** The library's own bound. */
const MOST_CONNECTIONS = 10_000;
/** Open files kept for the log, files, databases, plugins and commands: at least so many, and this share. */
const LEAST_RESERVE = 64;
const RESERVE_SHARE = 1 / 4;

export interface Machine {
  /** Bytes this process may use. */
  readonly memory: number;
  /** Files and sockets this process may have open; undefined where the system does not tell. */
  readonly openFiles: number | undefined;
}

/** @param machine What it is run on; looked up when absent. */
export function httpRoom({ memory, openFiles = Infinity }: Machine = thisMachine()): Room {
  const share = Math.floor(memory * BODY_SHARE);
  const reserve = Math.max(LEAST_RESERVE, Math.ceil(openFiles * RESERVE_SHARE));
  return {
    bodyBytes: Math.max(LEAST_BODY_BYTES, Math.min(share, MOST_BODY_BYTES)),
    connections:
      openFiles === Infinity ? MOST_CONNECTIONS : Math.max(1, Math.min(openFiles - reserve, MOST_CONNECTIONS)),
  };
}

function thisMachine(): Machine {
  return { memory: memoryLimit(), openFiles: openFilesLimit() };
}

/** Bytes this process may use: what its control group has, or all of the machine's. */
export function memoryLimit(): number {
  // 0 where nothing is known, and more than there is where there is no limit.
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}

/** Linux tells; elsewhere nobody is asked, since it would cost a process. */
function openFilesLimit(): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
