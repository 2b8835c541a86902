// `mcp-secure-local audit verify | query | tail`: checks the audit log, looks into it, follows it.
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { type FileHandle, open, stat } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { publicKeyPath } from "../audit/checkpoint.js";
import { existingLogs } from "../audit/log-lock.js";
import { verifyAudit, type VerifyOptions } from "../audit/verify-audit.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { checkpointKeyFile } from "./open-audit.js";
import { auditFile, policyFile } from "./settings.js";
import { complain, ExitCode, print, styled } from "./terminal.js";
import { archivesOf } from "../audit/log-file.js";
import { MAX_LINE_BYTES } from "../audit/event-text.js";
import { escapeUnseen } from "../audit/escape-unseen.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";

const ACTIONS = ["verify", "query", "tail"];

export async function auditCommand(line: CommandLine): Promise<number> {
  const [action, ...words] = line.words;
  if (action === undefined || !ACTIONS.includes(action))
    throw new UsageError(`audit needs verify, query or tail${action === undefined ? "" : nearest(action, ACTIONS)}`);
  if (action === "verify") return verifyAll(line, words);
  const files = existingLogs(await usualFile(line));
  if (files.length === 0) return noLog(line);
  if (action === "query") return auditQuery(line, files, words);
  return auditTail(line, files, { words });
}

async function verifyAll(line: CommandLine, [named, ...rest]: readonly string[]): Promise<number> {
  if (rest.length > 0) throw new UsageError(`audit verify takes one file, not also "${rest[0]}"`);
  // Servers that run at the same time write logs of their own beside the first one.
  const files = named === undefined ? existingLogs(await usualFile(line)) : [named];
  if (files.length === 0) return noLog(line);
  const options = await verifyOptions(line);
  const passed = await Promise.all(files.map((file) => verify(file, options)));
  return passed.every(Boolean) ? ExitCode.Ok : ExitCode.Failed;
}

async function noLog(line: CommandLine): Promise<number> {
  complain(`mcp-secure-local: there is no audit log at ${await usualFile(line)} yet`);
  return ExitCode.Failed;
}

/** A broken policy must not keep a log from being checked; without it nobody knows of checkpoints, which is said. */
async function verifyOptions(line: CommandLine): Promise<VerifyOptions> {
  const file = policyFile(line);
  if (file === undefined) return {};
  let policy: Policy;
  try {
    policy = await loadPolicy(file);
  } catch {
    complain(`mcp-secure-local: ${file} cannot be used, so checkpoints are not compared`);
    return {};
  }
  const { checkpoints } = policy.audit;
  if (checkpoints === undefined) return {};
  const keyFile = publicKeyPath(checkpointKeyFile());
  try {
    return { checkpoints: { file: checkpoints.file, publicKey: readFileSync(keyFile, "utf8") } };
  } catch {
    throw new UsageError(`the checkpoints cannot be compared: there is no public key at ${keyFile}; copy it there`);
  }
}

async function usualFile(line: CommandLine): Promise<string> {
  // The policy is only asked where its answer counts, so that a broken one does not keep a log from being checked.
  const without = auditFile(line, undefined);
  const file = line.audit === undefined && !process.env["MCP_SECURE_LOCAL_AUDIT"] ? policyFile(line) : undefined;
  return file === undefined ? without : auditFile(line, await loadPolicy(file));
}

async function verify(file: string, options: VerifyOptions): Promise<boolean> {
  try {
    const report = await verifyAudit(file, options);
    const { ok, records, files = 1, checkpoints, badFile = file, firstBadLine, reason, tornTail, inJournal } = report;
    if (!ok) {
      complain(`${badFile}${firstBadLine === undefined ? "" : `:${firstBadLine}`}: ${reason}`);
      return false;
    }
    const notes = [
      files > 1 ? ` in ${files} files` : "",
      ", none changed, missing or added",
      checkpoints === undefined ? "" : `; ${checkpoints} signed checkpoints agree`,
      tornTail === undefined ? "" : `; an unfinished last line of ${tornTail} bytes, which the next start repairs`,
      inJournal === undefined ? "" : `; ${inJournal} more in its journal, which the next start puts back`,
    ];
    print(`${styled("green", "ok")}  ${file}: ${records} records${notes.join("")}`);
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const missing = code === "ENOENT";
    complain(`mcp-secure-local: ${missing ? `there is no file ${file}` : `${file} cannot be read: ${message}`}`);
    return false;
  }
}

// `mcp-secure-local audit query [KEY=VALUE…] [WORD…]`: the records that fit, as a table or as JSON lines.

export async function auditQuery(
  line: CommandLine,
  files: readonly string[],
  words: readonly string[],
): Promise<number> {
  const wanted = recordFilter(words);
  let found = 0;
  if (!line.json) await written(styled("dim", TABLE_HEAD));
  for (const file of files) {
    for await (const { record, line: text } of readLog(file)) {
      if (!wanted(record, text)) continue;
      found += 1;
      await written(line.json ? jsonLine(text) : tableRow(record));
    }
  }
  if (!line.json) complain(`${found} record${found === 1 ? "" : "s"}`);
  return ExitCode.Ok;
}

/** A reader that is slower than the disk is waited for. */
async function written(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, "drain");
}

// `mcp-secure-local audit tail [KEY=VALUE…] [WORD…]`: the newest records, and then each new one as it is written.

/** Milliseconds between two looks. */
const LOOK_MS = 250;
/** Records shown at the start, and bytes in which they are looked for. */
const FIRST = 10;
const FIRST_BYTES = 65_536;
const CHUNK = 65_536;

/** Resolves when `signal` is aborted; without one, when the program is ended. */
export async function auditTail(
  line: CommandLine,
  files: readonly string[],
  { words, signal }: { readonly words: readonly string[]; readonly signal?: AbortSignal },
): Promise<number> {
  const wanted = recordFilter(words);
  const show = (text: string): void => {
    const record = recordOf(text);
    if (record !== undefined && wanted(record, text)) print(line.json ? jsonLine(text) : tableRow(record));
  };
  const followers = files.map((file) => new Follower(file, show));
  for (const follower of followers) await follower.begin(wanted);
  for (;;) {
    for (const follower of followers) await follower.look();
    if (signal?.aborted === true) break;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  for (const follower of followers) await follower.close();
  return ExitCode.Ok;
}

/** Reads one log on and on, over the moments when it is put away and begun anew. */
class Follower {
  readonly #file: string;
  readonly #show: (line: string) => void;
  #handle: FileHandle | undefined;
  #position = 0;
  #cutter = new LineCutter();

  constructor(file: string, show: (line: string) => void) {
    this.#file = file;
    this.#show = show;
  }

  async begin(wanted: RecordFilter): Promise<void> {
    this.#handle = await open(this.#file, "r");
    const { size } = await this.#handle.stat();
    this.#position = Math.max(0, size - FIRST_BYTES);
    const fits = (line: string): boolean => {
      const record = recordOf(line);
      return record !== undefined && wanted(record, line);
    };
    for (const line of (await this.#rest()).filter(fits).slice(-FIRST)) this.#show(line);
  }

  async look(): Promise<void> {
    for (const line of await this.#rest()) this.#show(line);
    if (!(await this.#wasPutAway())) return;
    // What was written between the last look and the exchange.
    for (const line of await this.#rest()) this.#show(line);
    await this.#handle?.close();
    this.#handle = await open(this.#file, "r");
    this.#position = 0;
    this.#cutter = new LineCutter();
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  async #rest(): Promise<string[]> {
    const lines: string[] = [];
    const buffer = Buffer.alloc(CHUNK);
    for (;;) {
      const read = await this.#handle?.read(buffer, 0, CHUNK, this.#position);
      if (read === undefined || read.bytesRead === 0) return lines;
      this.#position += read.bytesRead;
      lines.push(...this.#cutter.take(buffer.subarray(0, read.bytesRead)));
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

// Reads the lines of a log with its full files, in the order of the chain and in bounded memory.

export interface LogLine {
  readonly record: LogRecord;
  readonly line: string;
}

/** Cuts text into lines; of one that is longer than any record the rest is dropped. */
export class LineCutter {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** The whole lines that have come up to now. */
  take(chunk: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_BYTES) this.#rest = "";
    return lines;
  }
}

/** Lines that are no records are passed over: `audit verify` names them. */
export async function* readLog(log: string): AsyncIterable<LogLine> {
  for (const file of [...archivesOf(log), log]) {
    if (!existsSync(file)) continue;
    const cutter = new LineCutter();
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      for (const line of cutter.take(chunk)) {
        const record = recordOf(line);
        if (record !== undefined) yield { record, line };
      }
    }
  }
}

/** Undefined for what is no record. */
export function recordOf(line: string): LogRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as LogRecord) : undefined;
  } catch {
    return undefined;
  }
}

// Reads which records are wanted: `tool=NAME since=1h decision=denied` and words that must appear.

export type LogRecord = Readonly<Record<string, unknown>>;

/** Whether a record is wanted; the line it was read from is given for words. */
export type RecordFilter = (record: LogRecord, line: string) => boolean;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FIELDS = ["tool", "principal", "kind", "outcome", "method", "policy", "connection", "id"];
const KEYS = [...FIELDS, "since", "until", "decision"];

/** @throws UsageError for a key there is not, or a value that cannot be */
export function recordFilter(words: readonly string[], now: number = Date.now()): RecordFilter {
  const tests = words.map((word) => {
    const [, key, value] = /^([a-z]+)=(.*)$/s.exec(word) ?? [];
    return key === undefined || value === undefined ? containing(word) : testOf(key, value, now);
  });
  return (record, line) => tests.every((test) => test(record, line));
}

function testOf(key: string, value: string, now: number): RecordFilter {
  if (FIELDS.includes(key)) {
    const pattern = new RegExp(`^${value.split("*").map(escaped).join(".*")}$`, "s");
    return ({ [key]: field }) => (typeof field === "string" || typeof field === "number") && pattern.test(`${field}`);
  }
  switch (key) {
    case "since":
    case "until": {
      const limit = timeOf(key, value, now);
      const sign = key === "since" ? 1 : -1;
      return ({ time }) => sign * Date.parse(String(time)) >= sign * limit;
    }
    case "decision":
      if (value !== "allowed" && value !== "denied") throw new UsageError(`decision=${value}: write allowed or denied`);
      return value === "denied" ? isDenied : ({ decision }) => allowedBy(decision) === true;
    default:
      throw new UsageError(`a record has no ${key}; there are ${KEYS.join(", ")}, or a word that must appear`);
  }
}

/** Before the call, or where an allowed tool reached for what it may not have. */
function isDenied({ decision, outcome }: LogRecord): boolean {
  return allowedBy(decision) === false || outcome === "denied";
}

function allowedBy(decision: unknown): unknown {
  return (decision as { readonly allowed?: unknown } | undefined)?.allowed;
}

function containing(word: string): RecordFilter {
  const wanted = word.toLowerCase();
  return (_record, line) => line.toLowerCase().includes(wanted);
}

/** `2026-01-31`, `2026-01-31T12:00:00Z`, or how long ago, as in `90m`. */
function timeOf(key: string, value: string, now: number): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  const time = count === undefined || unit === undefined ? Date.parse(value) : now - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isFinite(time)) return time;
  throw new UsageError(
    `${key}=${value} is no time; write 2026-01-31, 2026-01-31T12:00:00Z, or 90m, 24h, 7d for that long ago`,
  );
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

// Writes a record for a person (one line of a table) or for a program (JSON), harmless to the terminal either way.

const WIDTHS = { time: 24, kind: 17, tool: 20, principal: 12, outcome: 14 } as const;

export const TABLE_HEAD: string = row(["time", "kind", "tool", "principal", "outcome", "rule"]);

/** Time, kind, tool, principal, outcome, and the rule with its line. */
export function tableRow(record: LogRecord): string {
  const { time, kind, tool, principal, outcome, decision, detail, duration_ms: duration } = record;
  const { allowed, rule, line } = (decision ?? {}) as { allowed?: boolean; rule?: string; line?: number };
  const told = (detail ?? {}) as { rule?: unknown; reason?: unknown };
  const why = rule ?? told.rule ?? told.reason;
  const took = typeof duration === "number" ? ` ${Math.round(duration)} ms` : "";
  const place = line === undefined ? "" : ` (line ${line})`;
  const verdict = outcome ?? (allowed === undefined ? "" : allowed ? "allowed" : "denied");
  const text = row([time, kind, tool, principal, `${asText(verdict)}${took}`, `${asText(why)}${place}`]);
  return allowed === false || outcome === "denied" ? styled("red", text) : text;
}

/** The line as it stands in the log, unseen characters as escapes; it says the same to whoever parses it. */
export function jsonLine(line: string): string {
  return escapeUnseen(line);
}

function row(cells: readonly unknown[]): string {
  const widths = Object.values(WIDTHS);
  return cells
    .map((cell, index) => cleanLine(asText(cell)).padEnd(widths[index] ?? 0))
    .join("  ")
    .trimEnd();
}

function asText(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}
