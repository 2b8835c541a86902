// A handshake-era session: the caller that lasts as long as its conversation.
import type { Call, Caller } from "../endpoint/call.js";
import type { Codec } from "../era/codec.js";
import { LocalError } from "../jsonrpc/errors.js";
import { type Handshake, codecFor } from "../era/select.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import { levelIndex, type LoggingLevel } from "../protocol/features/lifecycle.js";
import type { Root } from "../protocol/features/elicitation.js";
import type { Subscription } from "./subscription.js";

/** What a session receives before it sets a level: the revisions leave the choice to the server. */
const DEFAULT_LEVEL: LoggingLevel = "info";

/** What is told of a session when it is over. */
export interface EndedSession {
  /** The revision it spoke. */
  readonly revision: string;
  readonly client: Implementation | undefined;
  /** How its bytes travelled: "stdio", "memory", "http", "sse". */
  readonly transport: string;
  readonly durationMs: number;
}

/** What `initialize` settled, and what the session asked for since. */
export class Session implements Caller {
  readonly codec: Codec;
  readonly capabilities: ClientCapabilities;
  readonly client: Implementation | undefined;
  logLevel: number = levelIndex(DEFAULT_LEVEL);
  subscription: Subscription | undefined;
  /** When it was opened, by `performance.now()`. */
  readonly opened: number = performance.now();
  /** The client's roots until it says that they changed. */
  roots: Promise<readonly Root[]> | undefined;

  /** Told when the client says that its roots are others. */
  rootsHandlers: Set<() => void> | undefined;

  /** Told when its level or what it is subscribed to is another. */
  changed: (() => void) | undefined;

  /** The session whose place this one takes once its handshake is answered. */
  previous: Session | undefined;

  constructor(handshake: Handshake, previous?: Session) {
    this.previous = previous;
    this.codec = codecFor(handshake.revision);
    this.capabilities = handshake.capabilities;
    this.client = handshake.client;
  }

  /** Forgets a session whose place this one, or one before it, was to take: it never came to be. */
  withdraw(refused: Session): void {
    if (this.previous === refused) this.previous = refused.previous;
    else this.previous?.withdraw(refused);
  }

  end(): EndedSession {
    const { codec, client, subscription, opened } = this;
    const transport = subscription?.carrier.kind ?? "";
    return { revision: codec.revision.date, client, transport, durationMs: performance.now() - opened };
  }

  /** The client's roots: asked for once, until it says that they changed or the question fails. */
  cachedRoots(ask: () => Promise<readonly Root[]>): Promise<readonly Root[]> {
    // A question of another call may fail for reasons of its own, such as being cancelled.
    if (this.roots !== undefined) return this.roots.catch(() => this.cachedRoots(ask));
    const asked = ask();
    this.roots = asked;
    asked.catch(() => {
      if (this.roots === asked) this.roots = undefined;
    });
    return asked;
  }
}

/** The place of a level, from the lowest. Throws BAD_LEVEL for none. */
export function levelOf(level: LoggingLevel): number {
  const index = levelIndex(level);
  if (index < 0) throw new LocalError("BAD_LEVEL", `"${level as string}" is not a log level`);
  return index;
}

// Log messages to one reader: bounded, so that a chatty handler cannot flood a client that does not read.

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
