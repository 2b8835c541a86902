// Checks the chains of all processes of a server: each is there, whole, and as long as any other process remembers it.
import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { type ChainHead, chainOf, type SignedHead } from "./checkpoint.js";
import { archivedPath, archivesOf, headPath, journalPath, linesOf, lookAtHead } from "./log-file.js";
import { rememberedLogs } from "./log-writer.js";
import { whyUnread } from "./owned-files.js";
import { restoredPath } from "./restored.js";
import { checkpointedLogs, missingLog, verifyAudit, type VerifyOptions } from "./verify-audit.js";

/** What a check found of one chain. */
export interface CheckedChain {
  /** Its file; for one that is missing, the name its process gave it. */
  readonly file: string;
  readonly ok: boolean;
  readonly records: number;
  /** How many words of other processes, and of what they share, agree with it. */
  readonly witnesses: number;
  /** How many signed checkpoints do. */
  readonly checkpoints: number;
  /** It is where files of the log were archived to. */
  readonly isArchive?: boolean;
  readonly reason?: string;
  /** Nothing was found to be changed, but something that has to be read could not be. */
  readonly notChecked?: true;
  /** The first bad line, as FILE:LINE. */
  readonly at?: string;
}

interface Signed extends Pick<VerifyOptions, "archives" | "checkpoints"> {
  /** The log that the policy names whose checkpoints these are: its neighbours are looked for as well. */
  readonly usual?: string;
}

/** Heads that are compared with one chain, the furthest ones. */
const MAX_WITNESSES = 10_000;
/** Words that say so of themselves, in a line of a log. */
const HEADS = '"kind":"cluster.heads"';
const JOINED = '"kind":"cluster.joined"';

/**
 * Checks every log in a folder and in its folders, one for each process or machine. `heads`: what the processes have signed where
 * all of them keep it; read before this is called. `signed`: what is signed elsewhere of logs by their names. Throws the system's error when the
 * folder cannot be read.
 */
export async function verifyChains(
  folder: string,
  heads: readonly SignedHead[] = [],
  signed: Signed = {},
): Promise<readonly CheckedChain[]> {
  const logs = new Map<string, string | undefined>();
  // What cannot be read is said when it is checked.
  for (const file of logsIn(folder)) logs.set(file, await chainOf(file).catch(() => undefined));
  const memory = new Witnesses();
  const keys = new Map<string, Set<string>>();
  for (const [file, chain] of logs) {
    for (const each of [...archivesOf(file), file])
      await memory.readAll(each, (key) => noteKey(keys, chain, key)).catch(() => undefined);
  }
  for (const head of heads) {
    // A key that the chain does not name is another one's, whatever it says.
    if (keys.get(head.chain)?.has(head.publicKey) !== false) memory.add(head);
  }
  const checked: CheckedChain[] = [];
  for (const [file, chain] of logs) {
    const isOne = [...logs.keys()].every((other) => other === file || basename(other) !== basename(file));
    checked.push(await checkedLog(file, { witnesses: memory.of(chain), ...signed }, isOne));
  }
  for (const file of await takenAway(folder, checked, signed)) checked.push(file);
  const there = new Set(logs.values());
  for (const head of memory.latest()) {
    if (there.has(head.chain)) continue;
    // A log of that name that is here is another one: of another machine, or begun anew after this one was taken away.
    const reason = `the chain of the process ${head.node}, which its machine has in a file ${head.file}, is missing: others remember it up to record ${head.seq}`;
    checked.push({ file: head.file, ok: false, records: 0, witnesses: 0, checkpoints: 0, reason });
  }
  return checked;
}

/**
 * Logs that checkpoints know and the folder has not. The checkpoints are of these logs where this is the folder of the policy's own
 * log, or one here agrees with some: of the logs of other machines they know nothing. Where files were archived to there are those alone.
 */
async function takenAway(
  folder: string,
  checked: readonly CheckedChain[],
  { checkpoints, usual }: Signed,
): Promise<readonly CheckedChain[]> {
  if (checkpoints === undefined || usual === undefined) return [];
  const isOwn = fs.existsSync(dirname(usual)) && fs.realpathSync(dirname(usual)) === fs.realpathSync(folder);
  if (!isOwn && !checked.some((each) => each.checkpoints > 0 && !each.isArchive)) return [];
  const known = await checkpointedLogs(checkpoints);
  const there = new Set(checked.map(({ file }) => basename(file)));
  return rememberedLogs(join(folder, basename(usual)), known).flatMap((file): CheckedChain[] => {
    const last = known.get(basename(file));
    if (last === undefined || there.has(basename(file))) return [];
    return [{ file, ok: false, records: 0, witnesses: 0, checkpoints: 0, reason: missingLog(file, last.seq) }];
  });
}

/** Whether one of the heads is of a log in a folder: where none is, they are those of other processes. */
export async function knowsSome(folder: string, heads: readonly SignedHead[]): Promise<boolean> {
  const known = new Set(heads.map(({ chain }) => chain));
  for (const file of logsIn(folder)) if (known.has((await chainOf(file).catch(() => undefined)) ?? "")) return true;
  return false;
}

function noteKey(keys: Map<string, Set<string>>, chain: string | undefined, key: string): void {
  if (chain === undefined) return;
  const known = keys.get(chain) ?? new Set<string>();
  keys.set(chain, known.add(key));
}

/** Checkpoints name a log by its file. Where several have that name, they are of the one that agrees with some of them. */
async function checkedLog(
  file: string,
  options: VerifyOptions & { readonly witnesses: ReadonlyMap<number, string> },
  isOne: boolean,
): Promise<CheckedChain> {
  const { witnesses } = options;
  let report = await reportOn(file, { ...options, named: true });
  if (!report.ok && !isOne && report.checkpoints === 0)
    report = await reportOn(file, { ...options, checkpoints: undefined, named: true });
  const { ok, records, firstBadLine, badFile = file, reason, unread, checkpoints = 0, archive } = report;
  const isArchive = archive === undefined ? {} : { isArchive: true };
  if (ok) return { file, ok, records, witnesses: witnesses.size, checkpoints, ...isArchive };
  const at = firstBadLine === undefined ? {} : { at: `${badFile}:${firstBadLine}` };
  const why = { ...(reason === undefined ? {} : { reason }), ...(unread && { notChecked: unread }) };
  return { file, ok, records, witnesses: 0, checkpoints, ...why, ...at };
}

/** One that cannot be read keeps no other from being checked. */
async function reportOn(file: string, options: VerifyOptions): ReturnType<typeof verifyAudit> {
  try {
    return await verifyAudit(file, options);
  } catch (error) {
    return { ok: false, records: 0, reason: `it cannot be read: ${whyUnread(error)}`, unread: true };
  }
}

/** What processes remember of each other's chains. */
class Witnesses {
  readonly #chains = new Map<string, { latest: ChainHead; readonly hashes: Map<number, string> }>();

  add(head: ChainHead): void {
    const { chain, seq, hash } = head;
    const known = this.#chains.get(chain) ?? { latest: head, hashes: new Map<number, string>() };
    this.#chains.set(chain, known);
    if (seq >= known.latest.seq) known.latest = head;
    const other = known.hashes.get(seq);
    // Two that contradict each other cannot both be right: no record fits that.
    known.hashes.set(seq, other === undefined || other === hash ? hash : "contradiction");
    if (known.hashes.size > MAX_WITNESSES) known.hashes.delete(known.hashes.keys().next().value as number);
  }

  of(chain: string | undefined): ReadonlyMap<number, string> {
    return this.#chains.get(chain ?? "")?.hashes ?? new Map();
  }

  latest(): readonly ChainHead[] {
    return [...this.#chains.values()].map(({ latest }) => latest);
  }

  /** Takes what a file says of others. `onKey` is told of the keys that its own process has signed with. */
  async readAll(file: string, onKey: (publicKey: string) => void): Promise<void> {
    for await (const line of linesOf(file)) {
      if (line.includes(JOINED)) onKey(String(detailOf(line)["publicKey"]));
      else if (line.includes(HEADS)) for (const head of (detailOf(line)["heads"] ?? []) as ChainHead[]) this.add(head);
    }
  }
}

/** A line that is no record is found when its log is checked. */
function detailOf(line: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(line) as { detail?: Record<string, unknown> }).detail ?? {};
  } catch {
    return {};
  }
}

/** The logs in a folder and in the folders in it, those included of which only the head file, or their archived part, is left. */
function logsIn(folder: string): readonly string[] {
  const found = new Set<string>();
  const look = (place: string, deeper: boolean): void => {
    for (const entry of fs.readdirSync(place, { withFileTypes: true })) {
      const path = join(place, entry.name);
      if (entry.name.endsWith(".log.head")) {
        if (isHeadOfRecords(path.slice(0, -5))) found.add(path.slice(0, -5));
      } else if (entry.isDirectory() && deeper) look(path, false);
      else if (entry.isFile() && entry.name.endsWith(".log")) {
        if (deeper || !isServersWords(path)) found.add(path);
      }
      // A pipe has no records, and may stand where a log was.
      else if (entry.name.endsWith(".log") && isNeither(entry, path)) found.add(path);
      else if (entry.isFile() && entry.name.endsWith(".log.archived")) found.add(path.slice(0, -9));
    }
  };
  look(folder, true);
  return [...found].sort();
}

/** One that cannot be used may be of many. */
function isHeadOfRecords(log: string): boolean {
  const { head, fault } = lookAtHead(log);
  return fault !== undefined || (head?.seq ?? 0) > 0;
}

/** Whether it is neither a file nor a folder, nor a link to one. */
function isNeither(entry: fs.Dirent, path: string): boolean {
  const status = entry.isSymbolicLink() ? fs.statSync(path, { throwIfNoEntry: false }) : entry;
  return status !== undefined && !status.isFile() && !status.isDirectory();
}

// A state folder has `servers/NAME-HASH.log` too: what the policy's servers said on their standard error. They are no audit logs.

/** Where such a copy lies, and how it is named. */
const SERVERS = "servers";
const SERVER_LOG = /^.+-[0-9a-f]{8}\.log$/;
/** Bytes that a copy may have: a second file is begun behind 256 KiB and what waits to be written then. A longer file is none. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Each of its lines begins with its time, and so is no record; or says that some were left out. */
const SAID = /^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z |\d+ more lines were left out$)/;

/** By its place, its name and all of its lines, and by what lies beside it: whatever may be an audit log is verified as one. */
function isServersWords(path: string): boolean {
  if (basename(dirname(path)) !== SERVERS || !SERVER_LOG.test(basename(path))) return false;
  const kept = [headPath(path), journalPath(path), archivedPath(path), restoredPath(path)];
  if (kept.some((each) => fs.existsSync(each)) || archivesOf(path).length > 0) return false;
  if (fs.statSync(path).size > MOST_BYTES) return false;
  // What stands behind the last newline is being written.
  const lines = fs.readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.length > 0 && lines.every((line) => SAID.test(line));
}
