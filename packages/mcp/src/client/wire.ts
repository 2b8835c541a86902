// The way to one server for as long as the client lives: sends requests, and mends what can be mended without asking.
import { clientCodec } from "../era/client-codecs.js";
import { readError } from "../era/read-result.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import { restartDelay } from "../jsonrpc/restart-delay.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import type { Implementation } from "../protocol/capabilities.js";
import type { Dialer, ReconnectOptions, Settings } from "./options.js";
import type { Conversation, ConversationEvents, Sending } from "./conversation.js";
import { Establishing, handshake } from "./negotiate.js";
import { type Established, supportedVersions } from "./established.js";
import { peerWords } from "../jsonrpc/visible-text.js";

/** What the wire tells its client. */
interface WireEvents extends Omit<ConversationEvents, "ended"> {
  warn(text: string): void;
  /** A new session or process stands where the old one was: whatever the old one remembered is gone. */
  reopened(): void;
}

interface WireOptions {
  readonly settings: Settings;
  readonly events: WireEvents;
  readonly reconnect: ReconnectOptions | false | undefined;
}

const ATTEMPTS = 3;
const DELAY_MS = 250;
/** A server that ends more often than this within a minute is not started again. */
const MOST_RESTARTS = 5;
const RESTART_WINDOW_MS = 60_000;

export class Wire {
  /** Resolves when the client is closed, or the server is gone for good: then with the reason. Never rejects. */
  readonly closed: Promise<LocalError | undefined>;
  readonly #dialer: Dialer;
  readonly #options: WireOptions;
  readonly #closing = new AbortController();
  #established: Established | undefined;
  #reopening: Promise<Established> | undefined;
  #restarts: number[] = [];
  #goneBy: LocalError | undefined;
  #resolveClosed!: (reason: LocalError | undefined) => void;

  constructor(dialer: Dialer, options: WireOptions) {
    this.#dialer = dialer;
    this.#options = options;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  /** What is known of the server. Only after `open`. */
  get established(): Established {
    if (this.#established === undefined) throw new LocalError("CLOSED", "The client is not connected yet");
    return this.#established;
  }

  /** Who the server is, as far as that is known already. */
  get knownServer(): Implementation {
    return this.#established?.server ?? { name: "unknown", version: "unknown" };
  }

  /** Whether arguments have to be repeated in headers. */
  get mirrorsArguments(): boolean {
    const { revision, conversation } = this.established;
    return revision.era === "stateless" && conversation.link.kind === "http";
  }

  get conversation(): Conversation {
    return this.established.conversation;
  }

  /** Connects. Rejects with a ConnectError. */
  async open(signal?: AbortSignal): Promise<void> {
    const signals = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    this.#established = await this.#establish(signals);
  }

  /** Resolves with the neutral result. Rejects with an RpcError or a LocalError. */
  async send(sending: Sending): Promise<JsonObject> {
    const { method } = sending;
    for (let retried = false; ; retried = true) {
      const { conversation } =
        this.#reopening === undefined ? this.#usable(method) : await inTime(this.#reopening, sending);
      try {
        return conversation.codec.readResult(method, await conversation.request(sending));
      } catch (error) {
        if (retried || !(await this.#mended(error, conversation))) throw neutral(error, sending, conversation);
      }
    }
  }

  notify(method: string, params?: object): void {
    if (this.#reopening === undefined && this.#goneBy === undefined) this.conversation.notify(method, params);
  }

  async close(reason?: LocalError): Promise<void> {
    this.#goneBy ??= reason ?? new LocalError("CLOSED", "The client was closed");
    this.#closing.abort();
    await this.#reopening?.catch(() => undefined);
    await this.#established?.conversation.close();
    this.#resolveClosed(reason);
  }

  #usable(method: string): Established {
    if (this.#goneBy === undefined) return this.established;
    const { code, message } = this.#goneBy;
    throw new LocalError(code, `${method} was not sent: ${message}`, { cause: this.#goneBy });
  }

  #establish(signal: AbortSignal): Promise<Established> {
    const { settings, events } = this.#options;
    const ended = (error: LocalError, conversation: Conversation): void => this.#ended(error, conversation);
    return new Establishing(this.#dialer, { ...settings, events: { ...bound(events), ended }, signal }).run();
  }

  // Only what has surely not run is sent again: a request refused with its session, or for its version.
  async #mended(error: unknown, conversation: Conversation): Promise<boolean> {
    if (error instanceof LocalError && error.code === "SESSION_EXPIRED") {
      if (this.#established?.conversation === conversation) await this.#newSession(conversation);
      return true;
    }
    const { revision } = this.established;
    if (!(error instanceof RpcError) || error.code !== McpErrorCode.UnsupportedProtocolVersion) return false;
    const mutual = this.#options.settings.versions.mutual("stateless", supportedVersions(error.data) ?? []);
    if (mutual === undefined || revision.era !== "stateless") return false;
    conversation.speak(clientCodec(mutual, this.#options.settings.identity));
    this.#established = { ...this.established, revision: mutual };
    return true;
  }

  // Every request of the expired session gets here; the first opens the new one, the others wait for it.
  #newSession(conversation: Conversation): Promise<Established> {
    this.#reopening ??= this.#reopen(async () => {
      const { settings } = this.#options;
      const { offered } = this.established;
      const options = { ...settings, timeoutMs: settings.connectTimeoutMs, offered, signal: this.#closing.signal };
      const { revision, facts } = await handshake(conversation, options);
      return { ...facts, offered, conversation, revision };
    });
    return this.#reopening;
  }

  #ended(error: LocalError, conversation: Conversation): void {
    if (this.#goneBy !== undefined || this.#established?.conversation !== conversation) return;
    const { reconnect } = this.#options;
    const wanted =
      reconnect !== false && (reconnect !== undefined || ["stdio", "sse"].includes(conversation.link.kind));
    if (!wanted || this.#tooOften()) return void this.close(error);
    this.#options.events.warn(`${error.message} Connecting again.`);
    void this.#reconnected(error, reconnect ?? {});
  }

  async #reconnected(error: LocalError, options: ReconnectOptions): Promise<void> {
    const reopening = this.#reopen(() => this.#again(error, options));
    this.#reopening = reopening;
    try {
      await reopening;
    } catch (reason) {
      await this.close(reason as LocalError);
    }
  }

  #tooOften(): boolean {
    const now = performance.now();
    this.#restarts = this.#restarts.filter((at) => now - at < RESTART_WINDOW_MS);
    this.#restarts.push(now);
    return this.#restarts.length > MOST_RESTARTS;
  }

  async #reopen(open: () => Promise<Established>): Promise<Established> {
    try {
      const established = await open();
      this.#established = established;
      this.#reopening = undefined;
      this.#options.events.reopened();
      return established;
    } finally {
      this.#reopening = undefined;
    }
  }

  async #again(first: LocalError, { attempts = ATTEMPTS, delayMs = DELAY_MS }: ReconnectOptions): Promise<Established> {
    let last = first;
    for (let attempt = 0; attempt < attempts; attempt++) {
      await pause(restartDelay(attempt + 1, { firstMs: delayMs }), this.#closing.signal);
      if (this.#closing.signal.aborted) throw new LocalError("CLOSED", "The client was closed");
      try {
        return await this.#establish(this.#closing.signal);
      } catch (error) {
        last = error as LocalError;
      }
    }
    throw new LocalError(last.code, `${last.message} Gave up after ${attempts} attempts to connect again.`, {
      cause: last,
    });
  }
}

function bound(events: WireEvents): Omit<ConversationEvents, "ended"> {
  return {
    asked: (message, carrier, conversation) => events.asked(message, carrier, conversation),
    notified: (method, params, conversation) => events.notified(method, params, conversation),
    noise: (line) => events.noise(line),
  };
}

function neutral(error: unknown, { method, params }: Sending, { link }: Conversation): unknown {
  if (error instanceof RpcError) {
    // Some servers answer a cancelled request, with this code.
    if (error.code !== McpErrorCode.RequestCancelled) return readError(method, params, error);
    const text = `${method} was cancelled by the server: ${peerWords(error.message)}`;
    return new LocalError("CANCELLED", text, { cause: error });
  }
  const troubles = error instanceof LocalError && error.code === "TIMEOUT" ? link.troubles?.() : undefined;
  return troubles ? new LocalError("TIMEOUT", (error as Error).message + troubles, { cause: error }) : error;
}

/** What is being opened anew, if that comes about within the time of the request that waits for it. */
async function inTime(reopening: Promise<Established>, { method, timeoutMs, signal }: Sending): Promise<Established> {
  const over = new AbortController();
  const either = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
  try {
    const opened = await Promise.race([reopening, pause(timeoutMs, either)]);
    if (opened !== undefined) return opened;
  } finally {
    over.abort();
  }
  if (signal?.aborted) throw new LocalError("CANCELLED", `${method} was cancelled`, { cause: signal.reason });
  throw new LocalError(
    "TIMEOUT",
    `${method} was not sent: the server could not be reached again within ${timeoutMs} ms`,
  );
}

// What keeps one subscription alive, in whichever era.

export interface Keeper {
  start(): void;
  /** A new session or process has replaced the old one. */
  reopened(): void;
  /** Whether a change that came under this subscription id is for it. */
  accepts(id: unknown): boolean;
  acknowledged(id: unknown, honoured: JsonObject): void;
  /** The server ended it. */
  cancelled(id: RequestId): void;
  stop(): Promise<void>;
}

// Waits for a while, or until a signal says otherwise.

// Longer delays overflow the timer of every runtime and would fire at once.
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after the delay, or when the signal is aborted. Leaves no timer and no listener. */
export function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(delayMs, LONGEST_MS));
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}
