// A handshake-era session: the caller that lasts as long as its conversation.
import type { Caller } from "../endpoint/caller.js";
import type { Codec } from "../era/codec.js";
import type { Handshake } from "../era/handshake/handshake.js";
import { codecFor } from "../era/codecs.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import { type LoggingLevel, levelIndex } from "../protocol/features/logging.js";
import type { Root } from "../protocol/features/roots.js";
import type { Implementation } from "../protocol/implementation.js";
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
