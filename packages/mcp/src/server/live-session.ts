// A session of the handshake era while it is open, as a server's author meets it: what can be told and asked between requests.
import type { Call } from "../endpoint/call.js";
import { LocalError } from "../jsonrpc/errors.js";
import { type Awaitable, isThenable, type JsonObject, notificationText } from "../jsonrpc/message.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import type { FormFields } from "../protocol/elicitation-form.js";
import type { Root } from "../protocol/features/elicitation.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "../protocol/features/sampling.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import type { StandardSchema } from "../schema/standard-schema.js";
import {
  type AskOptions,
  type ElicitInput,
  elicited,
  type FormAnswer,
  readRoots,
  readSample,
  requireCapability,
  sampleParams,
  type SchemaForm,
  type SchemaAnswer,
  WireAsker,
} from "./ask.js";
import { type EndedSession, levelOf, LogGate, type Session } from "./session.js";

/** Told of each session once its client is ready; what it returns is called when the session is over. */
export type OnSession = (session: LiveSession) => Awaitable<(() => void) | void>;

/** What sessions need of their server. */
interface SessionHost {
  readonly limits: { readonly askTimeoutMs: number };
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
  readonly id: string = crypto.randomUUID();
  readonly #session: Session;
  readonly #host: SessionHost;
  readonly #logs = new LogGate();
  readonly #controller = new AbortController();

  constructor(session: Session, host: SessionHost) {
    this.#session = session;
    this.#host = host;
  }

  /** Ends a session: its signal is aborted. */
  static end(session: OpenSession): void {
    session.#controller.abort(new DOMException("The session is over", "AbortError"));
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
    return this.#controller.signal;
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void {
    const index = levelOf(level);
    const { subscription, logLevel } = this.#session;
    if (subscription === undefined || index < logLevel) return;
    this.#logs.send(subscription, { level, ...(logger === undefined ? {} : { logger }), data });
  }

  notify(method: string, params: object = {}): void {
    requireOwnMethod(method);
    const carrier = this.#session.subscription?.carrier;
    if (carrier !== undefined && !carrier.closed) void carrier.write(notificationText(method, params), "notification");
  }

  elicit<S extends StandardSchema>(input: SchemaForm<S>, options?: AskOptions): Promise<SchemaAnswer<S>>;
  elicit<const F extends FormFields>(input: ElicitInput<F>, options?: AskOptions): Promise<FormAnswer<F>>;
  elicit(input: ElicitInput<FormFields> | SchemaForm<StandardSchema>, options?: AskOptions): Promise<unknown> {
    return elicited(input, (params) => this.#ask("elicitation/create", params, options));
  }

  async sample(params: CreateMessageRequestParams, options?: AskOptions): Promise<CreateMessageResult> {
    return readSample(await this.#ask("sampling/createMessage", sampleParams(params), options));
  }

  async roots(options?: AskOptions): Promise<readonly Root[]> {
    return this.#session.cachedRoots(async () => readRoots(await this.#ask("roots/list", {}, options)));
  }

  onRootsChanged(handler: () => Awaitable<void>): () => void {
    const told = (): void => void this.#host.guarded("onRootsChanged", handler);
    const handlers = (this.#session.rootsHandlers ??= new Set());
    handlers.add(told);
    return () => void handlers.delete(told);
  }

  async #ask(method: string, params: object, options?: AskOptions): Promise<JsonObject> {
    const session = this.#session;
    requireCapability({ caller: session }, method, params);
    const { subscription } = session;
    if (subscription === undefined || subscription.carrier.closed || this.signal.aborted) {
      throw new LocalError("CANNOT_ASK", `${method}: this process has no open connection to the session`);
    }
    const { connection, carrier } = subscription;
    const asking = { connection, carrier, caller: session, signal: this.signal, questionMeta: undefined };
    return new WireAsker(asking, this.#host.limits.askTimeoutMs).ask(method, params, options);
  }
}

/** The sessions of one server that are open. */
export class LiveSessions {
  readonly #host: SessionHost;
  readonly #onSession: OnSession | undefined;
  readonly #onSessionEnd: ((ended: EndedSession) => void) | undefined;
  readonly #known = new WeakMap<Session, OpenSession>();
  readonly #open = new Set<OpenSession>();

  constructor(
    host: SessionHost,
    hooks: {
      readonly onSession: OnSession | undefined;
      readonly onSessionEnd: ((ended: EndedSession) => void) | undefined;
    },
  ) {
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
    if (this.#open.has(live) || live.signal.aborted) return;
    this.#open.add(live);
    const onSession = this.#onSession;
    if (onSession === undefined) return;
    const finish = (over: unknown): void => {
      if (typeof over !== "function") return;
      const run = (): void => this.#host.guarded("What onSession returned", over as () => void);
      if (live.signal.aborted) run();
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

/** Notifications of the specification, in any revision: servers and clients send them by themselves. */
const KNOWN =
  /^notifications\/(?:message|progress|cancelled|initialized|resources\/updated|(?:resources|tools|prompts|roots)\/list_changed|elicitation\/complete|subscriptions\/acknowledged|tasks(?:\/status)?)$/;

/** Whether a method is an author's own, and not the specification's in any revision. */
export function isOwnMethod(method: string): boolean {
  return !KNOWN.test(method) && !REVISIONS.some((revision) => revision.methods.has(method));
}

/** Throws RESERVED for a method that is the specification's. */
export function requireOwnMethod(method: string): void {
  if (isOwnMethod(method)) return;
  throw new LocalError("RESERVED", `"${method}" is a method of the specification: use a name of your own`);
}

/** Sends a notification of an author's own within a request. */
export async function notifyOwn(call: Call, method: string, params: object): Promise<void> {
  requireOwnMethod(method);
  if (call.ended || call.cancellation !== undefined) return;
  await call.carrier.write(notificationText(method, params), "notification");
}
