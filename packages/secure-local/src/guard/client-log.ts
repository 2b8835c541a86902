// Tells callers what the guard did, as log messages of theirs and nobody else's.
import type { Call, LoggingLevel } from "@secure-local/mcp/server";
import { redactValue } from "../audit/redact.js";
import { cleanValue } from "./cleaning/clean-result.js";
import { SlidingWindow } from "./rate-limits.js";

/** Ranks of the levels used here, as the protocol counts them from 0 for debug. */
const RANKS: Readonly<Record<Extract<LoggingLevel, "notice" | "warning">, number>> = { notice: 2, warning: 3 };
/** Messages a minute for everybody together: a client that is refused all the time need not be told all the time. */
const MESSAGES = 120;

export class ClientLog {
  readonly #window = new SlidingWindow();
  readonly #own = new WeakSet();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sends a message that belongs to the request, if its caller wants that level. Secrets are taken out. */
  send(call: Call, level: keyof typeof RANKS, data: Readonly<Record<string, unknown>>): void {
    if (RANKS[level] < call.caller.logLevel || this.#window.take(MESSAGES, this.#now()) > 0) return;
    const params = { level, logger: "guard", data: cleanValue(redactValue(data)) };
    this.#own.add(params);
    void call.notify("notifications/message", params);
  }

  /** Whether a message is ours, and tells of nothing that was read. */
  isOwn(params: object): boolean {
    return this.#own.has(params);
  }
}
