// `mcp-secure-local audit verify | query | tail | report | archive | restored`: checks the audit log, looks into it, follows it, writes it out as a page, moves its full files away, and accepts that a copy was put back.
import { once } from "node:events";
import { createReadStream, existsSync, statSync } from "node:fs";
import { type FileHandle, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { archivedElsewhere, isArchiveOf } from "../audit/archive.js";
import { AuditError } from "../audit/audit-event.js";
import { recordOf } from "../audit/call-records.js";
import { checkpointKey, publicKeyPath } from "../audit/checkpoint.js";
import { archivedPath, archivesOf, headPath, LineCutter, readBeside } from "../audit/log-file.js";
import { existingLogs, rememberedLogs } from "../audit/log-writer.js";
import { handleAtOnce, openAtOnce } from "../audit/owned-files.js";
import type { CheckedChain } from "../audit/verify-chains.js";
import { checkpointedLogs, verifyAudit, type VerifyOptions } from "../audit/verify-audit.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import {
  agreeing,
  callsOf,
  EntryJoiner,
  localTime,
  PolicyNames,
  readLogs,
  recordFilter,
  type RecordFilter,
  tableHead,
  tableRow,
  verdictOn,
  verifiedLogs,
} from "./audit-lines.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { checkpointKeyFile } from "./open-audit.js";
import { clusterPlace, clusterSettings } from "./serve-http-settings.js";
import { auditFile, policyFile, programVersion } from "./settings.js";
import { calm, complain, ExitCode, print, printJson, showProgress, styled } from "./terminal.js";

const ACTIONS = ["verify", "query", "tail", "report", "archive", "restored"];

export async function auditCommand(line: CommandLine): Promise<number> {
  const [action, ...words] = line.words;
  if (action === undefined || !ACTIONS.includes(action))
    throw new UsageError(
      `audit needs one of ${ACTIONS.join(", ")}${action === undefined ? "" : nearest(action, ACTIONS)}`,
    );
  if (action === "verify") return verifyAll(line, words);
  const usual = await usualFile(line);
  if (action === "restored") return restored(line, usual, words);
  const logs = existingLogs(usual);
  if (action === "archive") return logs.length === 0 ? noLog(line) : auditArchive(line, logs, words);
  // Where files were archived to there is no log that goes on.
  const files = logs.length === 0 && action !== "tail" && existsSync(archivedPath(usual)) ? [usual] : logs;
  if (files.length === 0) return noLog(line);
  if (action === "query") return auditQuery(line, files, words);
  if (action === "report") return auditReport(line, files, words);
  return auditTail(line, () => existingLogs(usual), { words });
}

/** A log that a copy of an earlier time has not yet is lost as a whole. */
async function restored(line: CommandLine, usual: string, words: readonly string[]): Promise<number> {
  const options = await verifyOptions(line);
  const logs = await knownLogs(usual, options);
  if (logs.length === 0) return noLog(line);
  const { auditRestored } = await import("./audit-restored.js");
  return auditRestored(line, logs, { words, options });
}

async function verifyAll(line: CommandLine, [named, ...rest]: readonly string[]): Promise<number> {
  if (rest.length > 0) throw new UsageError(`audit verify takes one file or folder, not also "${rest[0]}"`);
  // A folder with a head file beside it stands where a log was.
  if (named !== undefined && statSync(named, { throwIfNoEntry: false })?.isDirectory() && !existsSync(headPath(named)))
    return verifyFolder(line, named);
  if (line.redis !== undefined) {
    if (named !== undefined && !existsSync(named))
      throw new UsageError(`there is no folder ${named}: name the one that holds the logs`);
    if (named !== undefined)
      throw new UsageError(`--redis checks a folder of logs, not ${named} alone; name its folder, or none`);
    const folder = dirname(await usualFile(line));
    return existsSync(folder) ? verifyFolder(line, folder) : noLog(line, ExitCode.Usage);
  }
  // Servers that run at the same time write logs of their own beside the first one.
  const options = { ...(await verifyOptions(line)), named: named !== undefined };
  const files = named === undefined ? await knownLogs(await usualFile(line), options) : [named];
  if (files.length === 0) return noLog(line, ExitCode.Usage);
  const logs = await verifiedLogs(files, options);
  const ok = logs.every((log) => log.ok);
  if (line.json) printJson({ ok, logs });
  else {
    for (const log of logs) {
      if (log.ok) print(`${styled("green", "ok")}  ${log.file}: ${log.said}`);
      else complain(`${log.at ?? log.file}: ${log.said}`);
    }
  }
  return verdictOn(logs);
}

/** The logs of all processes of a server, and what they say of each other. What Redis has is read before the logs are. */
async function verifyFolder(line: CommandLine, folder: string): Promise<number> {
  const settings = line.redis === undefined ? undefined : clusterSettings(line);
  const heads = settings && (await (await import("../cluster/open-cluster.js")).headsIn(clusterPlace(settings)));
  const { knowsSome, verifyChains } = await import("../audit/verify-chains.js");
  const chains = await verifyChains(folder, heads, { ...(await verifyOptions(line)), usual: await usualFile(line) });
  const fine = chains.length > 0 && chains.every((chain) => chain.ok);
  // What was asked for and could not be compared is no "ok".
  const notChecked =
    settings === undefined || (await knowsSome(folder, heads ?? []))
      ? undefined
      : comparedWithNone(folder, settings.prefix ?? USUAL_PREFIX, (heads ?? []).length > 0);
  const ok = fine && notChecked === undefined;
  if (line.json) printJson({ ok, chains, ...(notChecked === undefined ? {} : { notChecked }) });
  else if (chains.length === 0) complain(`mcp-secure-local: there is no audit log in ${folder}`);
  else for (const chain of chains) tellChain(chain);
  if (notChecked !== undefined && !line.json) complain(`mcp-secure-local: ${notChecked}`);
  return ok ? ExitCode.Ok : fine || chains.length === 0 ? ExitCode.Usage : verdictOn(chains);
}

/** Why nothing in a folder could be compared with Redis: there is nothing there, or only of processes whose logs are not in it. */
function comparedWithNone(folder: string, prefix: string, isSomeThere: boolean): string {
  if (!isSomeThere)
    return `nothing of these processes is in Redis under the prefix ${prefix}; name theirs with --prefix NAME`;
  return `of the processes in Redis under the prefix ${prefix} none has its log in ${folder}; name the folder of their logs, or another prefix with --prefix NAME`;
}

function tellChain({ file, ok, records, witnesses, checkpoints, reason, at }: CheckedChain): void {
  if (!ok) return complain(`${at ?? file}: ${reason}`);
  const agree = [
    ...(checkpoints > 0 ? [agreeing(checkpoints, "signed checkpoint")] : []),
    ...(witnesses > 0 ? [agreeing(witnesses, "witness")] : []),
  ];
  const proof = agree.length > 0 ? agree.join(", ") : "its end is not proven: no checkpoint and no other log knows it";
  print(`${styled("green", "ok")}  ${file}: ${records} records, none changed, missing or added; ${proof}`);
}

/** What keys in Redis begin with where nobody says otherwise. */
const USUAL_PREFIX = "mcp";

/** A log and its neighbours: those there are, and those that are gone though something remembers them. */
export async function knownLogs(usual: string, { checkpoints }: VerifyOptions): Promise<readonly string[]> {
  // Where files of some logs were archived to there is nothing of the others.
  if (checkpoints === undefined || isArchiveOf(usual)) return rememberedLogs(usual);
  return rememberedLogs(usual, await checkpointedLogs(checkpoints));
}

async function noLog(line: CommandLine, code: number = ExitCode.Failed): Promise<number> {
  const file = await usualFile(line);
  complain(
    `mcp-secure-local: there is no audit log at ${file} yet: the first call makes it; name another with --audit`,
  );
  return code;
}

/** A broken policy must not keep a log from being checked; without it nobody knows of checkpoints, which is said. */
export async function verifyOptions(line: CommandLine): Promise<VerifyOptions> {
  const file = policyFile(line);
  const archives = archiveKey();
  if (file === undefined) return { archives };
  let policy: Policy;
  try {
    policy = await loadPolicy(file);
  } catch {
    complain(`mcp-secure-local: ${file} cannot be used, so checkpoints are not compared`);
    return { archives };
  }
  const { checkpoints } = policy.audit;
  if (checkpoints === undefined) return { archives };
  const { publicKey, keyFile } = archives;
  if (publicKey === undefined)
    throw new UsageError(`the checkpoints cannot be compared: there is no public key at ${keyFile}; copy it there`);
  return { archives, checkpoints: { file: checkpoints.file, publicKey } };
}

/** The key that checkpoints and words of archived files are signed with, and where it lies. */
function archiveKey(): NonNullable<VerifyOptions["archives"]> {
  const keyFile = publicKeyPath(checkpointKeyFile());
  try {
    return { publicKey: readBeside(keyFile), keyFile };
  } catch {
    return { publicKey: undefined, keyFile };
  }
}

export async function usualFile(line: CommandLine): Promise<string> {
  // The policy is only asked where its answer counts, so that a broken one does not keep a log from being checked.
  const without = auditFile(line, undefined);
  const file = line.audit === undefined && !process.env["MCP_SECURE_LOCAL_AUDIT"] ? policyFile(line) : undefined;
  return file === undefined ? without : auditFile(line, await loadPolicy(file));
}

// `mcp-secure-local audit archive FOLDER`: verifies the log, and moves its full files away for good.

/** Nothing is moved of a log that does not verify: that would be its last word. */
async function auditArchive(
  line: CommandLine,
  files: readonly string[],
  [folder, ...rest]: readonly string[],
): Promise<number> {
  if (folder === undefined || rest.length > 0)
    throw new UsageError("audit archive needs one folder, as in audit archive /mnt/archive");
  const options = { ...(await verifyOptions(line)), full: true };
  const { archiveFiles } = await import("../audit/archive.js");
  const moved: { readonly log: string; readonly to: string; readonly files: readonly string[] }[] = [];
  for (const log of files) {
    showProgress(`verifying ${log}`);
    const { ok, reason, firstBadLine: bad, badFile = log, full } = await verifyAudit(log, options);
    if (!ok || full === undefined) {
      const at = `${badFile}${bad === undefined ? "" : `:${bad}`}`;
      throw new AuditError("not_ours", at, `${reason}. Nothing of this log was archived; see audit verify.`);
    }
    if (full.files.length === 0) continue;
    showProgress(`copying ${full.files.length === 1 ? "1 file" : `${full.files.length} files`} to ${folder}`);
    const to = await archiveFiles(log, full.files, {
      to: folder,
      key: checkpointKey(checkpointKeyFile()),
      chain: full.chain,
    });
    moved.push({ log, to, files: full.files.map(({ path }) => basename(path)) });
  }
  if (line.json) printJson({ moved });
  else if (moved.length === 0)
    print(
      "No file of the log is full, so there is nothing to archive; audit.rotate_mb in the policy says when one is.",
    );
  for (const { log, to, files: names } of line.json ? [] : moved) {
    const which = names.length === 1 ? names[0] : `${names.length} files`;
    print(
      `${styled("green", "archived")}  ${which} of ${log} to ${to}; to check: audit verify ${join(to, basename(log))}`,
    );
  }
  return ExitCode.Ok;
}

// `mcp-secure-local audit report [KEY=VALUE…] [WORD…]`: one HTML file.

async function auditReport(line: CommandLine, files: readonly string[], words: readonly string[]): Promise<number> {
  const wanted = sinceFirst(line, words);
  const fits = recordFilter(wanted);
  const now = new Date();
  const file = line.output ?? `audit-report-${localTime(now).slice(0, 10)}.html`;
  const { requireFolderOf, writeNewFile } = await import("./write-new-file.js");
  requireFolderOf(file);
  const { AuditReport } = await import("./audit-report.js");
  const options = await verifyOptions(line);
  const known = await knownLogs(await usualFile(line), options);
  const logs = await verifiedLogs(known.length > 0 ? known : files, options);
  const report = new AuditReport({
    logs,
    unread: archivedNotes(files),
    wanted,
    now: now.getTime(),
    version: programVersion(),
  });
  const lines = readLogs(files, await policyNames(line));
  showProgress(`reading ${files.join(", ")}`);
  for await (const entry of callsOf(lines)) if (fits(entry.record, entry.line)) report.add(entry);
  const wrong = writeNewFile(file, report.html(), line.force);
  if (wrong !== undefined) throw new UsageError(wrong);
  if (line.json) printJson({ file, ok: logs.every(({ ok }) => ok) });
  else print(`${styled("green", "written")}  ${file}`);
  tellArchived(files);
  for (const { ok, at, file: log, said } of logs) if (!ok) complain(`${at ?? log}: ${said}`);
  return logs.every(({ ok }) => ok) ? ExitCode.Ok : ExitCode.Failed;
}

// `mcp-secure-local audit query [KEY=VALUE…] [WORD…]`: the records that fit, as a table or as JSON lines.

export async function auditQuery(
  line: CommandLine,
  files: readonly string[],
  words: readonly string[],
): Promise<number> {
  const wanted = recordFilter(sinceFirst(line, words));
  const lines = readLogs(files, await policyNames(line));
  let found = 0;
  if (line.json) {
    for await (const { record, line: text } of lines) if (wanted(record, text)) await written(jsonLine(text));
    tellArchived(files);
    return ExitCode.Ok;
  }
  await written(styled("dim", tableHead()));
  for await (const { record, line: text } of callsOf(lines)) {
    if (!wanted(record, text)) continue;
    found += 1;
    await written(tableRow(record));
  }
  complain(`${found} line${found === 1 ? "" : "s"}`);
  tellArchived(files);
  return ExitCode.Ok;
}

/** Whoever finds nothing has to know where else it may be. */
function tellArchived(logs: readonly string[]): void {
  for (const note of archivedNotes(logs)) complain(`mcp-secure-local: ${escapeUnseen(note)}`);
}

/** Which records of the logs lie elsewhere, one sentence for each folder. */
export function archivedNotes(logs: readonly string[]): readonly string[] {
  return archivedElsewhere(logs).map(({ records, log }) => {
    const what = records === 1 ? "1 older record is" : `${records} older records are`;
    return `${what} archived in ${dirname(log)} and ${records === 1 ? "was" : "were"} not searched: --audit ${log}`;
  });
}

/** Names of policies; those that hold here are known without a record of their start. A broken one keeps no log from being read. */
async function policyNames(line: CommandLine): Promise<PolicyNames> {
  const file = policyFile(line);
  const own =
    file === undefined
      ? []
      : await loadPolicy(file).then(
          (policy) => [policy],
          () => [],
        );
  return new PolicyNames([await loadPolicy(), ...own]);
}

/** `--since 7d` is the word `since=7d`. */
function sinceFirst({ since }: Pick<CommandLine, "since">, words: readonly string[]): readonly string[] {
  return since === undefined ? words : [`since=${since}`, ...words];
}

/** The line as it stands in the log, unseen characters as escapes; it says the same to whoever parses it. */
export function jsonLine(line: string): string {
  return escapeUnseen(line);
}

/** A reader that is slower than the disk is waited for. */
async function written(text: string): Promise<void> {
  if (!process.stdout.write(`${calm(text)}\n`)) await once(process.stdout, "drain");
}

// `mcp-secure-local audit tail [KEY=VALUE…] [WORD…]`: the newest records, and then each new one as it is written.

/** Milliseconds between two looks. */
const LOOK_MS = 250;
/** Records shown at the start, and bytes of each log in which they are looked for at first. */
const FIRST = 10;
const FIRST_BYTES = 65_536;
/** So many times more is read where too few of them are wanted. */
const FURTHER = 8;
const CHUNK = 65_536;

/** `logs`: those there are now. Resolves when `signal` is aborted; without one, when the program is ended. */
export async function auditTail(
  line: CommandLine,
  logs: () => readonly string[],
  { words, signal }: { readonly words: readonly string[]; readonly signal?: AbortSignal },
): Promise<number> {
  const wanted = recordFilter(sinceFirst(line, words));
  const files = logs();
  tellArchived(files);
  if (!line.json) print(styled("dim", tableHead()));
  const names = await policyNames(line);
  const show = { wanted, names };
  const followers = new Map<string, Follower>();
  const follow = (file: string): Follower => {
    const follower = new Follower(file, () => (line.json ? showRecords(show) : showCalls(file, show)));
    followers.set(file, follower);
    return follower;
  };
  const first = await Promise.all(files.map((file) => follow(file).begin(FIRST)));
  for (const { text } of inOrder(first).slice(-FIRST)) print(text);
  for (;;) {
    const come = await Promise.all([...followers.values()].map((follower) => follower.look()));
    // A server that was started meanwhile writes a log of its own: whatever is there is new.
    for (const file of logs()) if (!followers.has(file)) come.push(await follow(file).begin(Infinity, Infinity));
    for (const { text } of inOrder(come)) print(text);
    if (signal?.aborted === true) break;
    await pause();
  }
  for (const follower of followers.values()) await follower.close();
  return ExitCode.Ok;
}

/** A line to print, and the time of what it is about. */
interface Come {
  readonly time: string;
  readonly text: string;
}

/** Times are written alike, so their texts have their order. */
function inOrder(come: readonly (readonly Come[])[]): Come[] {
  return come.flat().toSorted((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0));
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}

/** Gives out the lines to print for the lines of a log that have come. */
type Shown = (lines: readonly string[]) => Come[];

/** Which records are wanted, and the names of policies that all the logs have told. */
interface Show {
  readonly wanted: RecordFilter;
  readonly names: PolicyNames;
}

function showRecords({ wanted, names }: Show): Shown {
  return (lines) =>
    lines.flatMap((text) => {
      const record = recordOf(text);
      if (record === undefined || !wanted(names.named(record), text)) return [];
      return [{ time: String(record["time"]), text: jsonLine(text) }];
    });
}

/** A call is shown when it has ended, or was refused. */
function showCalls(log: string, { wanted, names }: Show): Shown {
  const joiner = new EntryJoiner(false);
  return (lines) =>
    lines.flatMap((line) => {
      const record = recordOf(line);
      const entries = record === undefined ? [] : [...joiner.take({ record: names.named(record), line, log })];
      return entries
        .filter((entry) => wanted(entry.record, entry.line))
        .map((entry) => ({ time: String(entry.record["time"]), text: tableRow(entry.record) }));
    });
}

/** Reads one log on and on, over the moments when it is put away and begun anew. */
class Follower {
  readonly #file: string;
  readonly #makeShown: () => Shown;
  #shown: Shown;
  #handle: FileHandle | undefined;
  #position = 0;
  #cutter = new LineCutter();

  constructor(file: string, makeShown: () => Shown) {
    this.#file = file;
    this.#makeShown = makeShown;
    this.#shown = makeShown();
  }

  /** The last `most` that are wanted, looked for further and further back, in its full files too. */
  async begin(most: number, bytes = FIRST_BYTES): Promise<readonly Come[]> {
    for (let within = bytes; ; within *= FURTHER) {
      const { found, whole } = await this.#last(most, within);
      if (whole || found.length >= most) return found;
    }
  }

  async look(): Promise<readonly Come[]> {
    const found = await this.#rest();
    if (!(await this.#wasPutAway())) return found;
    // What was written between the last look and the exchange.
    found.push(...(await this.#rest()));
    await this.#open();
    this.#position = 0;
    this.#cutter = new LineCutter();
    return found;
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  /** What the last bytes of the log hold, and whether they are all it has. */
  async #last(most: number, bytes: number): Promise<{ readonly found: readonly Come[]; readonly whole: boolean }> {
    const full = await this.#open();
    const { size = 0 } = (await this.#handle?.stat()) ?? {};
    this.#shown = this.#makeShown();
    let left = bytes - size;
    const parts: { readonly file: string; readonly start: number }[] = [];
    for (const file of full.toReversed()) {
      if (left <= 0) break;
      const length = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      parts.unshift({ file, start: Math.max(0, length - left) });
      left -= length;
    }
    let found: Come[] = [];
    const keep = (come: readonly Come[]): void => void (found = [...found, ...come].slice(-most));
    for (const { file, start } of parts) {
      const cutter = new LineCutter();
      for await (const chunk of createReadStream(file, { start, fd: openAtOnce(file) }) as AsyncIterable<Buffer>)
        keep(this.#shown(cutter.take(chunk)));
    }
    [this.#position, this.#cutter] = [Math.max(0, size - bytes), new LineCutter()];
    await this.#rest(keep);
    return { found, whole: left >= 0 };
  }

  /** Opens the file that has the name now, and gives out the full ones before it. */
  async #open(): Promise<readonly string[]> {
    await this.#handle?.close();
    this.#handle = undefined;
    for (;;) {
      const before = archivesOf(this.#file);
      this.#handle = await handleAtOnce(this.#file).catch((error: NodeJS.ErrnoException) => this.#betweenNames(error));
      if (this.#handle !== undefined && archivesOf(this.#file).length === before.length) return before;
      await this.#handle?.close();
      await pause();
    }
  }

  /** A full file has its new name, and the next one is not there yet. */
  #betweenNames(error: NodeJS.ErrnoException): undefined {
    if (error.code !== "ENOENT" || archivesOf(this.#file).length === 0) throw error;
    return undefined;
  }

  /** What has come since the last look: as a whole, or piece by piece. */
  async #rest(piece?: (come: readonly Come[]) => void): Promise<Come[]> {
    const found: Come[] = [];
    const take = piece ?? ((come: readonly Come[]) => void found.push(...come));
    const buffer = Buffer.alloc(CHUNK);
    for (;;) {
      const read = await this.#handle?.read(buffer, 0, CHUNK, this.#position);
      if (read === undefined || read.bytesRead === 0) return found;
      this.#position += read.bytesRead;
      take(this.#shown(this.#cutter.take(buffer.subarray(0, read.bytesRead))));
    }
  }

  async #wasPutAway(): Promise<boolean> {
    try {
      const [now, ours] = [await stat(this.#file), await this.#handle?.stat()];
      return ours !== undefined && (now.ino !== ours.ino || now.dev !== ours.dev);
    } catch {
      // Between two names.
      return false;
    }
  }
}
