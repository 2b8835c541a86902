// What a client keeps an eye on while a server is connected: whether it answers, its latest log messages, and when to
// try again.
import type { JsonObject } from "../jsonrpc/message.js";
import { startTimer } from "../jsonrpc/outgoing.js";
import { levelIndex, type LoggingLevel } from "../protocol/features/lifecycle.js";

/** How an idle session is asked whether it is alive, in milliseconds, and what happens when it is not. */
export interface PingOptions {
  /** Milliseconds between the end of one ping and the next. At least 1,000. Default 30,000. */
  readonly intervalMs?: number;
  /** Milliseconds a ping may take. Default 10,000. */
  readonly timeoutMs?: number;
  /** Failures in a row until something is done about it. Default 3. */
  readonly failures?: number;
  /** What is done: the client closes (the default), or only warns, once a row. */
  readonly onFailure?: "close" | "warn";
}

/** What a pinger needs. */
export interface PingTarget {
  /** Rejects when there was no answer in time; any answer counts as life. */
  ping(timeoutMs: number): Promise<unknown>;
  warn(text: string): void;
  giveUp(text: string): void;
}

/** More often is noise. */
const LEAST_INTERVAL_MS = 1_000;

export class Pinger {
  readonly #options: Required<PingOptions>;
  readonly #target: PingTarget;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failed = 0;
  #stopped = false;

  constructor(target: PingTarget, options: PingOptions) {
    const { intervalMs = 30_000, timeoutMs = 10_000, failures = 3, onFailure = "close" } = options;
    this.#options = { intervalMs: Math.max(intervalMs, LEAST_INTERVAL_MS), timeoutMs, failures, onFailure };
    this.#target = target;
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = startTimer(() => void this.#ping(), this.#options.intervalMs);
    // Pings alone must not keep a process alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  async #ping(): Promise<void> {
    const { timeoutMs, failures, onFailure } = this.#options;
    try {
      await this.#target.ping(timeoutMs);
      this.#failed = 0;
    } catch {
      this.#failed++;
      const text = `${this.#failed} pings in a row were not answered within ${timeoutMs} ms`;
      if (this.#failed >= failures && !this.#stopped) {
        if (onFailure === "close") return this.#target.giveUp(text);
        if (this.#failed === failures) this.#target.warn(text);
      }
    }
    this.#schedule();
  }
}

// Keeps the latest log messages of a server.

/** A log message of a server (server/utilities/logging). */
export interface LogMessage {
  readonly level: LoggingLevel;
  readonly logger?: string;
  readonly data: unknown;
}

/** Enough to see what led to an error, little enough to keep for hundreds of servers. */
const MOST_MESSAGES = 200;

/** Characters of all messages together, as JSON: the newest one is kept whatever its length. */
const MOST_CHARACTERS = 1024 * 1024;

export class LogRing {
  readonly #messages: LogMessage[] = [];
  readonly #lengths: number[] = [];
  #characters = 0;
  #least = 0;
  /** Levels that calls under way have asked for. */
  readonly #asked: number[] = [];

  /** Messages below this level are dropped, for servers that send them all the same. */
  set level(level: LoggingLevel) {
    this.#least = levelIndex(level);
  }

  /** Messages of this level are wanted too, by a call of its own, until the function returned is called. */
  also(level: LoggingLevel): () => void {
    const index = levelIndex(level);
    this.#asked.push(index);
    return () => void this.#asked.splice(this.#asked.indexOf(index), 1);
  }

  /** The message of a notification; undefined when it is none, or below the level. */
  take(params: JsonObject): LogMessage | undefined {
    const index = levelIndex(params["level"]);
    if (index < 0 || index < Math.min(this.#least, ...this.#asked)) return undefined;
    const { logger, level, data } = params;
    const message: LogMessage = {
      level: level as LoggingLevel,
      ...(typeof logger === "string" ? { logger } : {}),
      data,
    };
    this.#keep(message);
    return message;
  }

  /** Oldest first. */
  get messages(): readonly LogMessage[] {
    return this.#messages;
  }

  #keep(message: LogMessage): void {
    const { length } = JSON.stringify(message);
    this.#messages.push(message);
    this.#lengths.push(length);
    this.#characters += length;
    while (this.#messages.length > MOST_MESSAGES || (this.#characters > MOST_CHARACTERS && this.#messages.length > 1)) {
      this.#messages.shift();
      this.#characters -= this.#lengths.shift() ?? 0;
    }
  }
}
