// Asking the client: whether it can be asked, what a question says, and what came back. In the handshake era a question is a request on
// the wire, bounded in time, cancelled with its call. Loaded with the first question.
import type { Call, Caller } from "../endpoint/call.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
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
import { type FormFields, readAnswer, requestedSchema } from "../protocol/elicitation-form.js";
import { memberFault, type MembersOf, shownValue, unknownMember } from "../schema/schema.js";
import {
  exportJsonSchema,
  type InferStandard,
  isStandardSchema,
  schemaFault,
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
  /** Gives the question up. */
  readonly signal?: AbortSignal;
  /** Told of the client's progress on the question. Handshake era only. */
  readonly onProgress?: (progress: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
}

/** For whoever asks in the place of a handler. */
export interface AskingOptions extends AskOptions {
  /** On whose behalf it is asked, and until when, where that is not one call. */
  readonly asking?: AskedFor;
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
  ask(method: string, params: object, options?: AskOptions, asked?: AskedQuestion): Promise<JsonObject>;
}

/** On whose behalf a question is asked, and where. */
export type AskedFor = Pick<Call, "carrier" | "connection" | "caller" | "questionMeta" | "signal">;

/** Asks over the wire, on the carrier of the call that needs the answer. */
export class WireAsker implements Asker {
  readonly #call: AskedFor;
  readonly #timeoutMs: number;

  constructor(call: AskedFor, timeoutMs: number) {
    this.#call = call;
    this.#timeoutMs = timeoutMs;
  }

  async ask(method: string, params: object, options: AskOptions = {}): Promise<JsonObject> {
    const { carrier, connection, caller, questionMeta, signal: cancelled } = this.#call;
    if (carrier.unheard === true) {
      const what = `The client cannot be asked ${method}: it takes only JSON for an answer and has no stream open`;
      throw new AskError("UNREACHABLE", what);
    }
    const { timeoutMs = this.#timeoutMs, onProgress } = options;
    const id = connection.newId();
    const meta = onProgress === undefined ? questionMeta : { ...questionMeta, progressToken: id };
    const named = meta === undefined ? params : { ...params, _meta: meta };
    try {
      return await connection.ask(id, projectQuestion(caller.codec, method, named), {
        method,
        carrier,
        timeoutMs,
        signal: options.signal === undefined ? cancelled : AbortSignal.any([cancelled, options.signal]),
        progress: onProgress && progressSink((report) => onProgress(reportOf(report))),
      });
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
export function askWithin(from: Within, method: string, params: object, options?: AskingOptions): Promise<JsonObject> {
  const { call, interaction } = from;
  const question = new QuestionWithin(from, method);
  try {
    requireCapability(call, method, params);
    // Whoever keeps the call while somebody thinks tells the question of its end: another promise would be kept as well.
    if (interaction !== undefined) return interaction.ask(method, params, options, question);
  } catch (error) {
    question.failed();
    return Promise.reject(error);
  }
  const timeoutMs = from.services.limits.askTimeoutMs;
  const asking = options?.asking;
  if (asking !== undefined) return new WireAsker(asking, timeoutMs).ask(method, params);
  const ask = (): Promise<JsonObject> => new WireAsker(call, timeoutMs).ask(method, params, options);
  return onWire(from, question, ask).catch((error: unknown) => {
    question.failed();
    throw error;
  });
}

function onWire(
  { call, services, late }: Within,
  question: AskedQuestion,
  send: () => Promise<JsonObject>,
): Promise<JsonObject> {
  if (call.caller.codec.revision.era === "stateless") {
    const what = `${call.method} cannot ask the client in this era: only tools, prompts and resources can`;
    return Promise.reject(new LocalError("CANNOT_ASK", what));
  }
  const heard = (): void => void (call.ended && call.cancellation === undefined && question.unheard());
  const ask = (): Promise<JsonObject> => send().finally(heard);
  return !late && call.carrier.closed ? givenUp(call, services.limits.askTimeoutMs).then(ask) : ask();
}

/** The client left while this code was loaded: its question waits for the end of the call, as one that was on its way already. */
function givenUp(call: Call, mostMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, mostMs);
    call.whenCancelled(() => (clearTimeout(timer), resolve()));
  });
}

/** A session that may be asked: its open connection is where questions go. */
interface Reachable extends Caller {
  readonly subscription: Pick<Call, "carrier" | "connection"> | undefined;
}

/** Asks a session outside of any call. Throws CANNOT_ASK where this process cannot reach it. */
export async function askOutside(
  from: { readonly session: Reachable; readonly signal: AbortSignal; readonly timeoutMs: number },
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

const QUESTION_MEMBERS = ["message", "schema", "url"];
const QUESTION = 'write ctx.elicit({ message: "Really?", schema: { sure: { type: "boolean" } } })';

/** Throws BAD_QUESTION with what to write. */
function checkQuestion(input: unknown): void {
  if (!isJsonObject(input)) throw badQuestion(`a question is one object, not ${peerWords(input)}: ${QUESTION}`);
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue;
    if (name === "requestedSchema") throw badQuestion('"requestedSchema" is called "schema" here');
    if (name === "mode")
      throw badQuestion('"mode" is left out: what has "url" opens a page, what has "schema" is a form');
    if (!QUESTION_MEMBERS.includes(name)) throw badQuestion(unknownMember(name, QUESTION_MEMBERS));
  }
  const { message, schema, url } = input;
  if (typeof message !== "string") {
    throw badQuestion(`"message" is the text the person reads, not ${peerWords(message)}: ${QUESTION}`);
  }
  if ((schema === undefined) === (url === undefined)) {
    throw badQuestion(`a question has either "schema", a form, or "url", a page to open: ${QUESTION}`);
  }
  const fault = schemaFault(schema);
  if (fault !== undefined) throw badQuestion(`"schema" ${fault}`);
}

function badQuestion(what: string): LocalError {
  return new LocalError("BAD_QUESTION", `elicit: ${what}`);
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

// Questions asked by hand.

const BY_HAND =
  'write inputRequired({ requests: { sure: { method: "elicitation/create", params: { message, requestedSchema } } } })';
const QUESTIONS = ["elicitation/create", "sampling/createMessage", "roots/list"];

/** What is wrong with what a handler asks by hand; undefined when nothing is. */
export function askedFault({
  requests,
  state,
}: {
  readonly requests: unknown;
  readonly state: unknown;
}): string | undefined {
  if (!isJsonObject(requests)) return `"requests" is an object of questions by name: ${BY_HAND}`;
  const asked = Object.entries(requests);
  if (asked.length === 0 && state === undefined) return `it asks nothing and keeps no state: ${BY_HAND}`;
  for (const [name, request] of asked) {
    const { method, params } = Object(request) as { readonly method?: unknown; readonly params?: unknown };
    const named = `the request ${JSON.stringify(name)}`;
    if (!QUESTIONS.includes(method as string))
      return `${named} has the method ${shownValue(method)}, which is ${QUESTIONS.join(", ")}: ${BY_HAND}`;
    if (method !== "roots/list" && !isJsonObject(params)) return `${named} needs "params": ${BY_HAND}`;
  }
  if (!isLost(state)) return undefined;
  return `"state" is JSON, which keeps nothing of a Map or Set: write Object.fromEntries(map), or [...set]`;
}

/** Whether JSON keeps nothing of a value, or of a part of it: an object of a class without members of its own. */
function isLost(value: unknown): boolean {
  if (typeof value !== "object" || value === null || "toJSON" in value) return false;
  const members: unknown[] = Object.values(value);
  if (members.length > 0) return members.some(isLost);
  return !Array.isArray(value) && ![Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
}
