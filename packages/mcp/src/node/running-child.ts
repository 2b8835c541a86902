// A child that has been started, from its first message to the last of its process tree.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { OutgoingKind } from "../jsonrpc/carrier.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { type CloseTimeouts, endTree, type Ending, INPUT_END_MS, TERMINATE_MS, within } from "./child-ending.js";
import { howItEnded } from "./child-errors.js";
import { endAtExit } from "./child-exit-guard.js";
import { ChildIntake, type IntakeEvents } from "./child-intake.js";
import type { StderrTail } from "./child-stderr.js";
import { ChildTree } from "./child-tree.js";
import { OutputQueue } from "./output-queue.js";

/** Why there is no child any more. */
export interface Departure {
  /** What it did, as a sentence without its subject. */
  readonly how: string;
  /** It was stopped because it printed too much that is no message. */
  readonly flooded: boolean;
}

export interface ChildEvents extends Pick<IntakeEvents, "message" | "unreadable" | "noise" | "clean"> {
  /** All it wrote has been delivered. Called once; with undefined when it was closed. */
  gone(departure: Departure | undefined): void;
}

export interface ChildKeeping {
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
