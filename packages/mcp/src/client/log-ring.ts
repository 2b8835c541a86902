// Keeps the latest log messages of a server.
import type { JsonObject } from "../jsonrpc/message.js";
import { type LoggingLevel, levelIndex } from "../protocol/features/logging.js";

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
