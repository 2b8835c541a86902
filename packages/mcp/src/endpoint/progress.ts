// What a call tells while it runs. Its progress, on either side: strictly growing, rate bounded, first and last never lost. Its log
// messages, bounded too, and notifications of an author's own.
import { LocalError } from "../jsonrpc/errors.js";
import { notificationText } from "../jsonrpc/message.js";
import type { ProgressSink } from "../jsonrpc/outgoing.js";
import { checkOptions } from "../protocol/capabilities.js";
import { levelIndex, type LoggingLevel } from "../protocol/features/lifecycle.js";
import { isSpecifiedMethod } from "../protocol/revisions/newest.js";
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

// Log levels.

/** The place of a level, from the lowest. Throws BAD_LEVEL for none. */
export function levelOf(level: LoggingLevel): number {
  const index = levelIndex(level);
  if (index < 0) throw new LocalError("BAD_LEVEL", `"${level as string}" is not a log level`);
  return index;
}

// Log messages of one call: bounded, so that a chatty handler cannot flood its client.

/** What a log message says. */
export interface LogMessage {
  readonly level: LoggingLevel;
  readonly logger?: string;
  readonly data: unknown;
}

/** Log messages of one call in one window: more than a person reads, less than a loop writes. The rest is counted and told. */
const MESSAGES_PER_WINDOW = 100;

/** Sends the log messages of one call, at no higher rate than a client can use. */
export class CallLogs {
  readonly #call: Call;
  #windowStart = 0;
  #sent = 0;
  #dropped = 0;
  #level: LoggingLevel = "info";

  constructor(call: Call) {
    this.#call = call;
  }

  send(message: LogMessage): void | Promise<void> {
    const now = performance.now();
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#sent = 0;
      this.finish();
    }
    if (this.#sent >= MESSAGES_PER_WINDOW) {
      this.#dropped++;
      this.#level = message.level;
      return undefined;
    }
    this.#sent++;
    return this.#call.notify("notifications/message", message);
  }

  /** Tells what was left out, at the level of the last of it: one the caller is known to want. */
  finish(): void {
    if (this.#dropped === 0) return;
    const data = `${this.#dropped} log messages of this call were dropped: more than ${MESSAGES_PER_WINDOW} a second`;
    this.#dropped = 0;
    void this.#call.notify("notifications/message", { level: this.#level, logger: "server", data });
  }
}

// Notifications of an author's own.

/** Notifications of the specification, in any revision: servers and clients send them by themselves. */
const KNOWN =
  /^notifications\/(?:message|progress|cancelled|initialized|resources\/updated|(?:resources|tools|prompts|roots)\/list_changed|elicitation\/complete|subscriptions\/acknowledged|tasks(?:\/status)?)$/;

/** Whether a method is an author's own, and not the specification's in any revision. */
export function isOwnMethod(method: string): boolean {
  return !KNOWN.test(method) && !isSpecifiedMethod(method);
}

/** Throws RESERVED for a method that is the specification's, BAD_OPTIONS for what is no notification. */
export function requireOwnMethod(method: string, params: object): void {
  checkOptions("notify(method, params)", { method: method ?? null, params }, { method: "text", params: "object" });
  if (isOwnMethod(method)) return;
  throw new LocalError("RESERVED", `"${method}" is a method of the specification: use a name of your own`);
}

/** Sends a notification of an author's own within a request. */
export async function notifyOwn(call: Call, method: string, params: object): Promise<void> {
  requireOwnMethod(method, params);
  if (call.ended || call.cancellation !== undefined) return;
  await call.carrier.write(notificationText(method, params), "notification");
}
