// `run` under a policy: decides, finds the program and its files, and runs it behind the wall.
import type { Readable } from "node:stream";
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { realpathSync } from "node:fs";
import { READ_AT_ONCE } from "../audit/owned-files.js";
import { type CommandPath, decideCommand } from "../policy/decide-command.js";
import { commandTerms, grantedPolicy } from "../policy/granted-policy.js";
import { filesNamed } from "../policy/started-files.js";
import type { AllowedCommand, Policy } from "../policy/policy.js";
import type { Rule } from "../policy/faults.js";
import { findWall } from "../sandbox/find-wall.js";
import { endedByLimit, endWalled, startWalled } from "../sandbox/start-walled.js";
import { type Handed, KeptBytes, type Reach, type Wall, type WalledCommand, WallError } from "../sandbox/wall.js";
import { isMoved } from "./files/bases.js";
import { FileError } from "./files/files.js";
import { ownFiles, type OwnFiles } from "./files/own-files.js";
import { RefusalTally, SandboxView, type ViewOptions } from "./sandbox-reach.js";
import { RunError } from "./refusals.js";
import { sandboxEnvironment } from "./sandbox-environment.js";

/** Commands at a time: each is a process or more, and this machine has others to serve. */
const MAX_RUNNING = 8;
/** Milliseconds between two looks at whether the policy that a command runs by is in force still. */
const LOOK_MS = 250;
/** A reload that takes nothing back changes nothing for what runs. */
const TAKEN_BACK =
  "The policy was changed while the command ran, in what it may reach, so it was ended. Call it again, to run it by the new one.";

/** Is told, now and then, of what a command was refused in the folders it sees. */
export type TellCommandRefusals = (command: string, what: string, rule: string) => void;

/** `policy` is asked at each run and while it lasts: what it may reach being another ends it. `own` are the program's own files, which no command sees. */
export function createRun(policy: () => Policy, own: readonly string[] = [], refused?: TellCommandRefusals): Run {
  let running = 0;
  return async (name, args, options = {}) => {
    if (running >= MAX_RUNNING)
      throw new RunError("busy", `${running} commands are running; try again when one has ended.`);
    running += 1;
    try {
      return await whileInForce(policy, { name, args, own, refused }, options);
    } catch (error) {
      if (error instanceof WallError)
        throw new RunError(error.rule === undefined ? "no-wall" : "denied", error.message, error.rule);
      if (error instanceof FileError) throw new RunError("denied", error.message, error.rule);
      throw error;
    } finally {
      running -= 1;
    }
  };
}

interface Asked {
  readonly name: string;
  readonly args: readonly string[];
  readonly own: readonly string[];
  readonly refused: TellCommandRefusals | undefined;
}

/** @throws RunError `denied` where the policy in force is another one in what the command may reach */
async function whileInForce(policy: () => Policy, asked: Asked, { signal }: RunOptions): Promise<RunResult> {
  const begun = policy();
  const terms = commandTerms(begun, asked.name);
  const over = new AbortController();
  let seen = begun;
  const look = setInterval(() => {
    if (policy() === seen) return;
    seen = policy();
    if (commandTerms(seen, asked.name) !== terms) over.abort();
  }, LOOK_MS).unref();
  try {
    return await runOnce(begun, asked, { signal: AbortSignal.any([over.signal, ...(signal ? [signal] : [])]) });
  } catch (error) {
    if (over.signal.aborted && signal?.aborted !== true) throw new RunError("denied", TAKEN_BACK, "policy reload");
    throw error;
  } finally {
    clearInterval(look);
  }
}

async function runOnce(
  policy: Policy,
  { name, args, own, refused }: Asked,
  { signal }: RunOptions,
): Promise<RunResult> {
  const { allowed, command, paths, reason, rule } = decideCommand(policy, name, args);
  if (!allowed || command === undefined) throw new RunError("denied", reason, lined(rule));
  const wall = await findWall(policy.sandbox);
  const { reach, handed } = await checkedExecutable(command);
  const refusals = refused && new RefusalTally((what, by) => refused(name, what, by));
  const where = { policy, own: ownFiles(policy, own), wall: wall.name, refusals };
  const view = await commandView(where, { args, paths, workingDirectory: command.workingDirectory });
  try {
    return await runIn(view, { policy, own: where.own, command, wall, program: { reach, handed }, signal });
  } finally {
    view.close();
    refusals?.close();
  }
}

interface Prepared {
  readonly policy: Policy;
  readonly own: OwnFiles;
  readonly command: AllowedCommand;
  readonly wall: Wall;
  readonly program: Executable;
  readonly signal: AbortSignal | undefined;
}

async function runIn(view: CommandView, { policy, own, command, wall, program, signal }: Prepared): Promise<RunResult> {
  // Its files are those named by its arguments, so that of the policy only the network is left.
  const surroundings = await sandboxEnvironment(grantedPolicy(policy, { network: command.network }), {
    own,
    wall,
    owner: ["command", command.name],
  });
  const { limits, egress } = surroundings;
  try {
    const walled: WalledCommand = {
      executable: command.executable,
      args: view.args,
      env: Object.fromEntries(command.env),
      workingDirectory: view.workingDirectory,
      reach: [...surroundings.reach, ...program.reach, ...view.reach],
      handed: program.handed,
      limits,
      egress,
    };
    signal?.throwIfAborted();
    const result = await finish(wall, walled, { timeoutMs: command.timeoutMs, signal });
    return { ...result, limit: result.limit ?? hiddenHistory(policy, result) };
  } finally {
    await surroundings.close();
  }
}

/** Without the key no program inside sees a `.git`, and git takes that for a folder that is no repository. */
function hiddenHistory({ sandbox }: Policy, { exitCode, stderr }: RunResult): string | undefined {
  if (sandbox.git || exitCode === 0 || !/\bnot a git repository\b/i.test(stderr)) return undefined;
  return "programs in the sandbox see no .git; to let them, write git: true below sandbox in the policy";
}

interface Term {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Runs it to its end, which comes at the latest with its time or the call. */
function finish(wall: Wall, command: WalledCommand, { timeoutMs, signal }: Term): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = startWalled(wall, command, ["ignore", "pipe", "pipe"]);
    const end = (): void => endWalled(wall, child);
    const stdout = new CappedOutput(child.stdout, end);
    const stderr = new CappedOutput(child.stderr, end);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, timeoutMs);
    signal?.addEventListener("abort", end, { once: true });
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    };
    child.once("error", (error: NodeJS.ErrnoException | WallError) => {
      settle();
      if (error instanceof WallError) reject(new RunError("denied", error.message));
      else reject(new RunError("executable", `The program cannot be started (${error.code ?? error.message}).`));
    });
    child.once("close", (code, ended) => {
      settle();
      if (signal?.aborted) return reject(new RunError("cancelled", "The command was ended because its call was."));
      resolve({
        exitCode: timedOut ? undefined : (code ?? undefined),
        signal: ended ?? undefined,
        limit: timedOut ? undefined : endedByLimit(code, ended),
        timedOut,
        stdout: stdout.text,
        stderr: stderr.text,
        truncated: stdout.truncated || stderr.truncated,
      });
    });
  });
}

function lined({ text, line }: Rule): string {
  return line === undefined ? text : `${text} (line ${line} of the policy)`;
}

// Keeps the beginning of what a program writes, and counts the rest.

/** Characters kept of each stream: what a model reads of a command, and then some. */
const MAX_BYTES = 256 * 1024;
/**
 * A program that writes more than this is not going to stop: its end is the caller's business. What is read and not kept
 * is garbage for a while, so this is also what a flood costs.
 */
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

export class CappedOutput {
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #bytes = 0;

  /** `flooded` is called once, when far too much came. */
  constructor(stream: Readable | null, flooded: () => void) {
    stream?.on("error", () => undefined);
    stream?.on("data", (chunk: Buffer) => {
      const before = this.#bytes;
      this.#bytes += chunk.length;
      if (before <= MAX_TOTAL_BYTES && this.#bytes > MAX_TOTAL_BYTES) flooded();
      const room = MAX_BYTES - this.#keptBytes;
      if (room <= 0) return;
      const kept = chunk.length <= room ? chunk : Buffer.from(chunk.subarray(0, room));
      this.#keptBytes += kept.length;
      this.#kept.push(kept);
    });
  }

  get truncated(): boolean {
    return this.#bytes > this.#keptBytes;
  }

  /** Bytes that are no UTF-8 become U+FFFD; so does a character that was cut. */
  get text(): string {
    return Buffer.concat(this.#kept).toString("utf8");
  }
}

// Makes sure that the program to run is the one the policy knows.

/** Larger programs are run without a hash, or not at all. */
const MAX_HASHED_BYTES = 256 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
/** Programs kept, each on disk as it was hashed: more than a policy names with a hash. */
const MAX_KEPT = 16;
/** Seen in every sandbox. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;

/** What the sandbox has to be given for the program to be there. */
export interface Executable {
  readonly reach: readonly Reach[];
  readonly handed: readonly Handed[];
}

/** A program as it was when it was read. */
interface Known {
  /** Which file it was, and when it was changed last. */
  readonly version: string;
  readonly sha256: string;
  readonly bytes: Handed["bytes"];
}

/** By path; who was used longest ago goes first. */
const KNOWN = new Map<string, Known>();

/**
 * With a hash the very bytes that were hashed are what is run: the file may be exchanged meanwhile. They are read once and kept
 * until the file is another one. Without a hash the file is only seen inside. @throws RunError `executable`
 */
export async function checkedExecutable(command: AllowedCommand): Promise<Executable> {
  const { executable, sha256 } = command;
  if (sha256 === undefined && isMoved(executable)) throw moved("the program of this command");
  if (filesNamed(command).some(({ path, runs }) => runs && isMoved(path))) throw moved("a file that this command runs");
  if (sha256 === undefined) return { reach: SYSTEM.test(executable) ? [] : [seen(executable)], handed: [] };
  const known = await programAt(executable);
  if (known.sha256 === sha256)
    return { reach: [], handed: [{ path: executable, bytes: known.bytes, executable: true }] };
  const advice = "If it was updated on purpose, write the new hash into the policy";
  throw new RunError(
    "executable",
    `The program is not the one the policy knows. ${advice}: ${known.sha256}.`,
    "commands.allowed sha256",
  );
}

async function programAt(path: string): Promise<Known> {
  const file = await open(path, READ_AT_ONCE).catch(() => undefined);
  if (file === undefined) throw missing();
  try {
    const version = await versionOf(file);
    const before = KNOWN.get(path);
    const known = before?.version === version ? before : await read(file, version).catch(unkept);
    KNOWN.delete(path);
    // Not remembered when it changed while it was read.
    if ((await versionOf(file)) === version) KNOWN.set(path, known);
    for (const oldest of KNOWN.keys()) if (KNOWN.size > MAX_KEPT) KNOWN.delete(oldest);
    return known;
  } finally {
    await file.close();
  }
}

/** Whoever writes to a file cannot set back the time of its last change. @throws RunError for what is no program */
async function versionOf(file: FileHandle): Promise<string> {
  const stats = await file.stat({ bigint: true });
  if (!stats.isFile() || stats.size > MAX_HASHED_BYTES) throw missing();
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");
}

async function read(file: FileHandle, version: string): Promise<Known> {
  const hash = createHash("sha256");
  const pieces = hashed(file, hash);
  const bytes = process.platform === "linux" ? await KeptBytes.from(pieces) : await joined(pieces);
  return { version, sha256: hash.digest("hex"), bytes };
}

async function joined(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

/** Its bytes, each counted in; no more than there may be of them, however it grows. */
async function* hashed(file: FileHandle, hash: ReturnType<typeof createHash>): AsyncIterable<Buffer> {
  for (let at = 0; at <= MAX_HASHED_BYTES;) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, at);
    if (bytesRead === 0) return;
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    yield piece;
    at += bytesRead;
  }
}

function seen(executable: string): Reach {
  try {
    return { path: realpathSync(executable), at: executable, access: "read" };
  } catch {
    throw missing();
  }
}

function unkept(error: unknown): never {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown";
  throw new RunError("executable", `The program of this command could not be read and kept (${code}).`);
}

function moved(what: string): RunError {
  const words = `A link on the way to ${what} was exchanged since the policy was loaded`;
  return new RunError("executable", `${words}; look where it leads, and start the server again.`);
}

function missing(): RunError {
  return new RunError(
    "executable",
    "The program of this command cannot be read; the policy names it in commands.allowed.",
  );
}

// Finds out what of the disk one command sees, the paths among its arguments and its working folder, and what it is told they are.

export interface CommandFiles {
  readonly args: readonly string[];
  readonly paths: readonly CommandPath[];
  readonly workingDirectory: string | undefined;
}

/** Close it when the command has ended. */
export interface CommandView {
  readonly reach: readonly Reach[];
  /** Each path in them is the one that was found and judged, free of links, never the caller's text. */
  readonly args: readonly string[];
  readonly workingDirectory: string | undefined;
  close(): void;
}

/**
 * The working folder may be written where the policy allows that. A file to write that does not exist yet needs its folder, so that is
 * seen and writable then, but for what in it is denied. @throws FileError for a path that may not be reached
 */
export async function commandView(where: ViewOptions, files: CommandFiles): Promise<CommandView> {
  const reach: Reach[] = [];
  const close = (): void => {
    for (const { held } of reach) held?.close();
  };
  const seen = (path: string, found: readonly [Reach, ...Reach[]] | undefined): string => {
    if (found === undefined) throw new FileError("not-found", `"${path}" does not exist.`);
    reach.push(...found);
    return found[0].path;
  };
  try {
    const view = await SandboxView.of(where);
    const { paths, workingDirectory: folder } = files;
    const args = [...files.args];
    const pathOf = async (path: string, access: CommandPath["access"]): Promise<string> => {
      const found = await view.reach({ path, access });
      if (found !== undefined || access === "read") return seen(path, found);
      const place = await view.placeFor(path);
      reach.push(place.folder);
      return place.path;
    };
    const workingDirectory =
      folder === undefined ? undefined : seen(folder, await view.reach({ path: folder, access: "most" }));
    for (const { path, access, argument, before } of paths) args[argument] = before + (await pathOf(path, access));
    return { reach, args, workingDirectory, close };
  } catch (error) {
    close();
    throw error;
  }
}

// A tool's only way to run a program: by the name the policy gives it, with arguments it allows, never through a shell.

/** How a command ended. */
export interface RunResult {
  /** Undefined when it was ended by a signal or its time was up. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** What of its sandbox ended it, as a limit, in words that name the key; undefined when nothing did. */
  readonly limit?: string | undefined;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether more was written than is returned. */
  readonly truncated: boolean;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
}

/** One entry of `commands.allowed`, for people and models. */
export interface CommandUsage {
  readonly name: string;
  /** As in a manual: `log [--max-count N] PATH…`. */
  readonly usage: string;
}

/** @throws RunError for a command that did not run; one that failed has an exit code */
export type Run = (name: string, args: readonly string[], options?: RunOptions) => Promise<RunResult>;
