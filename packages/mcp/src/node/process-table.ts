// Who runs on this machine, read from /proc: a process is told from a later one of its number by when it started.
import { closeSync, openSync, readdirSync, readSync } from "node:fs";

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In clock ticks since the machine started. */
  readonly start: number;
  /** Ended, and not yet collected by its parent: it can do nothing any more. */
  readonly ended: boolean;
}

// Positions behind the name in /proc/<pid>/stat (proc(5)).
const STATE = 0;
const PARENT = 1;
const GROUP = 2;
const START = 19;

const NUMBER = /^\d+$/;
// Entries read before the event loop gets a turn: about a millisecond.
const SLICE = 64;
// More than any stat; what is longer comes in pieces.
const PIECE_BYTES = 4_096;
// One for all: a look reads hundreds of files, and half of its cost would be a buffer for each of them.
let piece: Buffer | undefined;

/** Undefined when there is no such process, or no /proc. */
export function processEntry(pid: number): ProcessEntry | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name is in parentheses and may hold anything, parentheses too.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[STATE];
  return {
    pid,
    parent: Number(fields[PARENT]),
    group: Number(fields[GROUP]),
    start: Number(fields[START]),
    ended: state === "Z" || state === "X",
  };
}

/** All processes; pauses now and then for whoever runs it. */
export function* processTable(): Generator<void, ProcessEntry[]> {
  const table: ProcessEntry[] = [];
  let read = 0;
  for (const name of processNames()) {
    if (!NUMBER.test(name)) continue;
    const entry = processEntry(Number(name));
    if (entry !== undefined) table.push(entry);
    if (++read % SLICE === 0) yield;
  }
  return table;
}

/** The environment a process was started with; empty while it is being started, undefined where we may not look. */
export function initialEnvironment(pid: number): string | undefined {
  return readProc(`/proc/${pid}/environ`);
}

function processNames(): string[] {
  try {
    return readdirSync("/proc");
  } catch {
    return [];
  }
}

function readProc(file: string): string | undefined {
  let handle: number | undefined;
  try {
    handle = openSync(file, "r");
    return readAll(handle);
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

function readAll(handle: number): string {
  const buffer = (piece ??= Buffer.allocUnsafeSlow(PIECE_BYTES));
  for (let text = ""; ;) {
    const length = readSync(handle, buffer);
    text += buffer.toString("latin1", 0, length);
    // These files fill what they are given, up to their end.
    if (length < buffer.length) return text;
  }
}
