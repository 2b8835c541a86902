// A handshake-era session: the caller that lasts as long as its conversation, and what a server's author meets of it.
import type { Caller, Later } from "../endpoint/call.js";
import type { Codec } from "../era/codec.js";
import { type Handshake, codecFor } from "../era/select.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import { levelIndex, type LoggingLevel } from "../protocol/features/lifecycle.js";
import type { Root } from "../protocol/features/elicitation.js";
import type { Subscription } from "./subscription.js";
import { type Awaitable, isThenable, type JsonObject, notificationText } from "../jsonrpc/message.js";
import type { FormFields } from "../protocol/elicitation-form.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "../protocol/features/sampling.js";
import type { StandardSchema } from "../schema/standard-schema.js";
import { levelOf, type LogMessage, requireOwnMethod } from "../endpoint/progress.js";
import type { AskOptions, ElicitInput, FormAnswer, SchemaAnswer, SchemaForm } from "./ask.js";

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
  readonly lasting = true;
  readonly codec: Codec;
  readonly capabilities: ClientCapabilities;
  readonly client: Implementation | undefined;
  logLevel: number = levelIndex(DEFAULT_LEVEL);
  subscription: Subscription | undefined;
  /** When it was opened, where that is measured: on Node the clock is loaded with its first use, which every start would wait for. */
  readonly #opened: number | undefined;
  /** The client's roots until it says that they changed. */
  roots: Promise<readonly Root[]> | undefined;

  /** Told when the client says that its roots are others. */
  rootsHandlers: Set<() => void> | undefined;

  /** Told when its level or what it is subscribed to is another. */
  changed: (() => void) | undefined;

  /** The session whose place this one takes once its handshake is answered. */
  previous: Session | undefined;

  constructor(
    handshake: Handshake,
    { measured, previous }: { readonly measured: boolean; readonly previous?: Session },
  ) {
    this.#opened = measured ? performance.now() : undefined;
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
    const { codec, client, subscription } = this;
    const transport = subscription?.carrier.kind ?? "";
    const now = performance.now();
    return { revision: codec.revision.date, client, transport, durationMs: now - (this.#opened ?? now) };
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

// Log messages to one reader: bounded, so that a chatty handler cannot flood a client that does not read.

/** Messages that may wait for a slow reader; further ones are counted and the count is told when it catches up. */
const WAITING_MESSAGES = 100;

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

// A session of the handshake era while it is open, as a server's author meets it: what can be told and asked between requests.

/** What questions are made of. */
export type QuestionCode = typeof import("./ask.js");

/** Told of each session once its client is ready; what it returns is called when the session is over. */
export type OnSession = (session: LiveSession) => Awaitable<(() => void) | void>;

/** What an author wants to be told of sessions. */
export interface SessionHooks {
  readonly onSession: OnSession | undefined;
  readonly onSessionEnd: ((ended: EndedSession) => void) | undefined;
}

/** What sessions need of their server. */
interface SessionHost {
  readonly limits: { readonly askTimeoutMs: number };
  readonly questions: Later<QuestionCode>;
  /** Runs what an author wrote: failures, later ones too, are reported. */
  guarded<T>(what: string, run: () => T): T | undefined;
}

/**
 * One open session, in which the client can be told and asked something outside of any request. Clients of 2026-07-28 open none:
 * what a server wants of them it asks within a request. A session that several processes serve is a session of its own in each.
 */
export interface LiveSession {
  /** Its name in this process. No client is told it. */
  readonly id: string;
  /** Date of the revision it speaks. */
  readonly revision: string;
  /** What the client calls itself: to show, not to decide by. */
  readonly client: Implementation | undefined;
  /** What the client can be asked. */
  readonly clientCapabilities: ClientCapabilities;
  /** Who opened it, when the transport knows. */
  readonly principal: string | undefined;
  /** How its bytes travel: "stdio", "memory", "http", "sse". */
  readonly transport: string;
  /** Aborted when the session is over. */
  readonly signal: AbortSignal;
  /** Sends a log message, if the session's level admits it; what is not read fast enough is dropped, and counted. Throws BAD_LEVEL. */
  log(level: LoggingLevel, data: unknown, logger?: string): void;
  /** Sends a notification of your own. Throws RESERVED for one of the specification's. */
  notify(method: string, params?: object): void;
  /** Asks the person, as `ctx.elicit` does. Rejects with CANNOT_ASK where this process cannot reach the session. */
  elicit<S extends StandardSchema>(input: SchemaForm<S>, options?: AskOptions): Promise<SchemaAnswer<S>>;
  elicit<const F extends FormFields>(input: ElicitInput<F>, options?: AskOptions): Promise<FormAnswer<F>>;
  /** Asks the client's model, as `ctx.sample` does. */
  sample(params: CreateMessageRequestParams, options?: AskOptions): Promise<CreateMessageResult>;
  /** The client's roots, kept until it says that they changed. */
  roots(options?: AskOptions): Promise<readonly Root[]>;
  /** Calls `handler` each time the client says that its roots are others. Returns what stops that. */
  onRootsChanged(handler: () => Awaitable<void>): () => void;
}

/** A session as its conversation knows it. */
class OpenSession implements LiveSession {
  readonly #session: Session;
  readonly #host: SessionHost;
  readonly #logs = new LogGate();
  /** Made when they are asked for, which few authors do: Node loads what makes them with the first use. */
  #id: string | undefined;
  #controller: AbortController | undefined;
  #over = false;

  constructor(session: Session, host: SessionHost) {
    this.#session = session;
    this.#host = host;
  }

  /** Ends a session: its signal is aborted. */
  static end(session: OpenSession): void {
    session.#over = true;
    session.#abort();
  }

  static isOver(session: OpenSession): boolean {
    return session.#over;
  }

  get id(): string {
    return (this.#id ??= crypto.randomUUID());
  }

  get revision(): string {
    return this.#session.codec.revision.date;
  }

  get client(): Implementation | undefined {
    return this.#session.client;
  }

  get clientCapabilities(): ClientCapabilities {
    return this.#session.capabilities;
  }

  get principal(): string | undefined {
    return this.#session.subscription?.carrier.principal;
  }

  get transport(): string {
    return this.#session.subscription?.carrier.kind ?? "";
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#over) this.#abort();
    }
    return this.#controller.signal;
  }

  #abort(): void {
    this.#controller?.abort(new DOMException("The session is over", "AbortError"));
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void {
    const index = levelOf(level);
    const { subscription, logLevel } = this.#session;
    if (subscription === undefined || index < logLevel) return;
    this.#logs.send(subscription, { level, ...(logger === undefined ? {} : { logger }), data });
  }

  notify(method: string, params: object = {}): void {
    requireOwnMethod(method, params);
    const carrier = this.#session.subscription?.carrier;
    if (carrier !== undefined && !carrier.closed) void carrier.write(notificationText(method, params), "notification");
  }

  elicit<S extends StandardSchema>(input: SchemaForm<S>, options?: AskOptions): Promise<SchemaAnswer<S>>;
  elicit<const F extends FormFields>(input: ElicitInput<F>, options?: AskOptions): Promise<FormAnswer<F>>;
  async elicit(input: ElicitInput<FormFields> | SchemaForm<StandardSchema>, options?: AskOptions): Promise<unknown> {
    return this.#host.questions.use(({ elicited }) =>
      elicited(input, (params) => this.#ask("elicitation/create", params, options)),
    );
  }

  async sample(params: CreateMessageRequestParams, options?: AskOptions): Promise<CreateMessageResult> {
    return this.#host.questions.use(async ({ readSample, sampleParams }) =>
      readSample(await this.#ask("sampling/createMessage", await sampleParams(params), options)),
    );
  }

  async roots(options?: AskOptions): Promise<readonly Root[]> {
    return this.#host.questions.use(({ rootsOutside }) => rootsOutside(this.#from, options));
  }

  onRootsChanged(handler: () => Awaitable<void>): () => void {
    const told = (): void => void this.#host.guarded("onRootsChanged", handler);
    const handlers = (this.#session.rootsHandlers ??= new Set());
    handlers.add(told);
    return () => void handlers.delete(told);
  }

  async #ask(method: string, params: object, options?: AskOptions): Promise<JsonObject> {
    return this.#host.questions.use(({ askOutside }) => askOutside(this.#from, method, params, options));
  }

  get #from(): { readonly session: Session; readonly signal: AbortSignal; readonly timeoutMs: number } {
    return { session: this.#session, signal: this.signal, timeoutMs: this.#host.limits.askTimeoutMs };
  }
}

/** The sessions of one server that are open. */
export class LiveSessions {
  readonly #host: SessionHost;
  readonly #onSession: OnSession | undefined;
  readonly #onSessionEnd: ((ended: EndedSession) => void) | undefined;
  readonly #known = new WeakMap<Session, OpenSession>();
  readonly #open = new Set<OpenSession>();

  constructor(host: SessionHost, hooks: SessionHooks) {
    this.#host = host;
    this.#onSession = hooks.onSession;
    this.#onSessionEnd = hooks.onSessionEnd;
  }

  /** Those whose clients are ready, in the order in which they were. */
  get all(): readonly LiveSession[] {
    return [...this.#open];
  }

  of(session: Session): OpenSession {
    let live = this.#known.get(session);
    if (live === undefined) this.#known.set(session, (live = new OpenSession(session, this.#host)));
    return live;
  }

  /** Its client has said that it is ready. */
  ready(session: Session): void {
    const live = this.of(session);
    if (this.#open.has(live) || OpenSession.isOver(live)) return;
    this.#open.add(live);
    const onSession = this.#onSession;
    if (onSession === undefined) return;
    const finish = (over: unknown): void => {
      if (typeof over !== "function") return;
      const run = (): void => this.#host.guarded("What onSession returned", over as () => void);
      if (OpenSession.isOver(live)) run();
      else live.signal.addEventListener("abort", run, { once: true });
    };
    const returned = this.#host.guarded("onSession", () => onSession(live));
    if (isThenable(returned)) void Promise.resolve(returned).then(finish, () => undefined);
    else finish(returned);
  }

  /** Whatever ended it. */
  ended(session: Session): void {
    const live = this.#known.get(session);
    if (live !== undefined) {
      this.#open.delete(live);
      OpenSession.end(live);
    }
    const told = this.#onSessionEnd;
    if (told !== undefined) this.#host.guarded("onSessionEnd", () => told(session.end()));
  }
}
