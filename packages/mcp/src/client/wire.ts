// The way to one server for as long as the client lives: sends requests, mends what can be mended, answers what is asked back.
import { isWebAddress } from "../protocol/method.js";
import { clientCodec, readError } from "./versions.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject, peerWords } from "../jsonrpc/message.js";
import { cancelled, pause, restartDelay, type Stop } from "../jsonrpc/outgoing.js";
import type { LogRing } from "./server-watch.js";
import { McpErrorCode } from "../protocol/meta.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { Answers, CallOptions, Dialer, ReconnectOptions, SentRequest, Settings } from "./options.js";
import { through } from "./options.js";
import {
  type Conversation,
  type ConversationEvents,
  type Sending,
  type Established,
  supportedVersions,
} from "./conversation.js";
import { Establishing, handshake } from "./negotiate.js";
import type { ElicitResult } from "../protocol/features/elicitation.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { HeaderArgument } from "../era/codec.js";
import { OpenCalls, OpenQuestions, Questions, QuestionOf } from "./questions.js";

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

/** The word of the error for a session that its server does not know any more. */
const EXPIRED = "SESSION_EXPIRED";
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
  /** Aborted as soon as the client is being closed. */
  readonly closing: AbortSignal = this.#closing.signal;
  #established: Established | undefined;
  #reopening: Promise<Established> | undefined;
  #restarts: number[] = [];
  #goneBy: LocalError | undefined;
  /** Requests that wait for their answer. */
  #underWay = 0;
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
    return revision.era === "stateless" && conversation.transport.kind === "http";
  }

  get conversation(): Conversation {
    return this.established.conversation;
  }

  /** Connects. Rejects with a ConnectError. */
  async open(signal?: AbortSignal): Promise<void> {
    this.#established = await this.#establish(eitherOf(signal, this.#closing));
  }

  /** Resolves with the neutral result. Rejects with an RpcError or a LocalError. */
  async send(sending: Sending): Promise<JsonObject> {
    this.#underWay++;
    try {
      return await this.#sent(sending);
    } finally {
      // Calls that the session still answers are not cut off by one for which it was over.
      if (--this.#underWay === 0 && this.#goneBy?.code === EXPIRED) void this.close(this.#goneBy);
    }
  }

  async #sent(sending: Sending): Promise<JsonObject> {
    const { method } = sending;
    for (let retried = false; ; retried = true) {
      const { conversation } =
        this.#reopening === undefined ? this.#usable(method) : await inTime(this.#reopening, sending);
      try {
        return conversation.codec.readResult(method, await conversation.request(sending));
      } catch (error) {
        if (retried || !(await this.#mended(error, conversation, sending.once === true)))
          throw neutral(error, sending, conversation);
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
    throw new LocalError(code, `${method} was not sent: ${message}`, { cause: this.#goneBy, unsent: true });
  }

  #establish(signal: AbortSignal): Promise<Established> {
    const { settings, events } = this.#options;
    const ended = (error: LocalError, conversation: Conversation): void => this.#ended(error, conversation);
    return new Establishing(this.#dialer, { ...settings, events: { ...bound(events), ended }, signal }).run();
  }

  // Only what by the protocol has not run is sent again, a request refused with its session or for its version; never what is to be
  // sent once: a server may say so of what it served. Without `reconnect` the end of a session is the end of all.
  async #mended(error: unknown, conversation: Conversation, once: boolean): Promise<boolean> {
    const { reconnect } = this.#options;
    if (error instanceof LocalError && error.code === EXPIRED) {
      if (reconnect === false) return ((this.#goneBy ??= error), false);
      const renewed = this.#established?.conversation === conversation ? this.#newSession(conversation) : undefined;
      if (!once || error.unsent) return (await renewed, true);
      return false;
    }
    const { revision } = this.established;
    if (!(error instanceof RpcError) || error.code !== McpErrorCode.UnsupportedProtocolVersion) return false;
    if (reconnect === false) return false;
    const mutual = this.#options.settings.versions.mutual("stateless", supportedVersions(error.data) ?? []);
    if (mutual === undefined || revision.era !== "stateless") return false;
    conversation.speak(clientCodec(mutual, this.#options.settings.identity));
    this.#established = { ...this.established, revision: mutual };
    return !once;
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
    // What is sent once does not wait for it.
    this.#reopening.catch(() => undefined);
    return this.#reopening;
  }

  #ended(error: LocalError, conversation: Conversation): void {
    if (this.#goneBy !== undefined || this.#established?.conversation !== conversation) return;
    const { reconnect } = this.#options;
    const wanted =
      reconnect !== false && (reconnect !== undefined || ["stdio", "sse"].includes(conversation.transport.kind));
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

function neutral(error: unknown, { method, params }: Sending, { transport }: Conversation): unknown {
  if (error instanceof RpcError) {
    // Some servers answer a cancelled request, with this code.
    if (error.code !== McpErrorCode.RequestCancelled) return readError(method, params, error);
    const text = `${method} was cancelled by the server: ${peerWords(error.message)}`;
    return new LocalError("CANCELLED", text, { cause: error });
  }
  const { code, message } = error as LocalError;
  const troubles = code === "TIMEOUT" ? (transport.troubles?.() ?? "") : "";
  // Of one whose connection ended.
  const told = message.replace(" answered:", " answered, and may have been served:") + troubles;
  return told === message ? error : new LocalError(code, told, { cause: error });
}

function eitherOf(signal: AbortSignal | undefined, own: AbortController): AbortSignal {
  return signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
}

/** What is being opened anew, if that comes about within the time of the request that waits for it. */
async function inTime(
  reopening: Promise<Established>,
  { method, timeoutMs, ...sending }: Sending,
): Promise<Established> {
  const signal = sending.stop?.signal ?? sending.signal;
  const over = new AbortController();
  try {
    const opened = await Promise.race([reopening, pause(timeoutMs, eitherOf(signal, over))]);
    if (opened !== undefined) return opened;
  } finally {
    over.abort();
  }
  if (signal?.aborted) throw cancelled(method, signal.reason);
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
  cancelled(id: unknown): void;
  stop(): Promise<void>;
}

// Takes the person to the pages a 2025-11-25 server wants seen before it serves a request, and waits until they were.

/** Pages a person can be asked to open for one request. */
const MOST_PAGES = 5;

/** What asking takes. */
interface PageAsker {
  /** Whether the person agreed to open the page. */
  agrees(params: JsonObject): Promise<boolean>;
  /** Milliseconds to wait for word that a page is done with; servers need not send any. */
  readonly patienceMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Remembers which pages somebody waits for. */
class OpenPages {
  readonly #open = new Map<string, AbortController>();

  /** The pages an error demands; undefined for every other error. */
  demanded(error: RpcError): readonly JsonObject[] | undefined {
    if (error.code !== McpErrorCode.UrlElicitationRequired || !isJsonObject(error.data)) return undefined;
    const { elicitations } = error.data;
    const pages: readonly unknown[] = Array.isArray(elicitations) ? elicitations : [];
    // Of a list with something else in it than pages nobody is asked anything.
    return pages.length > 0 && pages.length <= MOST_PAGES && pages.every(isPage) ? pages : undefined;
  }

  /** Whether the person agreed to all pages and is done with them, or may be. */
  async visited(pages: readonly JsonObject[], { agrees, patienceMs, signal }: PageAsker): Promise<boolean> {
    for (const page of pages) {
      const id = page["elicitationId"];
      const done = new AbortController();
      if (typeof id === "string") this.#open.set(id, done);
      try {
        if (!(await agrees({ ...page, mode: "url" }))) return false;
        await pause(patienceMs, eitherOf(signal, done));
      } finally {
        if (typeof id === "string") this.#open.delete(id);
      }
    }
    return true;
  }

  /** The server says that the person is done with a page. Ids nobody waits for mean nothing. */
  completed({ elicitationId }: JsonObject): void {
    this.#open.get(elicitationId as string)?.abort();
  }
}

/** A question a server asks may lead to the next; one that never comes to an end is stopped here. */
const MOST_ROUNDS = 10;
/** A server that only wants to be asked again is not asked more often. */
const ROUND_PAUSE_MS = 250;
/** Questions in one round. */
const MOST_QUESTIONS = 20;

const NO_OPTIONS: SendOptions = {};

/** What a caller says about a request, and what its method says. */
export interface SendOptions extends CallOptions {
  readonly mirrored?: readonly HeaderArgument[] | undefined;
  /** The request declares the tasks extension. */
  readonly tasks?: boolean;
  /** Ends the request in place of `signal`. */
  readonly stop?: Stop;
  readonly onSent?: Sending["onSent"];
  readonly taker?: Sending["taker"];
  /** The same, of an answer that no middleware sees. */
  readonly unseenTaker?: Sending["taker"];
  /** Sent once, whatever the server says became of it. */
  readonly once?: boolean;
  /** Whoever answers its questions ends the wait for them in time: no timer is kept for that. */
  readonly bounded?: boolean;
}

export class Requests {
  /** The level asked for in each request, where there is no session to remember it. */
  logLevel: LoggingLevel | undefined;
  readonly pages: OpenPages = new OpenPages();
  readonly openCalls: OpenCalls = new OpenCalls();
  readonly #wire: Wire;
  readonly #questions: Questions;
  readonly #settings: Settings;
  readonly #logs: LogRing;
  readonly #warn: (text: string) => void;
  /** Results that were answers to answers: they hold for this once. */
  readonly #afterQuestions = new WeakSet<JsonObject>();

  constructor(
    wire: Wire,
    questions: Questions,
    { settings, logs, warn }: { settings: Settings; logs: LogRing; warn(text: string): void },
  ) {
    this.#warn = warn;
    this.#logs = logs;
    this.#wire = wire;
    this.#questions = questions;
    this.#settings = settings;
  }

  /** Throws NOT_SUPPORTED when the server did not declare a capability. */
  gate(capability: keyof ServerCapabilities, what: string): void {
    const { capabilities, server } = this.#wire.established;
    if (capabilities[capability] !== undefined) return;
    const declared = Object.keys(capabilities).join(", ") || "none";
    const text = `${what} was not sent: ${peerWords(server.name)} did not declare the capability "${capability}" (it declared ${declared}).`;
    throw new LocalError("NOT_SUPPORTED", text);
  }

  /** Resolves with the complete neutral result, or one that announces a task. */
  run(method: string, params: JsonObject | undefined, options: SendOptions = NO_OPTIONS): Promise<JsonObject> {
    const { middleware } = this.#settings;
    if (middleware.length === 0) return this.#run(method, params, options);
    const request: SentRequest = { method, params };
    return through(middleware, request, () =>
      this.#run(method, request.params, { ...options, unseenTaker: undefined }),
    );
  }

  async #run(method: string, params: JsonObject | undefined, options: SendOptions): Promise<JsonObject> {
    let result = await this.#sent(method, params, options);
    // A session asks by requests of its own; of methods nobody knows this member may mean anything.
    const asks = this.#wire.established.revision.era === "stateless" && result["resultType"] === "input_required";
    if (!asks || options.round !== undefined) return result;
    const { bounded, maxTimeoutMs = this.#settings.maxTimeoutMs } = options;
    const withinMs = bounded ? undefined : maxTimeoutMs;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { requestState } = result;
      const asks = result["inputRequests"] !== undefined;
      const answers = this.answers(result["inputRequests"], options, withinMs);
      // Not kept while somebody thinks.
      result = {};
      const inputResponses = await answers;
      if (!asks) await pause(ROUND_PAUSE_MS, signalOf(options));
      const replies = asks ? { inputResponses } : {};
      const state = requestState === undefined ? {} : { requestState };
      result = await this.#send(method, { ...params, ...replies, ...state }, options);
      if (result["resultType"] === "input_required") continue;
      this.#afterQuestions.add(result);
      return result;
    }
    throw unanswered("LIMIT", `it asked back ${MOST_ROUNDS} times`);
  }

  /** Whether a result may be kept for others: it may not when questions led to it. */
  mayBeKept(result: JsonObject): boolean {
    return !this.#afterQuestions.has(result);
  }

  /** Answers each question of a round, one after the other: a person can only look at one. `withinMs`: no longer than that. */
  answers(inputRequests: unknown, options: SendOptions = NO_OPTIONS, withinMs?: number): Promise<JsonObject> {
    const open = new OpenQuestions(options, this.#wire.closing, withinMs);
    const about = new QuestionOf(this.#wire.established.server, open);
    return open.until(this.#answers(inputRequests, about, options.answers));
  }

  #answers(inputRequests: unknown, about: QuestionOf, from: Answers | undefined): Promise<JsonObject> {
    const entries = Object.entries(isJsonObject(inputRequests) ? inputRequests : {});
    const { length } = entries;
    if (length > MOST_QUESTIONS) {
      const text = `The server asked ${length} questions at once, at most ${MOST_QUESTIONS} are answered`;
      return Promise.reject(new LocalError("LIMIT", text));
    }
    const [only] = entries;
    // Most ask one thing: it alone is kept while it waits.
    if (only !== undefined && length === 1) return this.#answer(only, about, from);
    return this.#several(entries, about, from);
  }

  async #several(entries: [string, unknown][], about: QuestionOf, from: Answers | undefined): Promise<JsonObject> {
    const answers: JsonObject[] = [];
    const one = (entry: [string, unknown]): Promise<JsonObject> => this.#answer(entry, about, from);
    // Whoever answers for this one call may pass them all on at once; a person here is asked one thing after the other.
    if (from !== undefined) answers.push(...(await Promise.all(entries.map(one))));
    else for (const entry of entries) answers.push(await one(entry));
    return answers.reduce((all, each) => ({ ...all, ...each }), {});
  }

  // A page that has to be seen first is shown, and the request sent once more: it surely did not run.
  async #sent(method: string, params: JsonObject | undefined, options: SendOptions): Promise<JsonObject> {
    try {
      return await this.#send(method, params, options);
    } catch (error) {
      const { rules } = this.#wire.established.revision;
      const known = error instanceof RpcError && rules.urlElicitationRequired && !options.answers?.named;
      const pages = known ? this.pages.demanded(error) : undefined;
      if (pages === undefined) throw error;
      const { timeoutMs: patienceMs = this.#settings.timeoutMs } = options;
      const signal = signalOf(options);
      const agrees = (asked: JsonObject): Promise<boolean> => this.#agrees(asked, options);
      if (!(await this.pages.visited(pages, { agrees, patienceMs, signal }))) throw error;
      return this.#send(method, params, options);
    }
  }

  async #agrees(params: JsonObject, options: SendOptions): Promise<boolean> {
    const signal = signalOf(options) ?? NEVER;
    const { answers } = options;
    const { server, conversation } = this.#wire.established;
    try {
      const declared = conversation.codec.capabilities;
      const asked = this.#asked(answers).answer("elicitation/create", params, { signal, server }, declared);
      const answer = (await asked) as ElicitResult;
      return answer.action === "accept";
    } catch {
      return false;
    }
  }

  #send(method: string, params: JsonObject | undefined, options: SendOptions): Promise<JsonObject> {
    const { timeoutMs = this.#settings.timeoutMs, maxTimeoutMs = this.#settings.maxTimeoutMs } = options;
    const { stop, meta, mirrored, tasks, logLevel = this.logLevel, signal, once } = options;
    const taker = options.taker ?? options.unseenTaker;
    const onProgress = options.onProgress === undefined ? undefined : guarded(options.onProgress, this.#warn);
    const brought = options.round === undefined ? params : { ...params, ...options.round };
    const sent = meta === undefined ? brought : { ...brought, _meta: meta };
    const extras = logLevel === undefined && tasks === undefined ? undefined : { logLevel, tasks };
    const onSent = this.#noting(options);
    const how = { timeoutMs, maxTimeoutMs, signal, stop, onProgress, extras, mirrored, onSent, taker, once };
    const answer = this.#wire.send({ method, params: sent, ...how });
    return options.logLevel === undefined ? answer : answer.finally(this.#logs.also(options.logLevel));
  }

  /** Keeps a call that answers for itself among those under way, until its answer is there. */
  #noting(options: SendOptions): Sending["onSent"] {
    const { onSent, onRequest, answers, onLog } = options;
    const hears = answers !== undefined || onLog !== undefined;
    if (!hears && onRequest === undefined) return onSent;
    return (id, answered) => {
      onRequest?.(id);
      onSent?.(id, answered);
      if (!hears) return;
      this.openCalls.add(id, options);
      const over = (): void => this.openCalls.delete(id);
      answered.then(over, over);
    };
  }

  #asked(answers: Answers | undefined): Questions {
    return answers === undefined ? this.#questions : new Questions(answers);
  }

  /** The answer under the key of its question. */
  #answer([key, question]: [string, unknown], about: QuestionOf, from: Answers | undefined): Promise<JsonObject> {
    const { method, params } = isJsonObject(question) ? question : {};
    if (typeof method !== "string")
      return Promise.reject(unanswered("INVALID_RESPONSE", "its question names no method"));
    const { codec } = this.#wire.established.conversation;
    return this.#asked(from)
      .answer(method, isJsonObject(params) ? params : {}, about, codec.capabilities)
      .then(
        (answer) => ({ [key]: codec.answer(method, answer) }),
        (error) => {
          if (!(error instanceof RpcError)) throw error;
          // There is no way to tell the server: the call simply ends here.
          throw unanswered("REFUSED", `it asked ${method}, which was refused: ${error.message}`, { cause: error });
        },
      );
  }
}

/** The signal that ends a request; of one that has a `stop` it is made now. */
export function signalOf(options: SendOptions | undefined): AbortSignal | undefined {
  return options?.stop === undefined ? options?.signal : options.stop.signal;
}

function unanswered(code: string, brief: string, options?: { cause: unknown }): LocalError {
  return new LocalError(code, `The server got no answer: ${brief}`, { ...options, brief });
}

/** What a caller's function throws must not end up where messages are read. */
export function guarded<T>(told: (value: T) => void, warn: (text: string) => void): (value: T) => void {
  const failed = (error: unknown): void =>
    warn(`A function given to the client has thrown: ${error instanceof Error ? error.message : String(error)}`);
  return (value) => {
    try {
      // An async function fits the type as well: what it rejects with nobody else awaits, and that would end the process.
      const answer: unknown = told(value);
      if (answer instanceof Promise) answer.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}

const NEVER = new AbortController().signal;

function isPage(page: unknown): page is JsonObject {
  return isJsonObject(page) && isWebAddress(page["url"]);
}
