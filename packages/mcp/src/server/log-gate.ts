// Log messages to one reader: bounded, so that a chatty handler cannot flood a client that does not read.
import type { Call } from "../endpoint/call.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { Subscription } from "./subscription.js";

/** Messages that may wait for a slow reader; further ones are counted and the count is told when it catches up. */
const WAITING_MESSAGES = 100;

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

/** Sends log messages to a session, and says how many it had to leave out. */
export class LogGate {
  #waiting = 0;
  #dropped = 0;

  send(subscription: Subscription, params: LogMessage): void {
    if (this.#waiting >= WAITING_MESSAGES) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) this.#tellDropped(subscription, params.level);
    this.#write(subscription, params);
  }

  /** At the level of the message it comes before: one the session is known to want. */
  #tellDropped(subscription: Subscription, level: LoggingLevel): void {
    const data = `${this.#dropped} log messages were dropped because they were not read fast enough`;
    this.#dropped = 0;
    this.#write(subscription, { level, logger: "server", data });
  }

  #write(subscription: Subscription, params: object): void {
    const written = subscription.send("notifications/message", params);
    if (written === undefined) return;
    this.#waiting++;
    void written.then(() => this.#waiting--);
  }
}
