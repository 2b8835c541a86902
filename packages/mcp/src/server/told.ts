// What a handler, or a session, tells a client without being asked: log messages, and notifications of an author's own.
import type { Call } from "../endpoint/call.js";
import { LocalError } from "../jsonrpc/errors.js";
import { notificationText } from "../jsonrpc/message.js";
import { checkOptions } from "../protocol/capabilities.js";
import { levelIndex, type LoggingLevel } from "../protocol/features/lifecycle.js";
import { isSpecifiedMethod } from "../protocol/revisions/newest.js";

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
const WINDOW_MS = 1_000;

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
