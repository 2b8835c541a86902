// Makes sure that one process writes one log, although several clients start several servers at the same time.
//
// Each process puts down a lock file of its own (`<log>.lock-<pid>-<birth>`) and looks for others only afterwards. Of two
// that come together the later one to look sees the other, so both can lose but never both win. Those that lost every name
// to each other, step by step, wait for a moment of chance each and begin again. Nobody removes the lock
// of a live process, and a dead one's has a name no other process uses, so there is nothing to race for. Who loses takes
// the next name (`audit.2.log`), whose chain is as sound as the first one's. Containers that share a folder but not their
// process numbers must not share a log; the writer's check of the file size catches those that do.
import * as fs from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { AuditError, type AuditEvent } from "./audit-event.js";
import type { RecordLink } from "./event-text.js";
import { archivedPath, readHead } from "./log-file.js";

/** Servers of one person on one machine: one for each client that runs, with room to spare. */
const MAX_LOGS = 32;
/** Looking through all names takes a few milliseconds, so whoever wakes this much sooner is done before the other looks. */
const LONGEST_PAUSE_MS = 40;
/** Two that began in the same moment have parted after one pause, a dozen of them after a few; then the names are truly taken. */
const MOST_ROUNDS = 6;

/** A lock that is held. */
export interface LogLock {
  /** The log this process may write. */
  readonly file: string;
  release(): void;
}

/**
 * Takes the first free name: the file itself, then its numbered neighbours.
 *
 * @param pause Waits for so many milliseconds without returning: nothing is served before there is a log.
 * @throws AuditError (`in_use`) when every name is taken.
 */
export function lockLog(file: string, pause: (ms: number) => void = sleep): LogLock {
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    for (let number = 1; number <= MAX_LOGS; number++) {
      const lock = tryLock(numberedLog(file, number));
      if (lock) return lock;
    }
    if (round < MOST_ROUNDS) pause(Math.random() * LONGEST_PAUSE_MS);
  }
  throw new AuditError("in_use", file, `${MAX_LOGS} running servers write beside this log already. Stop some of them.`);
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** The name of the log that the `number`-th server running at the same time writes, counted from 1. */
export function numberedLog(file: string, number: number): string {
  if (number === 1) return file;
  const extension = extname(file);
  return join(dirname(file), `${basename(file, extension)}.${number}${extension}`);
}

/** The log and those of its numbered neighbours that exist; a neighbour without a record is none, and whoever left it had nothing to write. */
export function existingLogs(file: string): string[] {
  return numberedLogs(file).filter((name) => fs.existsSync(name) && (name === file || isBegun(name)));
}

function isBegun(log: string): boolean {
  const { size = 0 } = fs.statSync(log, { throwIfNoEntry: false }) ?? {};
  return size > 0 || hasRecords(log);
}

/** Whether a record of it was ever written, as what lies beside it says. */
function hasRecords(log: string): boolean {
  return (readHead(log)?.seq ?? 0) > 0 || fs.existsSync(archivedPath(log));
}

/** Those that exist, and those of which only the head file, or the word of what was archived, is left: somebody took the log away. */
export function rememberedLogs(file: string): string[] {
  const existing = new Set(existingLogs(file));
  return numberedLogs(file).filter((name) => existing.has(name) || hasRecords(name));
}

function numberedLogs(file: string): string[] {
  return Array.from({ length: MAX_LOGS }, (_, index) => numberedLog(file, index + 1));
}

function tryLock(file: string): LogLock | undefined {
  const prefix = `${basename(file)}.lock-`;
  const folder = dirname(file);
  const lock = `${prefix}${process.pid}-${ownBirth() ?? "0"}-${Math.random().toString(36).slice(2, 10)}`;
  const path = join(folder, lock);
  fs.closeSync(fs.openSync(path, "wx", 0o600));
  for (const name of fs.readdirSync(folder)) {
    if (name === lock || !name.startsWith(prefix)) continue;
    if (isHeld(name.slice(prefix.length))) {
      fs.rmSync(path, { force: true });
      return undefined;
    }
    fs.rmSync(join(folder, name), { force: true });
  }
  return { file, release: () => fs.rmSync(path, { force: true }) };
}

function isHeld(owner: string): boolean {
  const [pid, born] = owner.split("-");
  const id = Number(pid);
  if (!Number.isSafeInteger(id) || id <= 0) return false;
  try {
    process.kill(id, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  // A number used again by another process is not the one that put the lock down.
  const now = id === process.pid ? ownBirth() : birth(id);
  return now === undefined || born === "0" || now === born;
}

let own: { readonly birth: string | undefined } | undefined;

/** Asked for at every name that is tried. */
function ownBirth(): string | undefined {
  own ??= { birth: birth(process.pid) };
  return own.birth;
}

/** When a process was started, where the system tells (Linux); with the pid it names one process. */
function birth(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

// Says what was wrong with a log when it was opened, as records for that log.

interface Damage {
  /** Bytes of an unfinished last line that were cut off. */
  readonly tornBytes: number;
  /** Records put back from the journal. */
  readonly restored: number;
  readonly head: RecordLink | undefined;
  /** The last record there is. */
  readonly last: RecordLink;
  /** The newest records that the journal held. */
  readonly round: readonly RecordLink[];
}

export function damageOf({ tornBytes: bytes, restored, head, last, round }: Damage): AuditEvent[] {
  const notes: AuditEvent[] = [];
  if (bytes > 0) notes.push(repaired({ reason: "the last line was torn", bytes }));
  if (restored > 0) notes.push(repaired({ reason: "the journal had records the log had not", restored }));
  const journalled = round.at(-1)?.seq ?? 0;
  const isOther = round.some(({ seq, hash }) => seq > last.seq || (seq === last.seq && hash !== last.hash));
  const isBegun = last.seq > 0 || head !== undefined;
  if (isOther && !isBegun) notes.push(repaired({ reason: "a journal of another log lay beside this one" }));
  if ((head && head.seq > last.seq) || (isOther && isBegun)) {
    const expected = Math.max(head?.seq ?? 0, isOther ? journalled : 0);
    notes.push({ kind: "log.truncated", detail: { expected, found: last.seq } });
  }
  return notes;
}

export function repaired(detail: { reason: string; bytes?: number; restored?: number }): AuditEvent {
  return { kind: "log.repaired", detail };
}
