// One running process of a plugin: sends it calls, matches its answers to them, has its asks answered, and drops the rest.
import type { ChildProcess } from "node:child_process";
import { setMaxListeners } from "node:events";
import { endWalled } from "../sandbox/start-walled.js";
import type { Wall } from "../sandbox/wall.js";
import { Complaint } from "./complaint.js";
import { MAX_LINE, readLines } from "./line-reader.js";
import { type AnswerAsk, MAX_ASKS, PluginAsks } from "./plugin-asks.js";
import { endText } from "./plugin-end.js";
import type { AskLeave, ForCall } from "./plugin-powers.js";
import { PluginError } from "./plugin-error.js";
import { Pulse } from "./pulse.js";

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
  readonly leave?: AskLeave;
  readonly progress?: (done: number, total?: number, message?: string) => void;
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

interface Waiting extends CallOptions {
  readonly call: ForCall;
  settle(answer: Json | PluginError): void;
}

export interface ProcessEvents {
  /** The first line with `ready`, from a module's host. */
  readonly ready: (description: unknown) => void;
  /** Once, when it is gone. */
  readonly ended: (process: PluginProcess) => void;
  /** Does what it asks for. */
  readonly asked: AnswerAsk;
  /** It asked for something outside of a call. */
  readonly outside?: (asked: Json) => void;
  /** It gives no sign of life although it has something to answer, or gives one again. */
  readonly pulse?: () => void;
  /** Whether it answers pings, as a module's host does. Default: it does not. */
  readonly pings?: boolean;
}

export class PluginProcess {
  readonly started: number = performance.now();
  readonly #wall: Wall;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #gone: Promise<void>;
  readonly #asks: PluginAsks;
  readonly #complaint: Complaint;
  readonly #pulse: Pulse;
  #ids = 0;
  #stray = 0;
  #firstStray = "";
  #heard = false;
  #unanswered = false;
  /** Why it was ended from here; empty where that was no fault of its own. */
  #why: string | undefined;
  #end: string | undefined;

  constructor(
    wall: Wall,
    child: ChildProcess,
    { ready, ended, asked, outside, pulse = () => undefined, pings = false }: ProcessEvents,
  ) {
    this.#wall = wall;
    this.#child = child;
    this.#asks = new PluginAsks({
      answer: asked,
      send: (message) => this.#send(message),
      outside: (what, isTooMuch) => {
        outside?.(what);
        if (isTooMuch) this.kill("it asked again and again for things outside of a call");
      },
    });
    this.#pulse = new Pulse({ changed: pulse, ping: pings ? () => this.#send({ ping: 1 }) : undefined });
    child.stdin?.on("error", () => undefined);
    this.#complaint = new Complaint(child.stderr, {
      flooded: () => this.kill("it wrote more to stderr than a log is"),
    });
    if (child.stdout) {
      readLines(child.stdout, {
        line: (text) => this.#line(text, ready),
        tooLong: () => this.kill(`it wrote a line of more than ${MAX_LINE / 2 ** 20} MiB to stdout`),
      });
    }
    this.#gone = new Promise((resolve) => {
      const over = (): void => {
        this.#asks.close();
        this.#pulse.stop();
        this.#unanswered = this.#waiting.size > 0;
        for (const { settle } of [...this.#waiting.values()])
          settle(new PluginError("The plugin ended before it answered."));
        ended(this);
        resolve();
      };
      child.once("error", (error) => {
        this.#end = `it could not be started (${error.message})`;
        over();
      });
      child.once("close", (code, signal) => {
        this.#end ??= endText(code, signal);
        over();
      });
    });
  }

  /** What it wrote to stderr last, and to stdout that was no answer. */
  get output(): string {
    const { text } = this.#complaint;
    if (this.#stray === 0) return text;
    const first = JSON.stringify(this.#firstStray);
    return `${text}\nstdout is for answers; lines there that are none: ${this.#stray}, the first: ${first}`.trim();
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
    return this.#pulse.silent;
  }

  /** Lines it wrote that answered nothing. */
  get stray(): number {
    return this.#stray;
  }

  /** Resolves with its answer as it is. @throws PluginError; the signal's reason when aborted */
  call(asked: PluginCall, options: CallOptions = {}): Promise<Json> {
    if (this.#waiting.size >= MAX_WAITING) {
      return Promise.reject(new PluginError(`The plugin has ${MAX_WAITING} calls to answer; try again later.`));
    }
    const id = (this.#ids += 1);
    const { signal, leave = NO_LEAVE } = options;
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
      this.#waiting.set(id, { ...options, call: { signal: over.signal, leave }, settle });
      this.#send({ id, ...asked });
      this.#pulse.sent();
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
    this.#heard = true;
    const message = objectOf(text);
    const isPong = this.#pulse.pinged && message !== undefined && "pong" in message;
    if (!isPong) this.#message(message, text, ready);
    this.#pulse.heard(this.#waiting.size > 0);
  }

  #message(message: Json | undefined, text: string, ready: ProcessEvents["ready"]): void {
    const waiting = this.#waiting.get(message?.["id"] as number);
    const progress = message?.["progress"];
    if (message !== undefined && "ready" in message) ready(message["ready"]);
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
    if (this.#stray === MAX_STRAY) this.kill(`it wrote ${MAX_STRAY} lines to stdout that answer nothing`);
  }
}

const NO_LEAVE: AskLeave = () =>
  Promise.resolve({ text: "Nothing is done for this call.", rule: "plugins act within a call" });

/** The object a line of JSON holds; undefined for anything else. */
export function objectOf(line: string): Json | undefined {
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
