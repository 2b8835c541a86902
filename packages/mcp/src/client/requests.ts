// Sends what the server says it serves, and answers what it asks back before it answers.
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import { pause, type Wire } from "./wire.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { ElicitResult } from "../protocol/features/elicitation.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { HeaderArgument } from "../era/codec.js";
import type { CallOptions, Settings } from "./options.js";
import type { Sending } from "./conversation.js";
import type { LogRing } from "./log-ring.js";
import type { Questions } from "./questions.js";

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
    const pages = Array.isArray(elicitations) ? elicitations.filter(isJsonObject) : [];
    return pages.length > 0 && pages.length <= MOST_PAGES ? pages : undefined;
  }

  /** Whether the person agreed to all pages and is done with them, or may be. */
  async visited(pages: readonly JsonObject[], { agrees, patienceMs, signal }: PageAsker): Promise<boolean> {
    for (const page of pages) {
      const id = page["elicitationId"];
      const done = new AbortController();
      if (typeof id === "string") this.#open.set(id, done);
      try {
        if (!(await agrees({ ...page, mode: "url" }))) return false;
        const either = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
        await pause(patienceMs, either);
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
  readonly onSent?: Sending["onSent"];
  readonly outlives?: Sending["outlives"];
}

export class Requests {
  /** The level asked for in each request, where there is no session to remember it. */
  logLevel: LoggingLevel | undefined;
  readonly pages: OpenPages = new OpenPages();
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
    const text = `${what} was not sent: ${server.name} did not declare the capability "${capability}" (it declared ${declared}).`;
    throw new LocalError("NOT_SUPPORTED", text);
  }

  /** Resolves with the complete neutral result, or one that announces a task. */
  async run(method: string, params: JsonObject | undefined, options: SendOptions = NO_OPTIONS): Promise<JsonObject> {
    const result = await this.#sent(method, params, options);
    // A session asks by requests of its own; of methods nobody knows this member may mean anything.
    const asks = this.#wire.established.revision.era === "stateless" && result["resultType"] === "input_required";
    return asks ? this.#rounds(method, params, { options, result }) : result;
  }

  /** Whether a result may be kept for others: it may not when questions led to it. */
  mayBeKept(result: JsonObject): boolean {
    return !this.#afterQuestions.has(result);
  }

  /** Answers each question of a round, one after the other: a person can only look at one. */
  async answers(inputRequests: unknown, signal: AbortSignal | undefined): Promise<JsonObject> {
    const entries = Object.entries(isJsonObject(inputRequests) ? inputRequests : {});
    if (entries.length > MOST_QUESTIONS) {
      throw new LocalError(
        "LIMIT",
        `The server asked ${entries.length} questions at once, at most ${MOST_QUESTIONS} are answered`,
      );
    }
    const answers: [string, object][] = [];
    for (const [key, question] of entries) answers.push([key, await this.#answer(question, signal)]);
    return Object.fromEntries(answers);
  }

  // A page that has to be seen first is shown, and the request sent once more: it surely did not run.
  async #sent(method: string, params: JsonObject | undefined, options: SendOptions): Promise<JsonObject> {
    try {
      return await this.#send(method, params, options);
    } catch (error) {
      const { rules } = this.#wire.established.revision;
      const known = error instanceof RpcError && rules.urlElicitationRequired;
      const pages = known ? this.pages.demanded(error) : undefined;
      if (pages === undefined) throw error;
      const { signal, timeoutMs: patienceMs = this.#settings.timeoutMs } = options;
      const agrees = (asked: JsonObject): Promise<boolean> => this.#agrees(asked, signal);
      if (!(await this.pages.visited(pages, { agrees, patienceMs, signal }))) throw error;
      return this.#send(method, params, options);
    }
  }

  async #agrees(params: JsonObject, signal: AbortSignal = NEVER): Promise<boolean> {
    const { server, conversation } = this.#wire.established;
    const about = { signal, server, declared: conversation.codec.capabilities };
    try {
      const answer = (await this.#questions.answer("elicitation/create", params, about)) as ElicitResult;
      return answer.action === "accept";
    } catch {
      return false;
    }
  }

  #send(method: string, params: JsonObject | undefined, options: SendOptions): Promise<JsonObject> {
    const { timeoutMs = this.#settings.timeoutMs, maxTimeoutMs = this.#settings.maxTimeoutMs } = options;
    const { signal, meta, mirrored, tasks, logLevel = this.logLevel } = options;
    const onProgress = options.onProgress === undefined ? undefined : guarded(options.onProgress, this.#warn);
    const sent = meta === undefined ? params : { ...params, _meta: meta };
    const extras = logLevel === undefined && tasks === undefined ? undefined : { logLevel, tasks };
    const { onSent, outlives } = options;
    const how = { timeoutMs, maxTimeoutMs, signal, onProgress, extras, mirrored, onSent, outlives };
    const answer = this.#wire.send({ method, params: sent, ...how });
    return options.logLevel === undefined ? answer : answer.finally(this.#logs.also(options.logLevel));
  }

  async #rounds(
    method: string,
    params: JsonObject | undefined,
    { options, result }: { options: SendOptions; result: JsonObject },
  ): Promise<JsonObject> {
    let asked = result;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { inputRequests, requestState } = asked;
      const inputResponses = await this.answers(inputRequests, options.signal);
      if (inputRequests === undefined) await pause(ROUND_PAUSE_MS, options.signal);
      const replies = inputRequests === undefined ? {} : { inputResponses };
      const state = requestState === undefined ? {} : { requestState };
      asked = await this.#send(method, { ...params, ...replies, ...state }, options);
      if (asked["resultType"] === "input_required") continue;
      this.#afterQuestions.add(asked);
      return asked;
    }
    throw new LocalError("LIMIT", `${method} asked back ${MOST_ROUNDS} times without an answer; it was given up`);
  }

  async #answer(question: unknown, signal: AbortSignal = NEVER): Promise<object> {
    const { method, params } = isJsonObject(question) ? question : {};
    if (typeof method !== "string")
      throw new LocalError("INVALID_RESPONSE", "A question of the server names no method");
    const { server, conversation } = this.#wire.established;
    const { codec } = conversation;
    try {
      const about = { signal, server, declared: codec.capabilities };
      const answer = await this.#questions.answer(method, isJsonObject(params) ? params : {}, about);
      return codec.answer(method, answer);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      // There is no way to tell the server: the call simply ends here.
      throw new LocalError("REFUSED", `The server asked ${method} in return, which was refused: ${error.message}`, {
        cause: error,
      });
    }
  }
}

/** What a caller's function throws must not end up where messages are read. */
export function guarded<T>(told: (value: T) => void, warn: (text: string) => void): (value: T) => void {
  return (value) => {
    try {
      told(value);
    } catch (error) {
      warn(`A function given to the client has thrown: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
}

const NEVER = new AbortController().signal;
