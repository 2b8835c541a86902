// Log messages to one reader: bounded, so that a chatty handler cannot flood a client that does not read.
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
