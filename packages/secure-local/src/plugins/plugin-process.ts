// One running process of a plugin: sends it calls, matches its answers to them, has its asks answered, and drops the rest.
import type { ChildProcess } from "node:child_process";
import { setMaxListeners } from "node:events";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { endedByLimit, endWalled, signalOf } from "../sandbox/start-walled.js";
import type { Wall } from "../sandbox/wall.js";
import type { AskPermission, CallReference } from "./plugin-powers.js";
import { PluginError } from "./plugin-description.js";

/** What is asked of a plugin: one of its tools, prompts or resources. */
export interface PluginCall {
  readonly tool?: string;
  readonly prompt?: string;
  readonly resource?: string;
  readonly arguments?: unknown;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Asked before anything is done for the call that the plugin asks for; without it nothing is. */
  readonly leave?: AskPermission;
  readonly progress?: (done: number, total?: number, message?: string) => void;
  /** Handed what to ask when the time of the call is over: why there is no answer, fit for the caller. */
  readonly late?: (why: () => string) => void;
}

/** What a plugin wrote to stdout during a call that answers none. */
export interface StrayLines {
  readonly count: number;
  /** The start of the first. */
  readonly first: string;
}

/** Calls that wait for answers; a plugin that has so many is not keeping up. */
const MAX_WAITING = 64;
/** Lines that answer nothing, before the plugin is taken to be broken. */
const MAX_STRAY = 10_000;
/** Characters of the first of them that people are shown. */
const SHOWN_STRAY = 200;
/** Bytes written to it that it has not read: sixteen answers of the largest size. Who asks and never reads gets no further. */
const MAX_UNREAD = 48 * 1024 * 1024;
/** Time to end by itself once its input is closed: the server is to be gone within a second of its client. */
const GRACE_MS = 500;

type Json = Readonly<Record<string, unknown>>;

interface Waiting extends Omit<CallOptions, "late"> {
  readonly call: CallReference;
  stray: StrayLines;
  settle(answer: Json | PluginError): void;
}

const NO_LINES: StrayLines = { count: 0, first: "" };

interface PluginCallOptions extends Omit<CallOptions, "late"> {
  /** Handed what to ask when the time of the call is over. */
  readonly late?: ((stray: () => StrayLines) => void) | undefined;
}

interface ProcessEvents {
  /** The first line with `ready`, from a module's host. */
  readonly ready: (description: unknown, lacks: unknown) => void;
  /** Once, when it is gone. */
  readonly ended: (process: PluginProcess) => void;
  /** Does what it asks for. */
  readonly asked: AnswerAsk;
  /** It asked for something outside of a call. */
  readonly outside?: (asked: Json) => void;
  /** It gives no sign of life although it has something to answer, or gives one again. */
  readonly heartbeat?: () => void;
  /** Whether it answers pings, as a module's host does. Default: it does not. */
  readonly pings?: boolean;
}

export class PluginProcess {
  readonly started: number = performance.now();
  readonly #wall: Wall;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #gone: Promise<void>;
  readonly #asks: PluginRequests;
  readonly #stderr: StderrTail;
  readonly #heartbeat: Heartbeat;
  #ids = 0;
  #stray = 0;
  #firstStray = "";
  #heard = false;
  #unanswered = false;
  /** Why it was ended from here; empty where that was no fault of its own. */
  #why: string | undefined;
  #end: string | undefined;
  /** What callers hear who wait for an answer when it ends. */
  #lost = "The plugin ended before it answered.";

  constructor(
    wall: Wall,
    child: ChildProcess,
    { ready, ended, asked, outside, heartbeat = () => undefined, pings = false }: ProcessEvents,
  ) {
    this.#wall = wall;
    this.#child = child;
    this.#asks = new PluginRequests({
      answer: asked,
      send: (message) => this.#send(message),
      outside: (what, isTooMuch) => {
        outside?.(what);
        if (isTooMuch) this.kill("it asked again and again for things outside of a call");
      },
    });
    this.#heartbeat = new Heartbeat({ changed: heartbeat, ping: pings ? () => this.#send({ ping: 1 }) : undefined });
    child.stdin?.on("error", () => undefined);
    this.#stderr = new StderrTail(child.stderr, {
      flooded: () => this.kill("it wrote more to stderr than a log is"),
    });
    if (child.stdout) {
      readLines(child.stdout, {
        line: (text) => this.#line(text, ready),
        tooLong: () => {
          this.#lost = TOO_LONG;
          this.kill(`it wrote a line of more than ${MAX_LINE / 2 ** 20} MiB to stdout, the most an answer may have`);
        },
      });
    }
    this.#gone = new Promise((resolve) => {
      const over = (): void => {
        this.#asks.close();
        this.#heartbeat.stop();
        this.#unanswered = this.#waiting.size > 0;
        for (const { settle } of [...this.#waiting.values()]) settle(new PluginError(this.#lost));
        ended(this);
        resolve();
      };
      child.once("error", (error) => {
        this.#end = `it could not be started (${error.message})`;
        over();
      });
      child.once("close", (code, signal) => {
        this.#end ??= exitText(code, signal);
        over();
      });
    });
  }

  /** What it wrote to stderr last. */
  get wroteOnStandardError(): string {
    return this.#stderr.text;
  }

  /** Bytes that it wrote to stderr so far. */
  get writtenOnStandardError(): number {
    return this.#stderr.written;
  }

  /** What it wrote to stderr after so many bytes, as far as that is kept. */
  standardErrorSince(bytes: number): string {
    return this.#stderr.since(bytes);
  }

  /** What it wrote to stderr last, and to stdout that was no answer. */
  get output(): string {
    const { text } = this.#stderr;
    if (this.#stray === 0) return text;
    const first = JSON.stringify(this.#firstStray);
    return `${text}\nstdout is for answers; lines there that are none (an answer has the id of its call): ${this.#stray}, the first: ${first}`.trim();
  }

  /** Whether it has said anything. */
  get heard(): boolean {
    return this.#heard;
  }

  /** How it ended, once it has; undefined while it runs, and where it was no longer wanted. */
  get end(): string | undefined {
    if (this.#why === undefined) return this.#end;
    return this.#why === "" ? undefined : `${this.#why}, and was ended`;
  }

  /** Whether it ended before it had answered. */
  get unanswered(): boolean {
    return this.#unanswered;
  }

  /** Whether it gives no sign of life although it has something to answer. */
  get silent(): boolean {
    return this.#heartbeat.silent;
  }

  /** Lines it wrote that answered nothing. */
  get stray(): number {
    return this.#stray;
  }

  /** Resolves with its answer as it is. @throws PluginError; the signal's reason when aborted */
  call(asked: PluginCall, options: PluginCallOptions = {}): Promise<Json> {
    if (this.#waiting.size >= MAX_WAITING) {
      return Promise.reject(new PluginError(`The plugin has ${MAX_WAITING} calls to answer; try again later.`));
    }
    const id = (this.#ids += 1);
    const { late, ...kept } = options;
    const { signal, leave = NO_LEAVE } = kept;
    const over = new AbortController();
    // Each ask listens to it.
    setMaxListeners(MAX_ASKS + 1, over.signal);
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#send({ cancel: id });
        finish();
        reject(signal?.reason as Error);
      };
      const finish = (): void => {
        this.#waiting.delete(id);
        signal?.removeEventListener("abort", abort);
        // What it asked for ends with it.
        over.abort();
      };
      if (signal?.aborted) return reject(signal.reason as Error);
      signal?.addEventListener("abort", abort, { once: true });
      const settle = (answer: Json | PluginError): void => {
        finish();
        if (answer instanceof PluginError) reject(answer);
        else resolve(answer);
      };
      const waiting: Waiting = { ...kept, call: { signal: over.signal, leave }, settle, stray: NO_LINES };
      this.#waiting.set(id, waiting);
      late?.(() => waiting.stray);
      this.#send({ id, ...asked });
      this.#heartbeat.sent();
    });
  }

  /** Closes its input, and ends it when it does not end by itself. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.kill(), GRACE_MS);
    this.#child.stdin?.end();
    await this.#gone;
    clearTimeout(timer);
  }

  /** Ends it and all it started, at once. @param why What it did, in words after "it" */
  kill(why = ""): void {
    this.#why ??= this.#end === undefined ? why : undefined;
    endWalled(this.#wall, this.#child);
  }

  #send(message: object): void {
    const { stdin } = this.#child;
    if (!stdin?.writable) return;
    stdin.write(`${JSON.stringify(message)}\n`);
    if (stdin.writableLength > MAX_UNREAD) this.kill("it does not read what it asks for");
  }

  #line(text: string, ready: ProcessEvents["ready"]): void {
    if (text === "") return;
    this.#heard = true;
    const message = objectOf(text);
    const isPong = this.#heartbeat.pinged && message !== undefined && "pong" in message;
    if (!isPong) this.#message(message, text, ready);
    this.#heartbeat.heard(this.#waiting.size > 0);
  }

  #message(message: Json | undefined, text: string, ready: ProcessEvents["ready"]): void {
    const waiting = this.#waiting.get(message?.["id"] as number);
    const progress = message?.["progress"];
    if (message !== undefined && "ready" in message) ready(message["ready"], message["lacks"]);
    else if (message !== undefined && "ask" in message)
      this.#asks.take(message, this.#waiting.get(message["for"] as number)?.call);
    else if (message === undefined || waiting === undefined) this.#dropped(text);
    else if (isProgress(progress))
      waiting.progress?.(progress.done, numberOf(progress.total), textOf(progress.message));
    else waiting.settle(message);
  }

  #dropped(text: string): void {
    if (this.#stray === 0) this.#firstStray = text.slice(0, SHOWN_STRAY);
    this.#stray += 1;
    for (const waiting of this.#waiting.values()) {
      const { count, first } = waiting.stray;
      waiting.stray = { count: count + 1, first: count === 0 ? text.slice(0, SHOWN_STRAY) : first };
    }
    if (this.#stray === MAX_STRAY) this.kill(`it wrote ${MAX_STRAY} lines to stdout that answer nothing`);
  }
}

const NO_LEAVE: AskPermission = () =>
  Promise.resolve({ text: "Nothing is done for this call.", rule: "plugins act within a call" });

/** The object a line of JSON holds; undefined for anything else. */
function objectOf(line: string): Json | undefined {
  try {
    const read: unknown = JSON.parse(line);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? (read as Json) : undefined;
  } catch {
    return undefined;
  }
}

function isProgress(
  given: unknown,
): given is { readonly done: number; readonly total?: unknown; readonly message?: unknown } {
  return typeof given === "object" && given !== null && Number.isFinite((given as { readonly done?: unknown }).done);
}

function numberOf(given: unknown): number | undefined {
  return typeof given === "number" && Number.isFinite(given) ? given : undefined;
}

function textOf(given: unknown): string | undefined {
  return typeof given === "string" ? given : undefined;
}

// Keeps what a plugin wrote to stderr last, for the operator, and notices one that writes without end.

/** What is kept: the last words, and a stack trace before them. */
const KEPT_BYTES = 4_096;
/** A debug log of 250 KB a second fits; what is read faster than that for a minute fills the memory with garbage. */
const MOST_BYTES = 16 * 1024 * 1024;
const WINDOW_MS = 60_000;

interface StderrTailOptions {
  /** Called once, when more came within a minute than a log is. */
  readonly flooded: () => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class StderrTail {
  #tail: Buffer = Buffer.alloc(0);
  #since: number;
  #bytes = 0;
  #flooded = false;
  #written = 0;

  constructor(stream: Readable | null, { flooded, now = () => performance.now() }: StderrTailOptions) {
    this.#since = now();
    stream?.on("error", () => undefined);
    stream?.on("data", (chunk: Buffer) => {
      this.#keep(chunk);
      if (now() - this.#since >= WINDOW_MS) {
        this.#since = now();
        this.#bytes = 0;
      }
      this.#bytes += chunk.length;
      if (this.#bytes <= MOST_BYTES || this.#flooded) return;
      this.#flooded = true;
      flooded();
    });
  }

  /** Bytes that came in all. */
  get written(): number {
    return this.#written;
  }

  /** What came after so many bytes, as far as it is kept. */
  since(bytes: number): string {
    const count = Math.max(0, this.#written - bytes);
    return count === 0 ? "" : this.#tail.subarray(-count).toString("utf8").trim();
  }

  /** Bytes that are no UTF-8 become U+FFFD. */
  get text(): string {
    const said = this.#tail.toString("utf8").trim();
    return this.#flooded ? `${said} [more than ${MOST_BYTES / 2 ** 20} MB on stderr within a minute]` : said;
  }

  #keep(chunk: Buffer): void {
    this.#written += chunk.length;
    // A part of a chunk keeps the whole chunk in memory, a copy does not.
    const last = chunk.subarray(-KEPT_BYTES);
    this.#tail = Buffer.concat([this.#tail, last]).subarray(-KEPT_BYTES);
  }
}

// Cuts what a plugin writes into lines, none of them longer than a limit.

/** Characters of one line: a result of the largest size, and what JSON adds to it. */
const MAX_LINE: number = 4 * 1024 * 1024;

const TOO_LONG = `The plugin was ended: an answer of it was longer than ${MAX_LINE / 2 ** 20} MiB, the most one may have. Ask for less at once.`;

interface LineReaderOptions {
  readonly line: (text: string) => void;
  /** A line got too long; nothing is read any more. */
  readonly tooLong: () => void;
}

function readLines(stream: Readable, { line, tooLong }: LineReaderOptions): void {
  const decoder = new StringDecoder("utf8");
  let parts: string[] = [];
  let length = 0;
  let stopped = false;
  stream.on("error", () => undefined);
  stream.on("data", (chunk: Buffer) => {
    if (stopped) return;
    const pieces = decoder.write(chunk).split("\n");
    const last = pieces.pop() as string;
    for (const piece of pieces) {
      const whole = parts.length === 0 ? piece : parts.join("") + piece;
      parts = [];
      length = 0;
      if (whole.trim() !== "") line(whole);
    }
    parts.push(last);
    length += last.length;
    if (length <= MAX_LINE) return;
    stopped = true;
    parts = [];
    tooLong();
  });
}

// What a plugin asks of its host in the middle of its work: reads each ask, has it answered, and never more than a few at a time.

/** Does what is asked. What a `PluginError` says is told to the plugin; of any other error only that there was one. */
type AnswerAsk = (asked: Json, call: CallReference) => Promise<unknown>;

interface PluginAsksOptions {
  readonly answer: AnswerAsk;
  readonly send: (message: object) => void;
  /** Something was asked for outside of a call; told of the first few, and of one too many. */
  readonly outside: (asked: Json, isTooMuch: boolean) => void;
}

/** Asks of one process at a time; an answer may hold megabytes. */
const MAX_ASKS = 16;
/** Asks outside of any call that are put on record, of one process: who knows of so many knows enough. */
const TOLD_OUTSIDE = 16;
/** A call may end while its program still asks for something; so often is no accident. */
const MAX_OUTSIDE = 1_000;
const OUTSIDE =
  'Refused: a plugin acts within a call. Say for which one, as in {"ask":1,"for":7,…}, while that call is under way.';

export class PluginRequests {
  readonly #options: PluginAsksOptions;
  /** One for each ask: signals that many others follow grow with every follower. */
  readonly #underway = new Set<AbortController>();
  #outside = 0;

  constructor(options: PluginAsksOptions) {
    this.#options = options;
  }

  /** @param message The plugin's line; its `ask` is what the answer repeats. `call`: what it asks this for, where that is under way. */
  take(message: Json, call: CallReference | undefined): void {
    const { ask: id, ...asked } = message;
    if (typeof id !== "number" && typeof id !== "string") return;
    void this.#answered(asked, call).then(
      (value) => this.#options.send({ answered: id, value }),
      (error: unknown) => {
        const told = error instanceof PluginError ? error.message : "The host failed to do it.";
        this.#options.send({ answered: id, error: told });
      },
    );
  }

  /** The process is gone: what it asked for is no longer wanted. */
  close(): void {
    for (const each of this.#underway) each.abort(new PluginError("The plugin ended."));
  }

  #refused(asked: Json): never {
    this.#outside += 1;
    const isTooMuch = this.#outside > MAX_OUTSIDE;
    if (this.#outside <= TOLD_OUTSIDE || isTooMuch) this.#options.outside(asked, isTooMuch);
    throw new PluginError(OUTSIDE);
  }

  async #answered(asked: Json, call: CallReference | undefined): Promise<unknown> {
    if (call === undefined) return this.#refused(asked);
    if (this.#underway.size >= MAX_ASKS)
      throw new PluginError(`${MAX_ASKS} asks are under way; wait for the answer to one of them.`);
    const ask = new AbortController();
    const { signal, leave } = call;
    const cancel = (): void => ask.abort(new PluginError("The call has ended, or was cancelled."));
    this.#underway.add(ask);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      if (signal.aborted) cancel();
      ask.signal.throwIfAborted();
      return await this.#options.answer(asked, { signal: ask.signal, leave });
    } finally {
      this.#underway.delete(ask);
      signal.removeEventListener("abort", cancel);
    }
  }
}

// Says for people how a plugin's process came to its end, and what it wrote before.

/** Lines of its output that are told: a stack trace and what stands before it. */
const TOLD_LINES = 20;

/** @param code Of a sandbox too: it passes on what ended the program inside as 128 and the signal's number. */
export function exitText(code: number | null, signal: NodeJS.Signals | null): string {
  const name = signalOf(code, signal);
  const limit = endedByLimit(code, signal);
  if (limit !== undefined) return `it was ended by ${name}: ${limit}`;
  return name === undefined ? `it ended by itself with code ${code}` : `it was ended by ${name}`;
}

/** The last of its lines. */
export function lastLines(output: string): readonly string[] {
  return output === "" ? [] : output.split("\n").slice(-TOLD_LINES);
}

/** What happened to a plugin and what it wrote last, line by line. */
export function reportOf(plugin: string, what: string, output: string): readonly string[] {
  return [`plugin ${plugin}: ${what}`, ...lastLines(output).map((line) => `  | ${line}`)];
}

// Notices when a process that was sent something gives no sign of life, and when it gives one again.

/** A module's host answers pings by itself, however slow the plugin's own work is. */
const PING_AFTER_MS = 1_000;
/** An executable can only be heard when it says something. One that works for longer may tell how far it is. */
const SILENT_AFTER_MS = 10_000;

interface HeartbeatOptions {
  /** Asks for a sign of life; absent where nobody would answer. */
  readonly ping?: (() => void) | undefined;
  /** Told when it falls silent, and when it is heard again. */
  readonly changed: () => void;
}

/** There is a timer only while something was sent and nothing was heard since. */
export class Heartbeat {
  readonly #ping: (() => void) | undefined;
  readonly #changed: () => void;
  #timer: NodeJS.Timeout | undefined;
  #pinged = false;
  #silent = false;

  constructor({ ping, changed }: HeartbeatOptions) {
    this.#ping = ping;
    this.#changed = changed;
  }

  /** Whether it has given no sign of life for as long as it should never take. */
  get silent(): boolean {
    return this.#silent;
  }

  /** Whether a ping waits for its answer. */
  get pinged(): boolean {
    return this.#pinged;
  }

  /** It was sent something that it should answer. */
  sent(): void {
    if (this.#timer === undefined && !this.#silent) this.#wait();
  }

  /** It wrote something; `busy`: it has more to answer. */
  heard(busy: boolean): void {
    if (!busy) this.stop();
    else if (this.#timer === undefined) this.#wait();
    else this.#timer.refresh();
    this.#pinged = false;
    if (!this.#silent) return;
    this.#silent = false;
    this.#changed();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    this.#timer = setTimeout(() => this.#check(), this.#ping === undefined ? SILENT_AFTER_MS : PING_AFTER_MS).unref();
  }

  #check(): void {
    this.#timer = undefined;
    if (this.#ping !== undefined && !this.#pinged) {
      this.#pinged = true;
      this.#ping();
      return this.#wait();
    }
    this.#silent = true;
    this.#changed();
  }
}
