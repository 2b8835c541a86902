// A connection to one server: everything a client can ask of it, typed.
/// <reference lib="esnext.disposable" preserve="true" />
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import {
  type Awaitable,
  failureText,
  isJsonObject,
  type JsonObject,
  jsonText,
  peerWords,
  type RequestMessage,
  successText,
} from "../jsonrpc/message.js";
import type { ClientCapabilities, Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type {
  CompleteRequestParams,
  CompletionReference,
  GetPromptResult,
  Prompt,
} from "../protocol/features/prompts.js";
import type { ReadResourceResult, Resource, ResourceTemplate } from "../protocol/features/resources.js";
import type { CallToolResult, Tool } from "../protocol/features/tools.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { TemplateValues } from "../protocol/uri-template/expand.js";
import { type CallCheck, type CallOptions, changeOf, type ClientOptions, type Dialer, settingsOf } from "./options.js";
import { type CompleteOptions, Completions, type Completion, type Listing, Lists } from "./lists.js";
import { type LogMessage, LogRing, Pinger } from "./server-watch.js";
import { type Subscription, Subscriptions, type Watched } from "./subscriptions.js";
import { type TaskHandle, type TaskOptions, Tasks } from "./tasks.js";
import type { Carrier } from "../jsonrpc/transport.js";
import { McpErrorCode, META } from "../protocol/meta.js";
import { TASKS_EXTENSION } from "../protocol/extensions/tasks.js";
import type { ClientCodec } from "../era/codec.js";
import { ConnectError, type Conversation } from "./conversation.js";
import { Questions } from "./questions.js";
import { Requests, type SendOptions, Wire, guarded } from "./wire.js";
import { ResponseCache, ToolCache, type TypedResult, typedResult } from "./caches.js";
import type { StandardSchema } from "../schema/standard-schema.js";

/**
 * A client of one server, made by `connect`. Methods reject with an `RpcError` when the server answers with an error,
 * otherwise with a `LocalError`: TIMEOUT, CANCELLED, CLOSED, EXITED, OUTCOME_UNKNOWN (it may have run), NOT_SUPPORTED
 * (the server does not serve it, nothing was sent), INVALID_RESPONSE, INVALID_OUTPUT, REFUSED, LIMIT, UNAUTHORIZED,
 * HTTP_STATUS.
 */
export class Client {
  readonly #wire: Wire;
  readonly #requests: Requests;
  readonly #lists: Lists;
  readonly #tasks: Tasks;
  readonly #toolCache: ToolCache;
  readonly #completions: Completions;
  readonly #subscriptions: Subscriptions;
  readonly #logs: LogRing = new LogRing();
  readonly #options: ClientOptions;
  readonly #questions: Questions;
  readonly #asked: AskedQuestions;
  #pinger: Pinger | undefined;

  /** Looks at what calls are given: what a page would have to load for it is left out there. */
  #check: CallCheck | undefined;

  private constructor(dialer: Dialer, options: ClientOptions) {
    this.#options = options;
    const settings = settingsOf(options);
    const warn = (text: string): void => this.#warn(text);
    this.#questions = new Questions(options);
    this.#asked = new AskedQuestions(this.#questions, warn);
    const wire = new Wire(dialer, { settings, reconnect: options.reconnect, events: this.#events() });
    const toolCache = new ToolCache({ validateOutput: settings.validateOutput, warn });
    const cache = options.cache === false ? undefined : new ResponseCache(options.cache);
    const requests = new Requests(wire, this.#questions, { settings, logs: this.#logs, warn });
    this.#wire = wire;
    this.#toolCache = toolCache;
    this.#requests = requests;
    this.#lists = new Lists({ wire, requests, cache, toolCache });
    this.#tasks = new Tasks({ wire, requests, toolCache });
    this.#completions = new Completions(requests, wire);
    this.#subscriptions = new Subscriptions(wire, settings);
  }

  /** Connects by the dialer's links. Rejects with a ConnectError; then nothing is left open. */
  static async connect(
    dialer: Dialer,
    options: ClientOptions = {},
    check?: (args: unknown, options: unknown) => void,
  ): Promise<Client> {
    const client = new Client(dialer, options);
    client.#check = check;
    await client.#open(options);
    return client;
  }

  /** Who the server is, by its own account: to show, never to decide by. */
  get server(): Implementation {
    return this.#wire.established.server;
  }

  /** Date of the revision both sides speak. */
  get revision(): string {
    return this.#wire.established.revision.date;
  }

  get era(): "handshake" | "stateless" {
    return this.#wire.established.revision.era;
  }

  /** How the bytes travel: "stdio", "http", "sse", "memory", or what the transport calls itself. */
  get transport(): string {
    return this.#wire.established.conversation.transport.kind;
  }

  get capabilities(): ServerCapabilities {
    return this.#wire.established.capabilities;
  }

  get instructions(): string | undefined {
    return this.#wire.established.instructions;
  }

  /** Revisions the server says it speaks; empty where it does not say. */
  get offered(): readonly string[] {
    return this.#wire.established.offered;
  }

  /** The latest 200 log messages, oldest first. */
  get logs(): readonly LogMessage[] {
    return this.#logs.messages;
  }

  /** Messages without a meaning that were ignored: answers to nothing, second answers, questions outside of a session. */
  get ignoredMessages(): number {
    return this.#wire.established.conversation.ignored;
  }

  /** Resolves when the client is closed: with the reason, unless `close` was called. */
  get closed(): Promise<LocalError | undefined> {
    return this.#wire.closed;
  }

  tools(options?: CallOptions): Listing<Tool> {
    return this.#lists.tools(options);
  }

  resources(options?: CallOptions): Listing<Resource> {
    return this.#lists.resources(options);
  }

  resourceTemplates(options?: CallOptions): Listing<ResourceTemplate> {
    return this.#lists.resourceTemplates(options);
  }

  prompts(options?: CallOptions): Listing<Prompt> {
    return this.#lists.prompts(options);
  }

  /**
   * Calls a tool. A result with `isError` is a result. Structured content of tools that were listed is checked. With `output`, a schema
   * of zod, valibot or arktype, it is checked by that too and has its type: rejects with INVALID_OUTPUT where it does not fit.
   */
  call<S extends StandardSchema>(
    name: string,
    args: JsonObject | undefined,
    options: CallOptions & { readonly output: S },
  ): Promise<TypedResult<S>>;
  call(name: string, args?: JsonObject, options?: CallOptions): Promise<CallToolResult>;
  call(
    name: string,
    args?: JsonObject,
    options?: CallOptions & { readonly output?: StandardSchema },
  ): Promise<CallToolResult> {
    try {
      if (options !== undefined || !isPlain(args)) this.#check?.(args, options);
      const called = this.#called(name, args, options);
      const output = options?.output;
      return output === undefined ? called : called.then((result) => typedResult(name, result, output));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  // A call may wait for a person for an hour: an async function that waits keeps far more than a promise does.
  #called(name: string, args?: JsonObject, options?: CallOptions): Promise<CallToolResult> {
    this.#requests.gate("tools", "tools/call");
    // A session that has tasks would refuse a plain call of such a tool.
    const required = this.#toolCache.get(name)?.tool.execution?.taskSupport === "required";
    if (required && this.#tasks.requested) {
      return this.#tasks.start(name, args, options).then((task) => task.result(options));
    }
    const params = args === undefined ? { name } : { name, arguments: args };
    return this.#requests.run("tools/call", params, withMirrors(options, this.#toolCache.get(name)?.mirrored)).then(
      (result) => this.#outcome(name, result, options),
      async (error) => this.#outcome(name, await this.#sentAnew(params, error, options), options),
    );
  }

  #outcome(name: string, result: JsonObject, options?: CallOptions): Awaitable<CallToolResult> {
    // Asked for round by round: the caller answers.
    if (result["resultType"] === "input_required") return result as unknown as CallToolResult;
    if (result["resultType"] === "task") return this.#tasks.begun(result, name).result(options);
    const known = this.#toolCache.get(name);
    const outcome = result as unknown as CallToolResult;
    return known === undefined ? outcome : this.#toolCache.checked(known, outcome);
  }

  /** Calls a tool as a task where the server can, and comes back when it has begun. */
  callTask(name: string, args?: JsonObject, options?: TaskOptions): Promise<TaskHandle> {
    return this.#tasks.start(name, args, options);
  }

  /** A task begun before, by this client or another one of the same user. */
  task(id: string): TaskHandle {
    return this.#tasks.known(id);
  }

  /**
   * Reads a URI, or what a template (`file:///{path}`) makes of `variables`. Rejects also with INVALID_TEMPLATE, INVALID_VALUE,
   * and UNKNOWN_VARIABLE for a value the template has no place for.
   */
  async read(uri: string, variables?: TemplateValues, options?: CallOptions): Promise<ReadResourceResult> {
    this.#requests.gate("resources", "resources/read");
    const value = variables === undefined ? uri : await expanded(uri, variables);
    const result = await this.#lists.kept("resources/read", { name: "uri", value }, options);
    return result as unknown as ReadResourceResult;
  }

  async prompt(name: string, args?: Readonly<Record<string, string>>, options?: CallOptions): Promise<GetPromptResult> {
    this.#requests.gate("prompts", "prompts/get");
    const params = args === undefined ? { name } : { name, arguments: args };
    return (await this.#requests.run("prompts/get", params, options)) as unknown as GetPromptResult;
  }

  /**
   * Values for an argument that is being typed. With `debounceMs` only the last of several calls in that time is sent;
   * the others resolve with its answer. Answers are kept for a short while.
   */
  complete(
    ref: CompletionReference,
    argument: CompleteRequestParams["argument"],
    options?: CompleteOptions,
  ): Promise<Completion> {
    return this.#completions.complete(ref, argument, options);
  }

  /** Lowest level of log messages wanted: for the session, or for every request from now on where there is none. */
  async setLogLevel(level: LoggingLevel): Promise<void> {
    this.#requests.gate("logging", "logging/setLevel");
    this.#logs.level = level;
    if (this.era === "stateless") this.#requests.logLevel = level;
    else await this.#requests.run("logging/setLevel", { level });
  }

  /** Watches lists and resources until disposed of. After a reconnection everything watched is said to have changed. */
  subscribe(watched: Watched): Subscription {
    return this.#subscriptions.subscribe(watched);
  }

  /** Other folders from now on; the server is told where the revision has a way. */
  setRoots(roots: NonNullable<ClientOptions["roots"]>): void {
    if (this.#wire.established.conversation.codec.capabilities.roots === undefined) {
      throw new LocalError(
        "NOT_SUPPORTED",
        "This client did not declare roots: pass `roots` to connect, even an empty list",
      );
    }
    this.#questions.setRoots(roots);
    if (this.era === "handshake") this.#wire.notify("notifications/roots/list_changed");
  }

  /** Any request, as it is: no capability is asked for, the result is the neutral one. */
  request(method: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject> {
    if (typeof method !== "string" || method === "") {
      const text = 'request(method, params, options) takes a method first, as in request("tools/list", {})';
      return Promise.reject(new LocalError("BAD_OPTIONS", text));
    }
    return this.#requests.run(method, params, options);
  }

  /** Any notification, as it is. */
  notify(method: string, params?: JsonObject): void {
    this.#wire.notify(method, params);
  }

  /** Resolves with the milliseconds until the server answered, with an error even: it is alive. */
  async ping(options: CallOptions = {}): Promise<number> {
    const since = performance.now();
    const method = this.era === "stateless" ? "server/discover" : "ping";
    try {
      await this.#requests.run(method, undefined, options);
    } catch (error) {
      // Any answer is one: some servers do not know the method.
      if (!(error instanceof RpcError)) throw error;
    }
    return performance.now() - since;
  }

  /** Ends the connection, and a process that was started. Leaves no timer, no listener, no process. Never rejects. */
  async close(): Promise<void> {
    this.#stop(undefined);
    await this.#wire.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #open({ signal, require: required = [], ping, onListChanged }: ClientOptions): Promise<void> {
    await this.#wire.open(signal);
    const missing = required.filter((name) => this.capabilities[name] === undefined);
    if (missing.length > 0) {
      const error = this.#missing(missing);
      await this.close();
      throw error;
    }
    void this.#wire.closed.then((reason) => this.#stop(reason));
    if (ping !== undefined) this.#pinger = new Pinger(this.#pingTarget(), ping);
    if (onListChanged !== undefined && this.era === "stateless") this.#watchLists();
  }

  // A server that misses a header, or finds another value, has another list than this client: it is read once more.
  async #sentAnew(
    params: JsonObject & { readonly name: string },
    error: unknown,
    options: SendOptions | undefined,
  ): Promise<JsonObject> {
    const requests = this.#requests;
    if (!(error instanceof RpcError)) throw error;
    // It may not be there any more, or take other arguments.
    if (error.code === ErrorCode.InvalidParams) this.#lists.doubtTools();
    // In a session these numbers are the server's own: the call may have run.
    if (!this.#wire.established.revision.rules.statelessErrors) throw error;
    if (wantsTasks(error)) return requests.run("tools/call", params, { ...options, tasks: true });
    if (error.code !== McpErrorCode.HeaderMismatch) throw error;
    this.#lists.forget({ kind: "tools" });
    if (options?.once === true) throw error;
    await this.#lists.tools().all();
    return requests.run("tools/call", params, withMirrors(options, this.#toolCache.get(params.name)?.mirrored));
  }

  #stop(reason: LocalError | undefined): void {
    this.#pinger?.stop();
    this.#completions.stop();
    this.#subscriptions.end(reason);
    this.#asked.cancelAll();
  }

  #events(): ConstructorParameters<typeof Wire>[1]["events"] {
    return {
      asked: (message, carrier, conversation) => this.#serve(message, carrier, conversation),
      notified: (method, params, conversation) => this.#notified(method, params, conversation),
      noise: (line) => this.#tell(this.#options.onNoise, line),
      warn: (text) => this.#warn(text),
      reopened: () => {
        this.#asked.cancelAll();
        this.#lists.forgetAll();
        this.#completions.clear();
        this.#subscriptions.reopened();
      },
    };
  }

  #serve(message: RequestMessage, carrier: Carrier, conversation: Conversation): Promise<void> {
    const server = this.#wire.knownServer;
    // What was cancelled may have asked before it heard of that, or may never hear: nobody is asked, and it waits for no answer.
    const questions = conversation.late ? new Questions({}) : this.#requests.openCalls.asked(conversation.stream);
    return this.#asked.serve(message, carrier, { codec: conversation.codec, server, questions });
  }

  #notified(method: string, params: JsonObject, { stream }: Conversation): void {
    const { _meta: meta } = params;
    const id = isJsonObject(meta) ? meta[META.subscriptionId] : undefined;
    const change = changeOf(method, params);
    if (change !== undefined) {
      this.#lists.forget(change);
      this.#subscriptions.changed(change, id);
      if (change.kind !== "resource") this.#tell(this.#options.onListChanged, change);
    } else if (method === "notifications/message") {
      const message = this.#logs.take(params);
      if (message === undefined) return;
      this.#tell(this.#options.onLog, message);
      this.#tell((logged) => this.#requests.openCalls.logged(stream, logged), message);
    } else if (method === "notifications/subscriptions/acknowledged") {
      const { notifications } = params;
      this.#subscriptions.acknowledged(id, isJsonObject(notifications) ? notifications : {});
    } else if (method === "notifications/cancelled") {
      this.#asked.cancel(params);
      this.#subscriptions.cancelled(params["requestId"]);
    } else if (method === "notifications/elicitation/complete") {
      this.#requests.pages.completed(params);
    } else if (method === "notifications/tasks" || method === "notifications/tasks/status") {
      this.#tasks.notified(params);
    } else if (method !== "notifications/progress") {
      this.#tell((said) => this.#options.onNotification?.(method, said), params);
    }
  }

  #watchLists(): void {
    const { tools, prompts, resources } = this.capabilities;
    const watched = {
      toolsListChanged: tools?.listChanged === true,
      promptsListChanged: prompts?.listChanged === true,
      resourcesListChanged: resources?.listChanged === true,
    };
    if (Object.values(watched).includes(true)) this.#subscriptions.subscribe(watched);
  }

  #pingTarget(): ConstructorParameters<typeof Pinger>[0] {
    return {
      ping: (timeoutMs) => this.ping({ timeoutMs }),
      warn: (text) => this.#warn(text),
      giveUp: (text) => void this.#wire.close(new LocalError("TIMEOUT", text)),
    };
  }

  #warn(text: string): void {
    const { onWarning } = this.#options;
    if (onWarning !== undefined) guarded(onWarning, () => undefined)(text);
  }

  #tell<T>(told: ((value: T) => void) | undefined, value: T): void {
    if (told !== undefined) guarded(told, (text) => this.#warn(text))(value);
  }

  #missing(names: readonly (keyof ServerCapabilities)[]): ConnectError {
    const { capabilities, server } = this;
    const declared = Object.keys(capabilities).join(", ") || "nothing";
    const text = `${peerWords(server.name)} lacks what is required: ${names.join(", ")}. It declared ${declared}.`;
    return new ConnectError("NOT_SUPPORTED", text, { attempts: [] });
  }
}

/** As it was made, whoever has put another function in its place since. */
export const ownCall: unknown = Client.prototype.call;

/** Whether the tool runs as a task only. */
function wantsTasks({ code, data }: RpcError): boolean {
  if (code !== McpErrorCode.MissingRequiredClientCapability || !isJsonObject(data)) return false;
  const { extensions } = (data["requiredCapabilities"] ?? {}) as ClientCapabilities;
  return extensions?.[TASKS_EXTENSION] !== undefined;
}

/** Almost all arguments are: there is nothing to look at, which would cost each call. */
function isPlain(args: unknown): boolean {
  if (args === undefined) return true;
  return typeof args === "object" && args !== null && Object.getPrototypeOf(args) === Object.prototype;
}

function withMirrors(options: CallOptions | undefined, mirrored: SendOptions["mirrored"]): SendOptions | undefined {
  return mirrored === undefined ? options : { ...options, mirrored };
}

/** What reads templates is loaded with the first one that is filled in: most programs read URIs as lists show them. */
async function expanded(text: string, variables: TemplateValues): Promise<string> {
  const { UriTemplate } = await import("../protocol/uri-template.js");
  const template = new UriTemplate(text);
  const stranger = Object.keys(variables).find((name) => !template.variables.includes(name));
  if (stranger === undefined) return template.expand(variables);
  const known = template.variables.join(", ") || "none";
  throw new LocalError("UNKNOWN_VARIABLE", `The template ${text} has no variable "${stranger}" (it has ${known})`);
}

// Serves the questions a server sends as requests of its own, in a session.

/** What is known of a question beside its params, and who answers it where that is one call's caller. */
interface AskedBy {
  readonly codec: ClientCodec;
  readonly server: Implementation;
  readonly signal: AbortSignal;
  readonly questions?: Questions | undefined;
}

/**
 * Questions answered at once by whoever answers: one call's caller, or the client itself. A server that asks more is told so. As many
 * as a batch of calls that each ask a model has under way, and still few enough to be held.
 */
const MOST_AT_ONCE = 256;

class AskedQuestions {
  readonly #questions: Questions;
  readonly #warn: (text: string) => void;
  readonly #open = new Map<unknown, AbortController>();
  /** How many each who answers has before it. */
  readonly #loads = new Map<Questions, number>();

  constructor(questions: Questions, warn: (text: string) => void) {
    this.#questions = questions;
    this.#warn = warn;
  }

  /** Answers one question on its carrier; one that is cancelled is not answered. */
  async serve(
    message: RequestMessage,
    carrier: Carrier,
    about: { codec: ClientCodec; server: Implementation; questions: Questions | undefined },
  ): Promise<void> {
    const { id, method, params = {} } = message;
    if (method === "ping") return void carrier.write(successText(id, "{}"), "response");
    // It came twice, as from a stream that was taken up again: it has one answer.
    if (this.#open.has(id)) return carrier.abandon?.();
    const controller = new AbortController();
    const who = about.questions ?? this.#questions;
    const load = this.#loads.get(who) ?? 0;
    try {
      if (load >= MOST_AT_ONCE) throw busy();
      this.#open.set(id, controller);
      this.#loads.set(who, load + 1);
      const text = await this.#answered(method, params, { ...about, signal: controller.signal });
      if (controller.signal.aborted) carrier.abandon?.();
      else void carrier.write(successText(id, text), "response");
    } catch (error) {
      if (controller.signal.aborted) carrier.abandon?.();
      else this.#refuse(message, carrier, error);
    } finally {
      if (this.#open.get(id) === controller) this.#forget(id, who);
    }
  }

  #forget(id: unknown, who: Questions): void {
    this.#open.delete(id);
    const left = (this.#loads.get(who) ?? 1) - 1;
    if (left > 0) this.#loads.set(who, left);
    else this.#loads.delete(who);
  }

  /** The server took its question back. */
  cancel(params: JsonObject): void {
    this.#open.get(params["requestId"])?.abort("cancelled by the server");
  }

  /** Nobody hears the answers any more. */
  cancelAll(): void {
    for (const controller of this.#open.values()) controller.abort("the connection ended");
    this.#open.clear();
    this.#loads.clear();
  }

  async #answered(
    method: string,
    params: JsonObject,
    { codec, server, signal, questions = this.#questions }: AskedBy,
  ): Promise<string> {
    const declared = codec.capabilities;
    const answer = await questions.answer(method, params, { signal, server }, declared);
    return jsonText(codec.answer(method, answer));
  }

  // What the handler threw stays here: only an RpcError was made to be read by the server.
  #refuse({ id, method }: RequestMessage, carrier: Carrier, error: unknown): void {
    const known = error instanceof RpcError;
    const shown = known ? error : new RpcError(ErrorCode.InternalError, "The client could not answer");
    if (!known) this.#warn(`Answering ${method} failed: ${error instanceof Error ? error.message : String(error)}`);
    void carrier.write(failureText(id, shown.toObject()), "response", shown.code);
  }
}

function busy(): RpcError {
  return new RpcError(
    ErrorCode.InternalError,
    `This client answers ${MOST_AT_ONCE} questions at once: ask again later`,
  );
}
