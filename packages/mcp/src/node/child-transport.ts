// The transport to a server that is our own child: messages over its standard streams, and its whole process tree with it.
import type { OptionTable } from "../protocol/capabilities.js";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { LocalError } from "../jsonrpc/errors.js";
import { CLIENT_LIMITS, type JsonRpcLimits, resolveLimits } from "../jsonrpc/limits.js";
import { settles } from "../jsonrpc/outgoing.js";
import type { MessageSink, Outgoing, OutgoingKind, Transport } from "../jsonrpc/transport.js";
import {
  childEnvironment,
  ChildTree,
  type CloseTimeouts,
  endAtExit,
  type Ending,
  endTree,
  type Environment,
  INPUT_END_MS,
  TERMINATE_MS,
  TREE_VARIABLE,
} from "./child-tree.js";
import {
  ChildIntake,
  commandText,
  howItEnded,
  type IntakeEvents,
  secretHider,
  spawnFailed,
  StderrTail,
} from "./child-output.js";
import { OutputQueue } from "./standard-streams.js";

/** A program to start as a server: the command without a shell, its arguments, and what it sees of the environment. */
export interface ChildCommand {
  /** A program in the PATH of the child, or a path. Started without a shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables of the child. Beside them it has only HOME, LOGNAME, PATH, SHELL, TERM and USER, or Windows' like. */
  readonly env?: Environment | undefined;
  /** More names to take over from our environment, or true for all of it. */
  readonly inheritEnv?: boolean | readonly string[] | undefined;
  /** Default: ours. */
  readonly cwd?: string | undefined;
  /**
   * What becomes of its standard error beside its last 20 lines, which errors show: nothing ("tail", the default), it
   * goes to our own ("forward"), or the function is given each line (its first 500 characters, controls included).
   * Values of `env` whose names speak of keys, tokens, passwords and the like are left out, but for "forward".
   */
  readonly stderr?: "tail" | "forward" | ((line: string) => void) | undefined;
  /** The command line that errors name, without what looks like a secret: that of the program which this one starts. Default: its own. */
  readonly shown?: readonly string[] | undefined;
  readonly closeTimeouts?: CloseTimeouts | undefined;
  readonly limits?: Partial<JsonRpcLimits> | undefined;
}

/** The members of `ChildCommand`. */
export const COMMAND_MEMBERS: OptionTable<ChildCommand> = {
  command: "text",
  args: "texts",
  env: "texts by name",
  inheritEnv: ["flag", "texts"],
  cwd: "text",
  stderr: ["=tail", "=forward", "function"],
  shown: "texts",
  closeTimeouts: { inputEndMs: "ms", terminateMs: "ms" },
  limits: CLIENT_LIMITS,
};

/** Tells a command from all others: by what it starts, where, and all the child will see. Shows none of it: values may be secrets. */
export function commandKey(command: ChildCommand): string {
  const { [TREE_VARIABLE]: _, ...env } = childEnvironment(command, "");
  const variables = Object.entries(env).sort(([one], [other]) => (one < other ? -1 : 1));
  const seen = [command.command, command.args ?? [], resolve(command.cwd ?? ""), variables];
  return `command ${createHash("sha256").update(JSON.stringify(seen)).digest("hex")}`;
}

/**
 * A transport over the standard streams of a child in a process group of its own. Errors: `SPAWN_FAILED` from `open`;
 * `EXITED` when the child is gone, with its status and its last lines; `LIMIT` when it floods its output or does not
 * read its input. Throws a RangeError for a limit that is not a positive integer.
 */
export function childTransport(command: ChildCommand): Transport {
  return new ChildTransport(command);
}

class ChildTransport implements Transport {
  readonly kind = "stdio";
  readonly #command: ChildCommand;
  readonly #limits: JsonRpcLimits;
  readonly #shown: string;
  readonly #hideSecrets: (text: string) => string;
  readonly #stderr: StderrTail;
  #sink: MessageSink | undefined;
  #running: RunningChild | undefined;
  /** Why nothing can be sent any more. */
  #over: LocalError | undefined;
  /** What there is to say of its end was said in an error. */
  #told = false;

  constructor(command: ChildCommand) {
    this.#command = command;
    this.#limits = resolveLimits(command.limits, CLIENT_LIMITS);
    const [program = command.command, ...args] = command.shown ?? [command.command, ...(command.args ?? [])];
    this.#shown = commandText(program, args);
    this.#hideSecrets = secretHider(command.env);
    this.#stderr = new StderrTail(this.#hideSecrets, typeof command.stderr === "function" ? command.stderr : undefined);
  }

  describe(): string {
    const running = this.#running;
    return running === undefined || this.#over !== undefined ? this.#shown : `${this.#shown} (process ${running.pid})`;
  }

  troubles(): string {
    return this.#told ? "" : this.#troubles("");
  }

  start(sink: MessageSink): Promise<void> {
    this.#sink = sink;
    return new Promise((opened, reject) => {
      if (this.#over !== undefined) return reject(this.#over);
      const mark = randomBytes(8).toString("hex");
      const env = childEnvironment(this.#command, mark);
      const failed = (error: unknown): void => {
        const { command, cwd } = this.#command;
        reject(spawnFailed({ shown: this.#shown, command, cwd, path: env["PATH"] }, error));
      };
      try {
        const child = this.#spawn(env);
        // Without a number there is no process, and the error follows.
        if (child.pid === undefined) return void child.once("error", failed);
        this.#running = this.#keep(child, mark);
        opened();
      } catch (error) {
        failed(error);
      }
    });
  }

  send({ text, kind, id }: Outgoing): void | Promise<void> {
    const refusal = this.#over ?? (this.#running?.overfull === true ? this.#unread() : undefined);
    if (refusal === undefined) return this.#running?.write(text, kind);
    if (kind === "request" && id !== undefined) this.#sink?.lost(id, refusal);
  }

  /** False: the server is told by a notification, of which the transport knows nothing. */
  forget(): boolean {
    return false;
  }

  async close(): Promise<void> {
    this.#over ??= new LocalError("CLOSED", `The connection to ${this.#shown} was closed`);
    await this.#running?.close();
  }

  #spawn(env: Record<string, string>): ChildProcessWithoutNullStreams {
    const { command, args = [], cwd } = this.#command;
    return spawn(command, [...args], {
      ...(cwd === undefined ? {} : { cwd }),
      env,
      stdio: "pipe",
      // A session and a group of its own: signals reach all of it, and those of our terminal reach none of it.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  }

  #keep(child: ChildProcessWithoutNullStreams, mark: string): RunningChild {
    const sink = this.#sink as MessageSink;
    const { closeTimeouts: timeouts = {}, stderr } = this.#command;
    const keeping = { mark, limits: this.#limits, timeouts, stderr: this.#stderr, forward: stderr === "forward" };
    return new RunningChild(child, keeping, {
      message: (text) => sink.receive(text),
      unreadable: ({ error, excerpt }) => sink.unreadable(error, undefined, excerpt),
      noise: (line) => sink.noise(line),
      clean: this.#hideSecrets,
      gone: (departure) => {
        if (departure !== undefined) this.#over ??= this.#departed(departure);
        sink.closed(departure && this.#over);
      },
    });
  }

  #departed({ how, flooded }: Departure): LocalError {
    this.#told = true;
    const advice = flooded
      ? " and was stopped. Standard output is for messages only: have it log to standard error."
      : ".";
    const troubles = this.#troubles(" It wrote nothing to standard error.");
    const brief = `its process ${how}`;
    return new LocalError(flooded ? "LIMIT" : "EXITED", `The server ${this.#shown} ${how}${advice}${troubles}`, {
      brief,
    });
  }

  #unread(): LocalError {
    const most = this.#limits.outgoingBytes;
    return new LocalError("LIMIT", `The server ${this.#shown} does not read: over ${most} bytes wait to be sent to it`);
  }

  // What it did beside messages: for errors, so that nobody has to look for it elsewhere.
  #troubles(silent: string): string {
    const { lines } = this.#stderr;
    const notes = [this.#running?.noise, this.#running?.farewell].filter((note) => note !== undefined);
    const tail = lines.map((line) => `\n  ${line}`).join("");
    const said = lines.length === 0 ? silent : ` The end of its standard error:${tail}`;
    return `${notes.map((note) => ` ${note}.`).join("")}${said}`;
  }
}

// The child once it has been started, from its first message to the last of its process tree.

/** Why there is no child any more. */
interface Departure {
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

class RunningChild {
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
      await settles(Promise.race([this.#output.close(), this.#exit]), LAST_READ_MS);
      this.#child.stdin.end();
      this.#lingered = !(await settles(this.#exit, this.#keeping.timeouts.inputEndMs ?? INPUT_END_MS));
    }
    await this.#endTree();
    await settles(this.#exit, LAST_READ_MS);
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
    void settles(Promise.all([this.#allRead, this.#stderrClosed]), LAST_READ_MS).then(() => {
      if (this.#closing === undefined) this.#finish(departure);
    });
  };

  async #halfClosed(stream: string): Promise<void> {
    if (this.#closing !== undefined || (await settles(this.#exit, HALF_CLOSED_MS))) return;
    this.#stop({ how: `closed its ${stream} and went on running`, flooded: false });
  }

  #stop(departure: Departure): void {
    if (this.#closing !== undefined || this.#stopped !== undefined) return;
    this.#stopped = departure;
    // A process the system cannot end must not keep the calls waiting.
    void this.#endTree()
      .then(() => settles(this.#exit, LAST_READ_MS))
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
