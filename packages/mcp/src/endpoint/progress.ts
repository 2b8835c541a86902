// Progress of one call, on either side: strictly growing, rate bounded, first and last never lost.
import type { ProgressSink } from "../jsonrpc/outgoing.js";
import type { Call, OngoingProgress } from "./call.js";

/** Reports a client can use in one window; further ones are merged into the latest, so a tight loop cannot flood it. */
const REPORTS_PER_WINDOW = 50;
const WINDOW_MS = 1_000;

interface Report {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Hands on the progress of one call: as notifications to its caller, or to the function its caller gave. */
export class ProgressReporter implements OngoingProgress {
  readonly #send: (report: Report) => void | Promise<void>;
  #last = Number.NEGATIVE_INFINITY;
  // The first report begins the first window.
  #windowStart = Number.NEGATIVE_INFINITY;
  #sent = 0;
  #held: Report | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(send: (report: Report) => void | Promise<void>) {
    this.#send = send;
  }

  /** Reports progress. A value that does not grow is dropped; too fast a one is held and merged with the next. */
  report(report: Report): void | Promise<void> {
    if (!(report.progress > this.#last) || !Number.isFinite(report.progress)) return undefined;
    this.#last = report.progress;
    if (this.#admit()) {
      this.#held = undefined;
      return this.#send(report);
    }
    this.#held = report;
    this.#timer ??= setTimeout(() => this.#release(), this.#windowStart + WINDOW_MS - performance.now());
    return undefined;
  }

  /** Sends what is held back and stops: called before the call's answer. */
  finish(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) void this.#send(held);
  }

  #admit(): boolean {
    const now = performance.now();
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#sent = 0;
    }
    if (this.#sent >= REPORTS_PER_WINDOW) return false;
    this.#sent++;
    return true;
  }

  #release(): void {
    this.#timer = undefined;
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    this.#windowStart = performance.now();
    this.#sent = 1;
    void this.#send(held);
  }
}

/** Reports progress for a call; does nothing when its caller did not ask for progress. */
export function reportProgress(call: Call, report: Report): void | Promise<void> {
  if (call.ended) return undefined;
  if (call.progress === undefined) {
    const token = call.progressToken;
    if (token === undefined) return undefined;
    call.progress = new ProgressReporter((sent) =>
      call.notify("notifications/progress", { progressToken: token, ...sent }),
    );
  }
  return call.progress.report(report);
}

/** Takes the progress of a request of ours, and hands it on at the pace at which it may be told. What is malformed is dropped. */
export function progressSink(told: (progress: Report) => void): ProgressSink {
  const reporter = new ProgressReporter(told);
  return {
    report: (params) => void (isReport(params) && reporter.report(params)),
    finish: () => reporter.finish(),
  };
}

function isReport(params: object): params is Report {
  const { progress, total, message } = params as Partial<Record<keyof Report, unknown>>;
  if (typeof progress !== "number") return false;
  return (total === undefined || typeof total === "number") && (message === undefined || typeof message === "string");
}
