// A link to a server that is our own child: messages over its standard streams, its whole process tree with it.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { CLIENT_LIMITS, type JsonRpcLimits, resolveLimits } from "../jsonrpc/limits.js";
import type { Transport, MessageSink, Outgoing } from "../jsonrpc/transport.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { CloseTimeouts } from "./child-tree.js";
import { childEnvironment, type Environment, TREE_VARIABLE } from "./child-environment.js";
import { type Departure, RunningChild, spawnFailed, StderrTail } from "./running-child.js";
import { visibleText } from "../jsonrpc/visible-text.js";

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
  readonly closeTimeouts?: CloseTimeouts | undefined;
  readonly limits?: Partial<JsonRpcLimits> | undefined;
}

/** Tells a command from all others: by what it starts, where, and all the child will see. Shows none of it: values may be secrets. */
export function commandKey(command: ChildCommand): string {
  const { [TREE_VARIABLE]: _, ...env } = childEnvironment(command, "");
  const variables = Object.entries(env).sort(([one], [other]) => (one < other ? -1 : 1));
  const seen = [command.command, command.args ?? [], resolve(command.cwd ?? ""), variables];
  return `command ${createHash("sha256").update(JSON.stringify(seen)).digest("hex")}`;
}

/**
 * A link over the standard streams of a child in a process group of its own. Errors: `SPAWN_FAILED` from `open`;
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
    this.#shown = commandText(command.command, command.args ?? []);
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

  /** False: the server is told by a notification, of which the link knows nothing. */
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
    return new LocalError(flooded ? "LIMIT" : "EXITED", `The server ${this.#shown} ${how}${advice}${troubles}`);
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

// A command line as people may see it: quoted where needed, cut, and without what looks like a secret.

const PLAIN = /^[\w@%+=:,./\\-]+$/;
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie/i;
// `--token=…`, `API_KEY=…`, `Authorization: Bearer …`: the name, and what follows it.
const ASSIGNMENT = /((?:key|token|secret|passw|credential|auth|cookie)[\w.-]*\s*[=:]\s*).+/is;
const OPTION = /^--?[\w.-]+$/;
const USER_INFO = /(\w:\/\/)[^/@\s]+@/g;
// Two lines of a terminal.
const MOST_CHARACTERS = 160;
const HIDDEN = "***";
// A shorter value is found in any text.
const SHORTEST_SECRET = 6;

export function commandText(command: string, args: readonly string[]): string {
  const words: string[] = [command];
  let hideNext = false;
  for (const arg of args) {
    const option = OPTION.test(arg);
    if (hideNext && !option) words.push(HIDDEN);
    else words.push(arg.replace(ASSIGNMENT, `$1${HIDDEN}`).replace(USER_INFO, `$1${HIDDEN}@`));
    hideNext = option && SECRET_NAME.test(arg);
  }
  const shown = words.map((word) => (PLAIN.test(word) || word === HIDDEN ? word : quoted(word)));
  return visibleText(shown.join(" "), MOST_CHARACTERS);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Replaces, in what is shown, the values of variables whose names say that they are secrets. */
export function secretHider(env: Readonly<Record<string, string | undefined>> = {}): (text: string) => string {
  const secrets = Object.entries(env).filter(
    ([name, value]) => SECRET_NAME.test(name) && value !== undefined && value.length >= SHORTEST_SECRET,
  ) as [string, string][];
  return (text) => secrets.reduce((shown, [name, value]) => shown.replaceAll(value, `[${name}]`), text);
}
