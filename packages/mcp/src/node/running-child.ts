// A child that has been started, from its first message to the last of its process tree.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import type { OutgoingKind } from "../jsonrpc/transport.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import {
  ChildTree,
  type CloseTimeouts,
  type Ending,
  endTree,
  INPUT_END_MS,
  TERMINATE_MS,
  within,
} from "./child-tree.js";
import { ChildIntake, type IntakeEvents } from "./child-intake.js";
import { OutputQueue } from "./standard-streams.js";
import { LocalError } from "../jsonrpc/errors.js";
import { visibleText } from "../jsonrpc/visible-text.js";

/** Why there is no child any more. */
export interface Departure {
  /** What it did, as a sentence without its subject. */
  readonly how: string;
  /** It was stopped because it printed too much that is no message. */
  readonly flooded: boolean;
}

interface ChildEvents extends Pick<IntakeEvents, "message" | "unreadable" | "noise" | "clean"> {
  /** All it wrote has been delivered. Called once; with undefined when it was closed. */
  gone(departure: Departure | undefined): void;
}

interface ChildKeeping {
  /** The mark of its tree, see `TREE_VARIABLE`. */
  readonly mark: string;
  readonly limits: JsonRpcLimits;
  readonly timeouts: CloseTimeouts;
  readonly stderr: StderrTail;
  /** Its standard error goes to our own. */
  readonly forward: boolean;
}

// What a child wrote just before its end is still to be read; a grandchild may hold the pipe open for ever.
const LAST_READ_MS = 1_000;
// A child that has closed one of its streams can do nothing any more, and gets this long to end by itself.
const HALF_CLOSED_MS = 1_000;

export class RunningChild {
  readonly pid: number;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #keeping: ChildKeeping;
  readonly #events: ChildEvents;
  readonly #tree: ChildTree;
  readonly #output: OutputQueue;
  readonly #intake: ChildIntake;
  readonly #letGo: () => void;
  readonly #exit: Promise<unknown>;
  readonly #stderrClosed: Promise<unknown>;
  #outputRead!: () => void;
  readonly #allRead: Promise<void>;
  readonly #startedAt: number = performance.now();
  #how: string | undefined;
  #stopped: Departure | undefined;
  #sweep: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #gone = false;
  #ending: Ending | undefined;
  #lingered = false;

  /** To be made in the tick in which `child` was started, and only if it was. */
  constructor(child: ChildProcessWithoutNullStreams, keeping: ChildKeeping, events: ChildEvents) {
    this.#child = child;
    this.#keeping = keeping;
    this.#events = events;
    this.pid = child.pid as number;
    this.#tree = new ChildTree(this.pid, keeping.mark);
    this.#letGo = endAtExit(this.#tree);
    this.#allRead = new Promise((resolve) => {
      this.#outputRead = resolve;
    });
    this.#exit = new Promise((resolve) => child.once("exit", resolve));
    this.#stderrClosed = new Promise((resolve) => child.stderr.once("close", resolve));
    child.once("exit", this.#exited);
    // All that is left to go wrong is a signal that cannot be sent, and that shows in the end.
    child.on("error", ignore);
    this.#readStderr();
    const broken = (): void => void this.#halfClosed("standard input");
    this.#output = new OutputQueue(child.stdin, keeping.limits, { drained: ignore, broken }, { atOnce: true });
    this.#intake = new ChildIntake(child.stdout, keeping.limits, {
      message: (text) => events.message(text),
      unreadable: (line) => events.unreadable(line),
      noise: (line) => events.noise(line),
      clean: (text) => events.clean(text),
      flooded: () => {
        this.#outputRead();
        this.#stop({ how: "floods its standard output with what is no message", flooded: true });
      },
      ended: () => {
        this.#outputRead();
        void this.#halfClosed("standard output");
      },
    });
  }

  /** A sentence on what was printed that should not have been. */
  get noise(): string | undefined {
    return this.#intake.meter.summary;
  }

  /** A sentence on what it took to end it, where it did not end as it should. */
  get farewell(): string | undefined {
    if (this.#ending?.survivors === true) return "Processes it started could not be ended";
    if (this.#lingered)
      return `It went on running when its input had ended; sent signals, it ${this.#how ?? "still runs"}`;
    const left = this.#ending?.signalled ?? 0;
    return left === 0
      ? undefined
      : `It left ${left === 1 ? "a process" : `${left} processes`} behind, which had to be ended`;
  }

  /** Nobody reads what is sent. */
  get overfull(): boolean {
    return this.#output.overfull;
  }

  write(text: string, kind: OutgoingKind): void | Promise<void> {
    return this.#output.write(text, kind);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Those who are there now are known later, when their parents are gone.
    await this.#tree.look();
    this.#intake.discard();
    this.#outputRead();
    if (this.#how === undefined) {
      await within(Promise.race([this.#output.close(), this.#exit]), LAST_READ_MS);
      this.#child.stdin.end();
      this.#lingered = !(await within(this.#exit, this.#keeping.timeouts.inputEndMs ?? INPUT_END_MS));
    }
    await this.#endTree();
    await within(this.#exit, LAST_READ_MS);
    this.#finish(undefined);
  }

  #readStderr(): void {
    const { stderr } = this.#child;
    const { stderr: tail, forward } = this.#keeping;
    stderr.on("data", (chunk: Buffer) => {
      tail.push(chunk);
      if (!forward || process.stderr.write(chunk)) return;
      stderr.pause();
      process.stderr.once("drain", () => stderr.resume());
    });
    stderr.on("end", () => tail.end()).on("error", ignore);
  }

  // The child's own process has ended. What it wrote last is read, what it left behind is ended.
  readonly #exited = (status: number | null, signal: NodeJS.Signals | null): void => {
    this.#tree.leaderExited();
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1);
    this.#how = `${howItEnded(status, signal, this.#sweep === undefined)} (after ${seconds} s)`;
    void this.#endTree();
    const departure = this.#stopped ?? { how: this.#how, flooded: false };
    void within(Promise.all([this.#allRead, this.#stderrClosed]), LAST_READ_MS).then(() => {
      if (this.#closing === undefined) this.#finish(departure);
    });
  };

  async #halfClosed(stream: string): Promise<void> {
    if (this.#closing !== undefined || (await within(this.#exit, HALF_CLOSED_MS))) return;
    this.#stop({ how: `closed its ${stream} and went on running`, flooded: false });
  }

  #stop(departure: Departure): void {
    if (this.#closing !== undefined || this.#stopped !== undefined) return;
    this.#stopped = departure;
    // A process the system cannot end must not keep the calls waiting.
    void this.#endTree()
      .then(() => within(this.#exit, LAST_READ_MS))
      .then(() => this.#finish(departure));
  }

  #endTree(): Promise<void> {
    this.#sweep ??= endTree(this.#tree, this.#keeping.timeouts.terminateMs ?? TERMINATE_MS).then((ending) => {
      this.#ending = ending;
      this.#letGo();
    });
    return this.#sweep;
  }

  #finish(departure: Departure | undefined): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#output.abandon();
    this.#intake.stop();
    this.#outputRead();
    this.#child.stdin.destroy();
    this.#child.stderr.destroy();
    this.#events.gone(departure);
  }
}

function ignore(): void {}

// What is said when a child cannot be started, and when it is gone.

interface Launch {
  /** The command line as people may see it. */
  readonly shown: string;
  readonly command: string;
  readonly cwd: string | undefined;
  readonly path: string | undefined;
}

// As the shells have them.
const NOT_RUNNABLE = 126;
const NOT_FOUND = 127;

/** `SPAWN_FAILED`, saying what to do about the system's refusal. */
export function spawnFailed(launch: Launch, error: unknown): LocalError {
  const code = (error as { code?: unknown } | undefined)?.code;
  const reason = refusals(launch)[String(code)] ?? `the system refused (${(error as Error).message})`;
  return new LocalError("SPAWN_FAILED", `Cannot start ${launch.shown}: ${reason}`, { cause: error });
}

function refusals(launch: Launch): Record<string, string> {
  const { command, cwd } = launch;
  if (cwd !== undefined && !isFolder(cwd)) {
    const reason = `the working directory "${cwd}" is not a folder we can enter. Create it, or correct cwd.`;
    return { ENOENT: reason, ENOTDIR: reason, EACCES: reason };
  }
  const full =
    "the system has no room for another process or pipe. End what is not needed, or raise its limits (ulimit).";
  return {
    ENOENT: notFound(launch),
    ENOTDIR: notFound(launch),
    EACCES: `"${command}" exists and may not be run: it is a folder, or not executable (chmod +x), or its disk is mounted noexec.`,
    EPERM: `"${command}" may not be run by this user.`,
    ENOEXEC: `"${command}" is not a program of this machine, and has no #! line that names its interpreter.`,
    E2BIG: "its arguments and environment together are longer than the system allows.",
    ...(process.platform === "win32" ? { EINVAL: windowsHint(command) } : {}),
    ERR_INVALID_ARG_VALUE: "the command, an argument or a variable holds a NUL character, or the command is empty.",
    EMFILE: full,
    ENFILE: full,
    EAGAIN: full,
    ENOMEM: full,
  };
}

function notFound({ command, path, cwd }: Launch): string {
  if (process.platform === "win32") return windowsHint(command);
  if (!command.includes("/")) {
    return `there is no program "${command}" in the PATH of the child (${path ?? "which is not set"}). Install it, or give its full path.`;
  }
  if (isFile(resolve(cwd ?? "", command))) {
    return `"${command}" exists, and the interpreter or loader it asks for (see its first line) does not.`;
  }
  return `there is no file "${command}"${cwd === undefined ? "" : ` (looked for from "${cwd}")`}. Install it, or correct the path.`;
}

function windowsHint(command: string): string {
  return (
    `there is no program "${command}" that Windows starts by itself. Scripts (.cmd, .bat; npx is one) need their ` +
    `interpreter: command "cmd", args ["/c", "${command}", …].`
  );
}

/** How a process ended, as a sentence without its subject; `unasked` says that it was not us. */
function howItEnded(status: number | null, signal: string | null, unasked: boolean): string {
  if (signal !== null) {
    const by = signal === "SIGKILL" && unasked ? ", which somebody sent, or the system for lack of memory" : "";
    return `was ended by ${signal}${by}`;
  }
  const meaning =
    status === NOT_FOUND
      ? ", which says that the program it should run was not found"
      : status === NOT_RUNNABLE
        ? ", which says that the program it should run may not be run"
        : "";
  return `exited with status ${status}${meaning}`;
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() ?? false;
}

function isFile(path: string): boolean {
  return statOf(path)?.isFile() ?? false;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

// Takes the children along when this process ends without having closed them.

// Those by which terminals, shells and service managers end a program.
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
// People who press Ctrl-C wait; the children are told to end and killed after this.
const SIGNAL_MS = 500;

const trees = new Set<ChildTree>();

/**
 * Ends the tree when this process exits (by itself, by `process.exit`, or by an exception nobody caught) or is ended
 * by SIGINT, SIGTERM or SIGHUP to which nobody else listens; the signal then takes its course. What SIGKILL ends runs
 * no code: its children see the end of their input. Returns the function that lets go.
 */
function endAtExit(tree: ChildTree): () => void {
  // One listener for all trees: Node warns of more than ten.
  if (trees.size === 0) listen();
  trees.add(tree);
  return () => {
    if (trees.delete(tree) && trees.size === 0) stopListening();
  };
}

function listen(): void {
  process.on("exit", killAll);
  for (const signal of SIGNALS) process.on(signal, endAll);
}

function stopListening(): void {
  process.off("exit", killAll);
  for (const signal of SIGNALS) process.off(signal, endAll);
}

function killAll(): void {
  for (const tree of trees) tree.killNow();
}

// Whoever else listens decides what becomes of this process: exiting, it comes by `killAll`.
function endAll(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  // A second signal ends this process at once.
  for (const name of SIGNALS) process.off(name, endAll);
  void Promise.all([...trees].map((tree) => endTree(tree, SIGNAL_MS))).finally(() => process.kill(process.pid, signal));
}

// The last lines a child wrote to standard error: they are what explains its end.

/** As many as fit on a screen together with the error they explain. */
const STDERR_LINES = 20;
// A line of a stack trace or a log; longer ones are dumps.
const LINE_CHARACTERS = 500;
// Bytes kept of one line: every character of UTF-8 has at most four.
const LINE_BYTES = LINE_CHARACTERS * 4;
const NEWLINE = 10;

/** Memory is bounded, however much is written and wherever its lines end. */
export class StderrTail {
  readonly #clean: (text: string) => string;
  readonly #onLine: ((line: string) => void) | undefined;
  #lines: string[] = [];
  #begun: Buffer[] = [];
  #begunBytes = 0;

  /** `clean` takes out what nobody may see; `onLine` is given every line, decoded and cut, controls and all. */
  constructor(clean: (text: string) => string, onLine?: (line: string) => void) {
    this.#clean = clean;
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    if (this.#onLine === undefined) {
      start = startOfTail(chunk);
      if (start > 0) this.#forgetBegun();
    }
    for (let end = chunk.indexOf(NEWLINE, start); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#extend(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#extend(chunk.subarray(start));
  }

  end(): void {
    if (this.#begunBytes > 0) this.#endLine();
  }

  /** At most 20, the oldest first, fit to be shown. A line that has begun is one of them. */
  get lines(): readonly string[] {
    const begun = this.#begunText();
    const all = begun === "" ? this.#lines : [...this.#lines, begun];
    return all.slice(-STDERR_LINES).map((line) => visibleText(line, LINE_CHARACTERS));
  }

  #extend(bytes: Buffer): void {
    const room = LINE_BYTES - this.#begunBytes;
    if (room <= 0 || bytes.length === 0) return;
    const kept = Buffer.from(bytes.subarray(0, room));
    this.#begun.push(kept);
    this.#begunBytes += kept.length;
  }

  #endLine(): void {
    const line = this.#begunText();
    this.#forgetBegun();
    if (line === "") return;
    this.#lines.push(line);
    if (this.#lines.length > STDERR_LINES) this.#lines.shift();
    this.#onLine?.(line);
  }

  // Cleaned before it is cut, so that no part of what nobody may see is left at the edge.
  #begunText(): string {
    const text = this.#clean(Buffer.concat(this.#begun).toString("utf8"));
    return text.slice(0, LINE_CHARACTERS).trimEnd();
  }

  #forgetBegun(): void {
    this.#begun = [];
    this.#begunBytes = 0;
  }
}

/** Where the last lines of a chunk begin; 0 when there are no more than that. */
function startOfTail(chunk: Buffer): number {
  let at = chunk.length;
  for (let lines = 0; lines <= STDERR_LINES; lines++) {
    if (at === 0) return 0;
    at = chunk.lastIndexOf(NEWLINE, at - 1);
    if (at < 0) return 0;
  }
  return at + 1;
}
