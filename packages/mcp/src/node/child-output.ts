// What a child writes: messages on standard output, and what it says on standard error.
import { type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { LocalError } from "../jsonrpc/errors.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { visibleText } from "../jsonrpc/message.js";
import { LineFraming, UnreadableLine } from "../transport/stdio-framing.js";
import { decodeUtf8 } from "./standard-streams.js";

// A command line as people may see it: quoted where needed, cut, and without what looks like a secret.

const PLAIN = /^[\w@%+=:,./\\-]+$/;
const SECRET_NAME = /key|token|secret|pass|pwd|credential|auth|cookie/i;
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
export function howItEnded(status: number | null, signal: string | null, unasked: boolean): string {
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

// Reads a child's standard output: messages to one side, noise to the other, no faster than they are taken.

export interface IntakeEvents {
  /** A promise holds up what comes after until it resolves. */
  message(text: string): void | Promise<void>;
  unreadable(line: UnreadableLine): void;
  noise(line: string): void;
  /** Takes out of noise what nobody may see. */
  clean(text: string): string;
  /** The child writes so much that is no message that it must be stopped. Called once, and nothing after it. */
  flooded(): void;
  /** All that came has been delivered. Called once. */
  ended(): void;
}

// Lines delivered before other work gets a turn.
const LARGEST_GROUP = 256;

export class ChildIntake {
  readonly meter: NoiseMeter;
  readonly #stream: Readable;
  readonly #framing: LineFraming;
  readonly #events: IntakeEvents;
  #waiting = false;
  #streamEnded = false;
  #cutLine = false;
  #stopped = false;

  constructor(stream: Readable, limits: JsonRpcLimits, events: IntakeEvents) {
    this.#stream = stream;
    this.#events = events;
    this.#framing = new LineFraming(limits, { decode: decodeUtf8, measures: true });
    this.meter = new NoiseMeter(limits, (text) => events.clean(text));
    stream.on("data", this.#take).on("end", this.#end).on("close", this.#end).on("error", this.#end);
  }

  /** Delivers nothing more, and reads on: a child that nobody reads from cannot end. */
  discard(): void {
    this.#stopped = true;
    this.#stream.off("data", this.#take).resume();
  }

  /** Reads nothing more and delivers nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#stream.off("data", this.#take).destroy();
  }

  readonly #take = (chunk: Buffer): void => {
    if (this.#stopped) return;
    this.meter.bytes(chunk.length, performance.now());
    this.#framing.push(chunk);
    if (!this.#waiting) this.#deliver();
  };

  readonly #end = (): void => {
    if (this.#streamEnded) return;
    this.#streamEnded = true;
    if (!this.#waiting) this.#deliver();
  };

  readonly #goOn = (): void => {
    this.#waiting = false;
    this.#deliver();
    if (!this.#waiting && !this.#stopped) this.#stream.resume();
  };

  #deliver(): void {
    for (let lines = 0; !this.#stopped; lines++) {
      if (this.meter.flooded) return this.#flooded();
      if (lines === LARGEST_GROUP) return this.#wait(undefined);
      const line = this.#framing.next();
      if (line === undefined) {
        if (!this.#streamEnded) return;
        if (this.#cutLine) return this.#finish();
        // What follows the last line end: the child was cut off in the middle of it, or left the end out.
        this.#cutLine = true;
        this.#framing.end();
        continue;
      }
      const taken = this.#dispatch(line);
      if (taken !== undefined) return this.#wait(taken);
    }
  }

  #dispatch(line: string | UnreadableLine): void | Promise<void> {
    const unreadable = line instanceof UnreadableLine;
    const text = unreadable ? line.excerpt.head : line;
    if (looksLikeMessage(text)) {
      if (unreadable) return this.#events.unreadable(line);
      if (!this.#cutLine || isJson(text)) {
        this.meter.message();
        return this.#events.message(text);
      }
    }
    const shown = this.meter.line(text, unreadable, performance.now());
    if (shown !== undefined) this.#events.noise(shown);
  }

  #wait(taken: Promise<void> | undefined): void {
    this.#waiting = true;
    this.#stream.pause();
    if (taken === undefined) setImmediate(this.#goOn);
    else taken.then(this.#goOn, this.#goOn);
  }

  // The pipe stays: closed, it would make the child end with words about that.
  #flooded(): void {
    this.#stopped = true;
    this.#stream.off("data", this.#take).pause();
    this.#events.flooded();
  }

  #finish(): void {
    this.#stopped = true;
    this.#events.ended();
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
// Looked at for secrets before the line is cut, so that no part of one is left at the edge.
const CLEANED_CHARACTERS = 4 * LINE_CHARACTERS;
// Start banners have a few dozen lines; from then on it is counted.
const LINES_A_SECOND = 50;
const SECOND_MS = 1_000;
// Nobody prints this much by mistake in this time, and reading on costs a processor.
const FLOOD_BYTES = 64 * 1024 * 1024;
const FLOOD_MS = 10_000;
// What a line costs beside its bytes, in the time it takes to read as many; one that is not UTF-8 costs an exception.
const LINE_COST = 100;
const UNREADABLE_COST = 2_000;

/**
 * A message is an object, or an array of objects, perhaps behind a byte order mark, which its reader refuses; whether it is JSON all
 * the way, its reader finds out.
 */
const MESSAGE = /^\ufeff?[ \t]*(?:\{[ \t]*["}]|\[[ \t]*[{\]])/;
const BRACE = 123;
const QUOTE = 34;

function looksLikeMessage(line: string): boolean {
  return (line.charCodeAt(0) === BRACE && line.charCodeAt(1) === QUOTE) || MESSAGE.test(line);
}

class NoiseMeter {
  readonly #floodBytes: number;
  readonly #clean: (text: string) => string;
  #lines = 0;
  #last = "";
  #second = 0;
  #told = 0;
  #windowStart = 0;
  #windowBytes = 0;

  /** `clean` takes out what nobody may see. */
  constructor(limits: JsonRpcLimits, clean: (text: string) => string) {
    this.#clean = clean;
    // One message at its longest must never look like a flood, nor one that is too long before that was said of it.
    this.#floodBytes = Math.max(FLOOD_BYTES, 4 * limits.messageBytes);
  }

  /** Too much has come since the last message. */
  get flooded(): boolean {
    return this.#windowBytes > this.#floodBytes;
  }

  /** Bytes that arrived, of messages too. `now` in milliseconds. */
  bytes(count: number, now: number): void {
    if (now - this.#windowStart > FLOOD_MS) {
      this.#windowStart = now;
      this.#windowBytes = 0;
    }
    this.#windowBytes += count;
  }

  /** A message arrived: what came before it was worth its reading. */
  message(): void {
    this.#windowBytes = 0;
  }

  /** The line as it may be shown, or undefined when enough were shown in this second. */
  line(text: string, unreadable: boolean, now: number): string | undefined {
    this.#lines++;
    this.#windowBytes += unreadable ? UNREADABLE_COST : LINE_COST;
    if (now - this.#second >= SECOND_MS) {
      this.#second = now;
      this.#told = 0;
    }
    if (this.#told >= LINES_A_SECOND) return undefined;
    this.#told++;
    const start = this.#clean(text.slice(0, CLEANED_CHARACTERS));
    this.#last = visibleText(start + text.slice(CLEANED_CHARACTERS), LINE_CHARACTERS);
    return this.#last;
  }

  /** A sentence on what was seen, or undefined when all was quiet. */
  get summary(): string | undefined {
    if (this.#lines === 0) return undefined;
    const lines = this.#lines === 1 ? "a line that is no message" : `${this.#lines} lines that are no messages`;
    return `It printed ${lines} to standard output: "${this.#last}"`;
  }
}
