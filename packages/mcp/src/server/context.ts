// What a handler may do besides returning: report progress, log, ask the client, look who is calling.
import type { Call, Later } from "../endpoint/call.js";
import { CallLogs, levelOf, notifyOwn, reportProgress } from "../endpoint/progress.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { Awaitable, JsonObject, RequestId } from "../jsonrpc/message.js";
import type { Identity } from "../jsonrpc/transport.js";
import type { FormFields } from "../protocol/elicitation-form.js";
import type { InputResponses, Root } from "../protocol/features/elicitation.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "../protocol/features/sampling.js";
import { type InferStandard, type StandardSchema, standardOutcome } from "../schema/standard-schema.js";
import type { Asker, AskOptions, ElicitInput, FormAnswer, SchemaAnswer, SchemaForm } from "./ask.js";
import { failure, type ToolResult } from "./content.js";
import type { ServerLimits } from "./limits.js";
import type { Parking } from "./parking.js";
import type { Reporter } from "./reporter.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import type { LiveSession, QuestionCode, Session } from "./session.js";

/** What asking needs of the server. */
export interface AskServices {
  readonly parking: Later<Parking>;
  readonly questions: Later<QuestionCode>;
  readonly limits: ServerLimits;
  /** Undefined: there never was one. */
  readonly sessions: { of(session: Session): LiveSession } | undefined;
  readonly report: Reporter;
}

/** What came back for questions asked by hand. */
export interface ByHand {
  readonly responses: InputResponses;
  readonly state: unknown;
}

/** The same, as a client's retry brought it. */
export interface HandRound extends ByHand {
  readonly round: number;
}

/**
 * The handler's view of its request. In the stateless era one handler may be served over several requests: the context
 * stays the same and always speaks for the request being served now.
 */
export class Context {
  #call: Call;
  readonly #services: AskServices;
  readonly #interaction: Asker | undefined;
  readonly #hand: ByHand | undefined;
  #failed = false;
  /** Whether the client was gone already when the handler last asked: its question may still wait for code. */
  #left = false;

  constructor(call: Call, services: AskServices, interaction?: Asker, hand?: ByHand) {
    this.#call = call;
    this.#services = services;
    this.#interaction = interaction;
    this.#hand = hand;
  }

  /** Points the context at the request of another round. */
  static turn(context: Context, call: Call): void {
    context.#call = call;
  }

  /** The request a context speaks for now. */
  static callOf(context: Context): Call {
    return context.#call;
  }

  /** Whether `fail` was called, whose result is to be returned. */
  static failed(context: Context): boolean {
    return context.#failed;
  }

  /** Asks the client with params as they stand on the wire. Rejects where the client cannot be asked. */
  static ask(context: Context, method: string, params: object, options?: AskOptions): Promise<JsonObject> {
    return context.#ask(method, params, options);
  }

  /** Aborted when the client cancels the request, or when it is given up. It lasts as long as the handler, whatever that asks. */
  get signal(): AbortSignal {
    return this.#interaction?.signal ?? this.#call.signal;
  }

  /** JSON-RPC id of the request being served. */
  get requestId(): RequestId {
    return this.#call.id;
  }

  /** Date of the protocol revision the client speaks. For display; features are asked for, not versions. */
  get revision(): string {
    return this.#call.caller.codec.revision.date;
  }

  /** Who is asking, when the transport knows. */
  get principal(): string | undefined {
    return this.#call.carrier.principal;
  }

  /**
   * Who is asking, with the scopes and the end of its token. Known over HTTP with the option `authorization`, and with
   * `authenticate` or `identity`: where these give a name alone, it has no scopes.
   */
  get identity(): Identity | undefined {
    return this.#call.identity;
  }

  /**
   * A header of the request being served, by its name in any letters; undefined where there are none (stdio, memory, HTTP+SSE).
   * Anybody can write anything into one: who is asking is `identity`.
   */
  header(name: string): string | undefined {
    return this.#call.carrier.header(name.toLowerCase());
  }

  /**
   * The session of the request, for what goes on between requests. Undefined where there is none: clients of 2026-07-28 open none, nor
   * does anybody with `sessions: false`.
   */
  get session(): LiveSession | undefined {
    const session = sessionOf(this.#call);
    return session && this.#services.sessions?.of(session);
  }

  /** What the client calls itself: for display, never for decisions. */
  get client(): Implementation | undefined {
    return this.#call.caller.client;
  }

  /** What the client can be asked. */
  get clientCapabilities(): ClientCapabilities {
    return this.#call.caller.capabilities;
  }

  /** The request's `_meta`: trace context and vendors' keys. */
  get meta(): Readonly<Record<string, unknown>> {
    return this.#call.meta ?? {};
  }

  /** Answers that came with a retry of an `inputRequired(...)` made by hand. */
  get inputResponses(): InputResponses | undefined {
    return this.#hand?.responses;
  }

  /** The state given to `inputRequired(...)` in the round before, verified. */
  get state(): unknown {
    return this.#hand?.state;
  }

  /**
   * Reports progress, if the client asked for it. Values must grow; `total` and `message` are optional. Resolves when the
   * report is written, so that awaiting it keeps pace with the reader. What is no number is not sent, and reported to the log.
   */
  async progress(progress: number, total?: number, message?: string): Promise<void> {
    if (!(Number.isFinite(progress) && (total === undefined || Number.isFinite(total)))) {
      const { questions, report } = this.#services;
      return questions.use(({ oddProgress }) => report("warning", oddProgress(this.#call, progress, total)));
    }
    await reportProgress(this.#call, {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    });
  }

  /** Sends a log message if the caller's level admits it, at most a hundred a second. `data` is any JSON; never put secrets into it. */
  async log(level: LoggingLevel, data: unknown, logger?: string): Promise<void> {
    const index = levelOf(level);
    if (index < this.#call.caller.logLevel) return;
    const logs = (this.#call.logs ??= new CallLogs(this.#call)) as CallLogs;
    await logs.send({ level, ...(logger === undefined ? {} : { logger }), data });
  }

  /**
   * Asks the person: by form (`{ message, schema }`) or by a page (`{ message, url }`). Accepted forms are checked and
   * their defaults filled in. A form may be a schema of a library too (`z.object({ … })`): its type and its checks are those of the
   * content. Throws where the client did not declare that it can be asked this way.
   */
  elicit<S extends StandardSchema>(input: SchemaForm<S>, options?: AskOptions): Promise<SchemaAnswer<S>>;
  elicit<const F extends FormFields>(input: ElicitInput<F>, options?: AskOptions): Promise<FormAnswer<F>>;
  elicit(input: ElicitInput<FormFields> | SchemaForm<StandardSchema>, options?: AskOptions): Promise<unknown> {
    const ask = (params: object): Promise<JsonObject> => this.#ask("elicitation/create", params, options);
    return this.#asked(({ elicited }) => elicited(input, ask));
  }

  /** Sends a notification of your own on behalf of this request, if it is not over. Rejects with RESERVED for one of the specification's. */
  async notify(method: string, params: object = {}): Promise<void> {
    await notifyOwn(this.#call, method, params);
  }

  /** Asks the client's model. Throws where the client did not declare sampling (or tools in it, when they are given). */
  sample(params: CreateMessageRequestParams, options?: AskOptions): Promise<CreateMessageResult> {
    return this.#asked(async ({ readSample, sampleParams }) =>
      readSample(await this.#ask("sampling/createMessage", await sampleParams(params), options)),
    );
  }

  /** The client's roots, as it last told. Throws where the client did not declare roots. */
  roots(options?: AskOptions): Promise<readonly Root[]> {
    return this.#asked(({ rootsWithin }) => rootsWithin(this.#from, options));
  }

  /**
   * Hangs up on the client while the tool goes on: it comes back for the rest after `retryMs` milliseconds, so that no
   * connection stays open for a long run. Does nothing and returns false except over HTTP sessions of 2025-11-25.
   */
  hangUp(retryMs = 1_000): boolean {
    return this.#call.carrier.hangUp?.(retryMs) ?? false;
  }

  /** A result that tells the model what went wrong: return it. Of an error it takes the message. */
  fail(message: string | Error): ToolResult {
    this.#failed = true;
    return failure(message);
  }

  /** A question may fail before the handler waits for its answer, or where it never does: its client must not end the process by that. */
  #asked<T>(ask: (questions: QuestionCode) => Promise<T>): Promise<T> {
    this.#left = this.#call.carrier.closed;
    const asked = (async () => this.#services.questions.use(ask))();
    asked.catch(() => undefined);
    return asked;
  }

  #ask(method: string, params: object, options?: AskOptions): Promise<JsonObject> {
    return this.#services.questions.use(({ askWithin }) => askWithin(this.#from, method, params, options));
  }

  get #from() {
    return { call: this.#call, interaction: this.#interaction, services: this.#services, late: this.#left };
  }
}

/** The session a request belongs to; undefined where it stands alone. */
export function sessionOf({ caller }: Call): Session | undefined {
  return caller.lasting === true ? (caller as Session) : undefined;
}

// What a server knows of a request beyond the protocol, with types: claims of a token, and values that middleware found out.

/** A value that middleware sets for a request and handlers read. */
export interface RequestValue<T> {
  /** Sets it for a request, before `next()`. */
  set(call: Call, value: T): void;
  /** The value for the request that is being served; undefined where nothing set it. */
  get(ctx: Context): T | undefined;
  /** The same. Throws NO_VALUE where nothing set it. */
  require(ctx: Context): T;
}

/**
 * A place for a value of each request, such as the tenant that a header names. Where a handler goes on in another request after a
 * question, the middleware has run for that one too, and its value is the one that is read.
 */
export function requestValue<T>(name = "value"): RequestValue<T> {
  const values = new WeakMap<Call, T>();
  return {
    set: (call, value) => void values.set(call, value),
    get: (ctx) => values.get(Context.callOf(ctx)),
    require: (ctx) => {
      const call = Context.callOf(ctx);
      if (values.has(call)) return values.get(call) as T;
      throw new LocalError("NO_VALUE", `Nothing set the ${name} of this request: middleware does, before next()`);
    },
  };
}

/**
 * The claims of whoever is asking, checked by a schema and with its type. Takes the `ctx` of a handler or the `call` of middleware.
 * Throws NO_IDENTITY where nobody is known, BAD_CLAIMS where they do not fit: the log hears of it, the client of an error.
 */
export function claimsOf<S extends StandardSchema>(
  asking: { readonly identity: Identity | undefined },
  schema: S,
): InferStandard<S> {
  const { identity } = asking;
  if (identity === undefined) {
    throw new LocalError("NO_IDENTITY", "Nobody is known to be asking: claims come with `authorization` or `identity`");
  }
  const checked = standardOutcome(schema, identity.claims ?? {});
  if ("then" in checked) throw new LocalError("BAD_CLAIMS", "Claims are checked by a schema that validates at once");
  if (checked.ok) return checked.value;
  const faults = checked.faults.map(({ message }) => message);
  throw new LocalError("BAD_CLAIMS", `The claims of this identity do not fit: ${faults.join("; ")}`);
}

// What completes arguments of prompts and variables of templates.

/** What a completing function knows besides the typed text. */
export interface CompletionRequest {
  /** Arguments chosen so far; empty where the revision does not send them. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Who is asking. Only a client of a session can be asked back, such as for its roots. */
  readonly context: Context;
}

/** What a completing function may return: values in the order to offer them, perhaps with the number there are in all. */
export type CompletionReturn =
  | readonly string[]
  | { readonly values: readonly string[]; readonly total?: number; readonly hasMore?: boolean };

/** A list to rank by what was typed, or a function that answers by itself. */
export type Completer =
  | readonly string[]
  | ((value: string, request: CompletionRequest) => Awaitable<CompletionReturn>);
