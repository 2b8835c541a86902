// Asking the client: whether it can be asked, what a question says, and what came back. In the handshake era a question is a request on
// the wire, bounded in time, over with its call. Loaded with the first question.
import type { Call, Caller } from "../endpoint/call.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { Stop, offAbort, onAbort, startTimer } from "../jsonrpc/outgoing.js";
import { AskError } from "./content.js";
import type { Reporter } from "./reporter.js";
import type { ServerLimits } from "./limits.js";
import { isJsonObject, type JsonObject, peerWords } from "../jsonrpc/message.js";
import { progressSink } from "../endpoint/progress.js";
import { answerFault, projectQuestion } from "../era/project-question.js";
import type {
  ElicitRequestParams,
  ElicitResult,
  ElicitValue,
  RequestedSchema,
  Root,
} from "../protocol/features/elicitation.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import { McpErrorCode } from "../protocol/meta.js";
import { isWebAddress } from "../protocol/method.js";
import { checkQuestion, type FormFields, readAnswer, requestedSchema } from "../protocol/elicitation-form.js";
import { memberFault, type MembersOf, shownValue } from "../schema/schema.js";
import {
  exportJsonSchema,
  type InferStandard,
  isStandardSchema,
  type StandardSchema,
  standardOutcome,
} from "../schema/standard-schema.js";
import {
  checkToolUse,
  type CreateMessageRequestParams,
  type CreateMessageResult,
  normalStopReason,
  type SamplingMessage,
} from "../protocol/features/sampling.js";

/** What is said of a report of progress that is none, in the code of what goes wrong seldom. */
export function oddProgress({ method }: Pick<Call, "method">, progress: unknown, total: unknown): string {
  const what = "ctx.progress(progress, total, message) takes numbers, as in ctx.progress(3, 10), so it was not sent";
  return `${method}: ${what}: it got ${shownValue(progress)}, ${shownValue(total)}`;
}

/** Options of one question. */
export interface AskOptions {
  /** Milliseconds to wait for the answer. Default: the server's limit `askTimeoutMs`. Handshake era only. */
  readonly timeoutMs?: number;
  /**
   * Aborting it gives the question up: it rejects at once with an `AskError` CANCELLED (`cause` is the signal's reason). A client of a
   * session is told that nobody waits for its answer. One of 2026-07-28 is not asked, or was asked already: then what it answers is
   * ignored, and its retry is served what the handler goes on to. One that is aborted before asks nothing.
   *
   * Where nothing is kept between requests (`questions: "replay"`) it counts until the client is asked: the handler that asked goes on
   * no further, and is run again with the answers.
   */
  readonly signal?: AbortSignal;
  /** Told of the client's progress on the question. Handshake era only. */
  readonly onProgress?: (progress: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
}

/** The same, for whoever asks in the place of a handler. */
export interface OwnAskOptions extends AskOptions {
  /** No handler of an author waits for the answer: where nobody does, it is not that `await` was forgotten. */
  readonly relayed?: boolean;
  /** On whose behalf it is asked, and until when, where that is not one call. */
  readonly asking?: AskedFor | undefined;
}

type Told = Parameters<NonNullable<AskOptions["onProgress"]>>[0];

/** The report alone: its token is the wire's business. */
function reportOf({ progress, total, message }: Told): Told {
  return { progress, ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) };
}

/** Told how a question ends that gets no answer. An object: it weighs less than functions do while somebody thinks. */
export interface AskedQuestion {
  /** The handler ended before it was answered: what is asked then is asked in vain. */
  unheard(): void;
  failed(): void;
}

/** The one way handlers ask, whatever the era. */
export interface Asker {
  /** Of a handler that goes on from request to request; otherwise it is that of its call. */
  readonly signal?: AbortSignal;
  ask(method: string, params: object, options?: OwnAskOptions, asked?: AskedQuestion): Promise<JsonObject>;
}

/** Gives one question up when its signal says so. */
export class GivingUp {
  readonly #method: string;
  readonly #signal: AbortSignal;
  readonly #giveUp: (error: AskError) => void;

  private constructor(method: string, signal: AbortSignal, giveUp: (error: AskError) => void) {
    this.#method = method;
    this.#signal = signal;
    this.#giveUp = giveUp;
    onAbort(signal, this);
  }

  /** Undefined for most questions: nothing gives them up. Throws CANCELLED where the question is given up already. */
  static of(method: string, signal: AbortSignal | undefined, giveUp: (error: AskError) => void): GivingUp | undefined {
    if (signal?.aborted === true) throw givenUp(method, signal);
    return signal && new GivingUp(method, signal, giveUp);
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#giveUp(givenUp(this.#method, this.#signal));
  }

  /** The question has ended. */
  over(): void {
    offAbort(this.#signal, this);
  }
}

function givenUp(method: string, { reason: cause }: AbortSignal): AskError {
  return new AskError("CANCELLED", `The client had not answered ${method} when the question was given up`, { cause });
}

/** Said of what is asked once nobody hears the answer any more. */
export const TOO_LATE =
  "the call is answered already, so its client cannot be asked any more: await what is asked before the handler returns";

/** The error of a question that is open when the handler that asked it ends. */
export function endedBefore(method: string): AskError {
  return new AskError("EXPIRED", `The call ended before its client had answered ${method}`);
}

/** What a question ends with, where that is a call. */
type EndsWith = Partial<Pick<Call, "cancellation" | "ended" | "questions">>;

/** A question of a session while it waits: it ends with the call it belongs to, and where it is given up. */
class OpenQuestion {
  /** Stopped with it. */
  readonly stop: Stop = new Stop();
  /** Why it ended without an answer, once it has. */
  error: AskError | undefined;
  readonly #call: EndsWith;
  readonly #method: string;
  readonly #asked: AskedQuestion | undefined;
  #givingUp: GivingUp | undefined;
  #callEnd: Stop | undefined;

  constructor(call: EndsWith, method: string, asked: AskedQuestion | undefined) {
    this.#call = call;
    this.#method = method;
    this.#asked = asked;
  }

  /** What `send` resolves with. Rejects with an AskError as soon as the question is over: then nothing is sent. */
  until<T>(options: OwnAskOptions, send: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#begin(options);
      this.stop.listen({ stopped: () => reject(this.error) });
      send().then(resolve, reject);
    }).then(
      (answer) => (this.#over(), answer),
      (error: unknown) => {
        this.#over();
        this.#asked?.failed();
        throw error;
      },
    );
  }

  #begin(options: OwnAskOptions): void {
    const call = this.#call;
    if (call.ended === true && call.cancellation === undefined) {
      this.#asked?.unheard();
      throw new AskError("EXPIRED", `${this.#method}: ${TOO_LATE}`);
    }
    this.#givingUp = GivingUp.of(this.#method, options.signal, (error) => this.#end(error, error.cause));
    this.#callEnd = (call.questions ??= new Stop()) as Stop;
    this.#callEnd.listen(this);
  }

  /** The call has ended. What it is cancelled with ends its questions as well. */
  stopped(): void {
    if (this.#call.cancellation !== undefined) return;
    this.#asked?.unheard();
    this.#end(endedBefore(this.#method), "the call it belonged to has ended");
  }

  #end(error: AskError, reason: unknown): void {
    this.error = error;
    this.stop.stop(reason);
  }

  #over(): void {
    this.#givingUp?.over();
    this.#callEnd?.forget(this);
  }
}

/** On whose behalf a question is asked, and where. */
export type AskedFor = Pick<Call, "carrier" | "connection" | "caller" | "questionMeta" | "signal"> & EndsWith;

/** Asks over the wire, on the carrier of the call that needs the answer. */
export class WireAsker implements Asker {
  readonly #call: AskedFor;
  readonly #timeoutMs: number;
  readonly #before: ((stop: Stop) => Promise<void>) | undefined;

  /** `before`: what a question waits for until it is sent, or stopped. */
  constructor(call: AskedFor, timeoutMs: number, before?: (stop: Stop) => Promise<void>) {
    this.#call = call;
    this.#timeoutMs = timeoutMs;
    this.#before = before;
  }

  ask(method: string, params: object, options: OwnAskOptions = {}, asked?: AskedQuestion): Promise<JsonObject> {
    const question = new OpenQuestion(this.#call, method, asked);
    return question.until(options, () => this.#send(method, params, options, question.stop));
  }

  async #send(method: string, params: object, options: AskOptions, stop: Stop): Promise<JsonObject> {
    const { carrier, connection, caller, questionMeta, signal } = this.#call;
    if (carrier.unheard === true) {
      const what = `The client cannot be asked ${method}: it takes only JSON for an answer and has no stream open`;
      throw new AskError("UNREACHABLE", what);
    }
    await this.#before?.(stop);
    const { timeoutMs = this.#timeoutMs, onProgress } = options;
    const id = connection.newId();
    const meta = onProgress === undefined ? questionMeta : { ...questionMeta, progressToken: id };
    const named = meta === undefined ? params : { ...params, _meta: meta };
    const progress = onProgress && progressSink((report) => onProgress(reportOf(report)));
    const waiting = { method, carrier, timeoutMs, signal, stop, progress };
    try {
      return await connection.ask(id, projectQuestion(caller.codec, method, named), waiting);
    } catch (error) {
      throw asAskError(error, method);
    }
  }
}

const WORDS_OF: Readonly<Record<string, string>> = { "sampling/createMessage": "sample", "roots/list": "roots" };

/** Calls of which a question failed: who waits for several ends by the first that does, and has waited for the others as well. */
const failedIn = new WeakSet<Call>();

/** On whose behalf a handler asks. */
interface Within {
  readonly call: Call;
  readonly interaction: Asker | undefined;
  readonly services: { readonly limits: Pick<ServerLimits, "askTimeoutMs">; readonly report: Reporter };
  /** Whether the client was gone already when the handler asked. */
  readonly late: boolean;
}

/** A question within a call. */
class QuestionWithin implements AskedQuestion {
  readonly #call: Call;
  readonly #method: string;
  readonly #report: Reporter;

  constructor({ call, services }: Within, method: string) {
    this.#call = call;
    this.#method = method;
    this.#report = services.report;
  }

  failed(): void {
    failedIn.add(this.#call);
  }

  unheard(): void {
    const [call, method] = [this.#call, this.#method];
    if (failedIn.has(call)) return;
    const { name = "" } = call.params as { readonly name?: unknown };
    const what = `${call.method} ${JSON.stringify(name)} ended before its client had answered ${method}`;
    this.#report("warning", `${what}: write await before ctx.${WORDS_OF[method] ?? "elicit"}(...)`);
  }
}

/** Asks within a call. Rejects with CANNOT_ASK where its revision has no way to. */
export function askWithin(from: Within, method: string, params: object, options?: OwnAskOptions): Promise<JsonObject> {
  const { call, interaction } = from;
  // Whoever keeps the call while somebody thinks tells the question of its end: another promise would be kept as well.
  const question = options?.relayed === true ? undefined : new QuestionWithin(from, method);
  try {
    requireCapability(call, method, params);
    return (interaction ?? onWire(from, options?.asking)).ask(method, params, options, question);
  } catch (error) {
    question?.failed();
    return Promise.reject(error);
  }
}

function onWire({ call, services, late }: Within, asking: AskedFor | undefined): WireAsker {
  if (call.caller.codec.revision.era === "stateless") {
    const what = `${call.method} cannot ask the client in this era: only tools, prompts and resources can`;
    throw new LocalError("CANNOT_ASK", what);
  }
  const { askTimeoutMs } = services.limits;
  if (asking !== undefined) return new WireAsker(asking, askTimeoutMs);
  const left = !late && call.carrier.closed;
  return new WireAsker(call, askTimeoutMs, left ? (stop) => goneWith(call, askTimeoutMs, stop) : undefined);
}

/** The client left while this code was loaded: its question waits for the end of the call, as one that was on its way already. */
function goneWith(call: Call, mostMs: number, stop: Stop): Promise<void> {
  return new Promise((resolve) => {
    const timer = startTimer(resolve, mostMs);
    const gone = (): void => (clearTimeout(timer), resolve());
    call.whenCancelled(gone);
    stop.listen({ stopped: gone });
  });
}

/** A session that keeps what it was told of its client's roots. */
interface KnowingRoots {
  cachedRoots(ask: () => Promise<readonly Root[]>): Promise<readonly Root[]>;
}

/** Asks for the client's roots within a call: once in a session, for all who want to know them. */
export function rootsWithin(from: Within, options: OwnAskOptions = {}): Promise<readonly Root[]> {
  const ask = async (given: OwnAskOptions): Promise<readonly Root[]> =>
    readRoots(await askWithin(from, "roots/list", {}, given));
  const { caller } = from.call;
  if (caller.lasting !== true) return ask(options);
  const asked = options.relayed === true ? undefined : new QuestionWithin(from, "roots/list");
  // Of what is asked for all the end says nothing: each who waits for it hears of its own.
  return new OpenQuestion(options.asking ?? from.call, "roots/list", asked).until(options, () =>
    (caller as Caller & KnowingRoots).cachedRoots(() => ask({ ...options, relayed: true })),
  );
}

/** A session that may be asked: its open connection is where questions go. */
interface Reachable extends Caller {
  readonly subscription: Pick<Call, "carrier" | "connection"> | undefined;
}

/** Which session is asked outside of any call. */
interface Outside {
  readonly session: Reachable;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** The same of its roots. */
export function rootsOutside(
  from: Outside & { readonly session: KnowingRoots },
  options: AskOptions = {},
): Promise<readonly Root[]> {
  return new OpenQuestion({}, "roots/list", undefined).until(options, () =>
    from.session.cachedRoots(async () => readRoots(await askOutside(from, "roots/list", {}, options))),
  );
}

/** Asks a session outside of any call. Throws CANNOT_ASK where this process cannot reach it. */
export async function askOutside(
  from: Outside,
  method: string,
  params: object,
  options?: AskOptions,
): Promise<JsonObject> {
  const { session, signal, timeoutMs } = from;
  requireCapability({ caller: session }, method, params);
  const { subscription } = session;
  if (subscription === undefined || subscription.carrier.closed || signal.aborted) {
    throw new LocalError("CANNOT_ASK", `${method}: this process has no open connection to the session`);
  }
  const { connection, carrier } = subscription;
  const asking = { connection, carrier, caller: session, signal, questionMeta: undefined };
  return new WireAsker(asking, timeoutMs).ask(method, params, options);
}

/** A refusal of the client is not ours to pass on as our own error. */
function asAskError(error: unknown, method: string): unknown {
  if (error instanceof RpcError) {
    return new AskError("REFUSED", `The client refused ${method}: ${peerWords(error.message)}`, { cause: error });
  }
  if (error instanceof LocalError && error.code === "TIMEOUT") {
    return new AskError("TIMEOUT", `The client did not answer ${method} in time`, { cause: error });
  }
  if (error instanceof LocalError && error.code === "INVALID_RESPONSE") {
    return new AskError("BAD_ANSWER", `The client's answer to ${method} is no JSON-RPC response`, { cause: error });
  }
  return error;
}

// Whether the client can be asked something: it must have declared it, and its revision must have it.

/**
 * Throws -32021 with `data.requiredCapabilities` where the caller did not declare what a question needs, or where its
 * revision does not have the question; INVALID_URL for a page that is none. The codecs say it to older peers in their own words.
 */
export function requireCapability(call: { readonly caller: Caller }, method: string, params: unknown): void {
  checkPage(method, params as { readonly mode?: unknown; readonly url?: unknown } | undefined);
  const required = neededFor(method, params as { readonly mode?: unknown; readonly tools?: unknown } | undefined);
  const { codec, capabilities } = call.caller;
  if (codec.revision.serverRequests.has(method) && declares(codec.revision.elicitation.url, capabilities, required))
    return;
  const names = Object.entries(required).map(([name, settings]) =>
    [name, ...Object.keys(settings as object)].join("."),
  );
  const what =
    call.caller.alone === true
      ? `This server keeps no sessions, so a client of ${codec.revision.date} cannot be asked (${names.join(", ")}): only those of revisions without sessions can`
      : `This needs a client that can be asked: the capability ${names.join(", ")} was not declared`;
  throw new RpcError(McpErrorCode.MissingRequiredClientCapability, what, { requiredCapabilities: required });
}

/** Throws INVALID_URL for a page no browser should be sent to. */
function checkPage(method: string, params: { readonly mode?: unknown; readonly url?: unknown } | undefined): void {
  if (method !== "elicitation/create" || params?.mode !== "url" || isWebAddress(params.url)) return;
  const what = `The page to open is ${peerWords(params.url)}, which is no web address: write it like https://host/page`;
  throw new LocalError("INVALID_URL", what);
}

function neededFor(
  method: string,
  params: { readonly mode?: unknown; readonly tools?: unknown } | undefined,
): ClientCapabilities {
  if (method === "roots/list") return { roots: {} };
  if (method === "sampling/createMessage") return { sampling: params?.tools === undefined ? {} : { tools: {} } };
  return { elicitation: params?.mode === "url" ? { url: {} } : { form: {} } };
}

function declares(urls: boolean, declared: ClientCapabilities, required: ClientCapabilities): boolean {
  if (required.roots !== undefined) return declared.roots !== undefined;
  if (required.sampling !== undefined) {
    return (
      declared.sampling !== undefined &&
      (required.sampling.tools === undefined || declared.sampling.tools !== undefined)
    );
  }
  const { elicitation } = declared;
  if (elicitation === undefined) return false;
  if (required.elicitation?.url !== undefined) return urls && elicitation.url !== undefined;
  // `{}` means forms only; naming url alone means no forms.
  return elicitation.form !== undefined || elicitation.url === undefined;
}

// Questions to the person behind the client: typed by their form, checked when they come back.

/** A form, in short (`{ sure: { type: "boolean" } }`: flat, required unless `optional`) or in full, or a page to open. */
export type ElicitInput<F extends FormFields> =
  | { readonly message: string; readonly schema: F | RequestedSchema }
  | { readonly message: string; readonly url: string };

/** The type of one field of an accepted form. */
export type FieldValue<S> = S extends { readonly type: "boolean" }
  ? boolean
  : S extends { readonly type: "number" | "integer" }
    ? number
    : S extends { readonly type: "array" }
      ? string[]
      : S extends { readonly enum: readonly (infer E)[] }
        ? E
        : S extends { readonly oneOf: readonly { readonly const: infer C }[] }
          ? C
          : string;

/** The content of an accepted form, field by field. */
export type FormContent<F> = {
  -readonly [K in keyof F]: F[K] extends { readonly optional: true } ? FieldValue<F[K]> | undefined : FieldValue<F[K]>;
};

/** What the person did. `content` is there for accepted forms; accepting a page means consent, not completion. */
export type FormAnswer<F> =
  | {
      readonly action: "accept";
      readonly content: string extends keyof F ? Record<string, ElicitValue> : FormContent<F>;
    }
  | { readonly action: "decline" | "cancel"; readonly content?: undefined };

/** A form as a schema of a library that exports JSON Schema (zod from 4.2, arktype from 2.1.28): flat, as every form. */
export interface SchemaForm<S extends StandardSchema> {
  readonly message: string;
  readonly schema: S;
}

/** What the person did with such a form; `content` is what the schema made of it. */
export type SchemaAnswer<S extends StandardSchema> =
  | { readonly action: "accept"; readonly content: InferStandard<S> }
  | { readonly action: "decline" | "cancel"; readonly content?: undefined };

/** Asks for a form or a page, and reads the answer. Throws INVALID_FORM, BAD_ANSWER. */
export async function elicited(
  input: ElicitInput<FormFields> | SchemaForm<StandardSchema>,
  ask: (params: ElicitRequestParams) => Promise<JsonObject>,
): Promise<unknown> {
  checkQuestion(input);
  const schema = "schema" in input && isStandardSchema(input.schema) ? input.schema : undefined;
  const form = schema === undefined ? input : { message: input.message, schema: formOf(schema) };
  const params = elicitParams(form as ElicitInput<FormFields>);
  const answer = readElicitAnswer(params, (await ask(params)) as unknown as ElicitResult);
  if (schema === undefined || answer.action !== "accept") return answer;
  const checked = await standardOutcome(schema, answer.content);
  if (checked.ok) return { action: "accept", content: checked.value };
  const what = checked.faults.map(({ message }) => message).join("; ");
  throw new AskError("BAD_ANSWER", `The answer does not fit the form: ${peerWords(what)}`);
}

/** What a schema library exports, without what forms have no words for: its checks of what was filled in stay. */
function formOf(schema: StandardSchema): RequestedSchema {
  const exported: Partial<RequestedSchema> = exportJsonSchema(schema, "input") as object;
  const { properties = {}, required = [] } = exported;
  const fields = Object.entries(properties).map(([name, field]) => {
    const { pattern, ...rest } = field as unknown as JsonObject;
    return [name, pattern === undefined || "format" in rest ? rest : field];
  });
  return { type: "object", properties: Object.fromEntries(fields) as RequestedSchema["properties"], required };
}

/** The wire form of a question. Throws INVALID_FORM naming the field no client could show. */
export function elicitParams<F extends FormFields>(input: ElicitInput<F>): ElicitRequestParams {
  if ("url" in input) return { mode: "url", message: input.message, url: input.url };
  return { mode: "form", message: input.message, requestedSchema: requestedSchema(input.schema) };
}

/** Reads an answer, defaults filled in. Throws BAD_ANSWER when it does not fit what was asked. */
export function readElicitAnswer(params: ElicitRequestParams, answer: ElicitResult): FormAnswer<Record<string, never>> {
  const fault = answerFault("elicitation/create", answer);
  if (fault !== undefined) throw new AskError("BAD_ANSWER", `The client's answer ${fault}`);
  if (answer.action !== "accept") return { action: answer.action };
  if (params.mode === "url") return { action: "accept", content: {} };
  const { content, faults } = readAnswer(params.requestedSchema, answer.content);
  if (faults.length === 0) return { action: "accept", content };
  const what = faults.map(({ message }) => message).join("; ");
  throw new AskError("BAD_ANSWER", `The answer does not fit the form: ${what}`);
}

// Questions to the client's model: checked before they leave, read when they come back.

const SAMPLE_MEMBERS: MembersOf<CreateMessageRequestParams> = {
  messages: "list",
  maxTokens: "whole",
  systemPrompt: "text",
  temperature: "number",
  stopSequences: "texts",
  includeContext: ["=none", "=thisServer", "=allServers"],
  modelPreferences: "object",
  metadata: "object",
  tools: "list",
  toolChoice: "object",
  _meta: "object",
};

/** What is wrong with a question to the client's model; undefined when nothing is. */
function sampleFault(params: unknown, blockFault: (block: unknown) => string | undefined): string | undefined {
  const { messages = null, maxTokens = null, ...rest } = Object(params) as Partial<CreateMessageRequestParams>;
  const fault = memberFault(isJsonObject(params) ? { messages, maxTokens, ...rest } : params, SAMPLE_MEMBERS);
  if (fault !== undefined) return fault;
  for (const [index, message] of (messages ?? []).entries()) {
    const { role, content } = Object(message) as Partial<SamplingMessage>;
    if (role !== "user" && role !== "assistant") {
      return `the role of messages[${index}] is "user" or "assistant", not ${shownValue(role)}: the system's words are systemPrompt`;
    }
    for (const block of Array.isArray(content) ? content : [content]) {
      const wrong = blockFault(block);
      if (wrong !== undefined) return `messages[${index}] ${wrong}`;
    }
  }
  return undefined;
}

/** The params as they are, once they obey the rules of sampling. Throws BAD_SAMPLING naming the first broken one. */
export async function sampleParams(params: CreateMessageRequestParams): Promise<CreateMessageRequestParams> {
  const wrong = sampleFault(params, (await import("./returned.js")).sampledFault);
  if (wrong !== undefined) throw new LocalError("BAD_SAMPLING", `sample: ${wrong}`);
  const fault = checkToolUse(params.messages);
  if (fault !== undefined) throw new LocalError("BAD_SAMPLING", fault.message);
  return params;
}

/** The model's answer, its stop reason in the specification's spelling. Throws BAD_ANSWER for anything else. */
export function readSample(answer: JsonObject): CreateMessageResult {
  const fault = answerFault("sampling/createMessage", answer);
  if (fault !== undefined) throw new AskError("BAD_ANSWER", `The client's answer to sampling ${fault}`);
  const result = answer as unknown as CreateMessageResult;
  return result.stopReason === undefined ? result : { ...result, stopReason: normalStopReason(result.stopReason) };
}

/** The client's roots. Throws BAD_ANSWER for anything else. */
export function readRoots(answer: JsonObject): readonly Root[] {
  const fault = answerFault("roots/list", answer);
  if (fault !== undefined) throw new AskError("BAD_ANSWER", `The client's answer to roots/list ${fault}`);
  return answer["roots"] as readonly Root[];
}
