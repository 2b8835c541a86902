// A connection to one server: everything a client can ask of it, typed.
/// <reference lib="esnext.disposable" preserve="true" />
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject, type RequestId, type RequestMessage } from "../jsonrpc/message.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { GetPromptResult, Prompt } from "../protocol/features/prompts.js";
import type { ReadResourceResult, Resource, ResourceTemplate } from "../protocol/features/resources.js";
import type { CallToolResult, Tool } from "../protocol/features/tools.js";
import type { CompleteRequestParams, CompletionReference } from "../protocol/features/completion.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { TemplateValues } from "../protocol/uri-template/expand.js";
import { type CallOptions, changeOf, type ClientOptions, type Dialer, type Settings, settingsOf } from "./options.js";
import { type CompleteOptions, Completions, type Completion, type Listing, Lists } from "./lists.js";
import { type LogMessage, LogRing } from "./log-ring.js";
import { type Subscription, Subscriptions, type Watched } from "./subscriptions.js";
import { type TaskHandle, type TaskOptions, Tasks } from "./tasks.js";
import type { Carrier } from "../jsonrpc/transport.js";
import { META } from "../protocol/meta.js";
import { AskedQuestions, Calls } from "./calls.js";
import { ConnectError, type Established } from "./established.js";
import type { Conversation } from "./conversation.js";
import { Pinger } from "./pinger.js";
import { Questions } from "./questions.js";
import { Requests, Wire, guarded } from "./wire.js";
import { ResponseCache } from "./response-cache.js";
import { ToolBook } from "./tool-book.js";
import { UriTemplate } from "../protocol/uri-template.js";

/**
 * A client of one server, made by `connect`. Methods reject with an `RpcError` when the server answers with an error,
 * otherwise with a `LocalError`: TIMEOUT, CANCELLED, CLOSED, EXITED, OUTCOME_UNKNOWN (it may have run), NOT_SUPPORTED
 * (the server does not serve it, nothing was sent), INVALID_RESPONSE, INVALID_OUTPUT, REFUSED, LIMIT, UNAUTHORIZED,
 * HTTP_STATUS.
 */
export class Client {
  readonly #parts: ClientParts;

  private constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Connects by the dialer's links. Rejects with a ConnectError; then nothing is left open. */
  static async connect(dialer: Dialer, options: ClientOptions = {}): Promise<Client> {
    const parts = new ClientParts(dialer, options);
    await parts.open(options);
    return new Client(parts);
  }

  /** Who the server is, by its own account: to show, never to decide by. */
  get server(): Implementation {
    return this.#parts.established.server;
  }

  /** Date of the revision both sides speak. */
  get revision(): string {
    return this.#parts.established.revision.date;
  }

  get era(): "handshake" | "stateless" {
    return this.#parts.established.revision.era;
  }

  /** How the bytes travel: "stdio", "http", "sse", "memory", or what the transport calls itself. */
  get transport(): string {
    return this.#parts.established.conversation.transport.kind;
  }

  get capabilities(): ServerCapabilities {
    return this.#parts.established.capabilities;
  }

  get instructions(): string | undefined {
    return this.#parts.established.instructions;
  }

  /** Revisions the server says it speaks; empty where it does not say. */
  get offered(): readonly string[] {
    return this.#parts.established.offered;
  }

  /** The latest 200 log messages, oldest first. */
  get logs(): readonly LogMessage[] {
    return this.#parts.logs.messages;
  }

  /** Messages without a meaning that were ignored: answers to nothing, second answers, questions outside of a session. */
  get ignoredMessages(): number {
    return this.#parts.established.conversation.ignored;
  }

  /** Resolves when the client is closed: with the reason, unless `close` was called. */
  get closed(): Promise<LocalError | undefined> {
    return this.#parts.wire.closed;
  }

  tools(options?: CallOptions): Listing<Tool> {
    return this.#parts.lists.tools(options);
  }

  resources(options?: CallOptions): Listing<Resource> {
    return this.#parts.lists.resources(options);
  }

  resourceTemplates(options?: CallOptions): Listing<ResourceTemplate> {
    return this.#parts.lists.resourceTemplates(options);
  }

  prompts(options?: CallOptions): Listing<Prompt> {
    return this.#parts.lists.prompts(options);
  }

  /** Calls a tool. A result with `isError` is a result. Structured content of tools that were listed is checked. */
  call(name: string, args?: JsonObject, options?: CallOptions): Promise<CallToolResult> {
    return this.#parts.calls.call(name, args, options);
  }

  /** Calls a tool as a task where the server can, and comes back when it has begun. */
  callTask(name: string, args?: JsonObject, options?: TaskOptions): Promise<TaskHandle> {
    return this.#parts.tasks.start(name, args, options);
  }

  /** A task begun before, by this client or another one of the same user. */
  task(id: string): TaskHandle {
    return this.#parts.tasks.known(id);
  }

  /** Reads a URI, or what a template (`file:///{path}`) makes of `variables`. */
  read(uri: string, variables?: TemplateValues, options?: CallOptions): Promise<ReadResourceResult> {
    return this.#parts.reads.read(uri, variables, options);
  }

  prompt(name: string, args?: Readonly<Record<string, string>>, options?: CallOptions): Promise<GetPromptResult> {
    return this.#parts.reads.prompt(name, args, options);
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
    return this.#parts.completer.complete(ref, argument, options);
  }

  /** Lowest level of log messages wanted: for the session, or for every request from now on where there is none. */
  setLogLevel(level: LoggingLevel): Promise<void> {
    return this.#parts.setLogLevel(level);
  }

  /** Watches lists and resources until disposed of. After a reconnection everything watched is said to have changed. */
  subscribe(watched: Watched): Subscription {
    return this.#parts.subscriptions.subscribe(watched);
  }

  /** Other folders from now on; the server is told where the revision has a way. */
  setRoots(roots: NonNullable<ClientOptions["roots"]>): void {
    this.#parts.setRoots(roots);
  }

  /** Any request, as it is: no capability is asked for, the result is the neutral one. */
  request(method: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject> {
    return this.#parts.requests.run(method, params, options);
  }

  /** Any notification, as it is. */
  notify(method: string, params?: JsonObject): void {
    this.#parts.wire.notify(method, params);
  }

  /** Resolves with the milliseconds until the server answered, with an error even: it is alive. */
  ping(options?: CallOptions): Promise<number> {
    return this.#parts.ping(options);
  }

  /** Ends the connection, and a process that was started. Leaves no timer, no listener, no process. Never rejects. */
  close(): Promise<void> {
    return this.#parts.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.close();
  }
}

// Puts a client together from its parts, and deals out what the server says by itself.

class ClientParts {
  readonly wire: Wire;
  readonly requests: Requests;
  readonly lists: Lists;
  readonly calls: Calls;
  readonly tasks: Tasks;
  readonly reads: Reads;
  readonly completer: Completions;
  readonly subscriptions: Subscriptions;
  readonly logs: LogRing = new LogRing();
  readonly #options: ClientOptions;
  readonly #settings: Settings;
  readonly #questions: Questions;
  readonly #asked: AskedQuestions;
  #pinger: Pinger | undefined;

  constructor(dialer: Dialer, options: ClientOptions) {
    this.#options = options;
    this.#settings = settingsOf(options);
    this.#questions = new Questions(options);
    this.#asked = new AskedQuestions(this.#questions, (text) => this.#warn(text));
    const settings = this.#settings;
    this.wire = new Wire(dialer, { settings, reconnect: options.reconnect, events: this.#events() });
    const { wire } = this;
    const warn = (text: string): void => this.#warn(text);
    const book = new ToolBook({ validateOutput: settings.validateOutput, warn });
    const cache = options.cache === false ? undefined : new ResponseCache(options.cache);
    this.requests = new Requests(wire, this.#questions, { settings, logs: this.logs, warn });
    const { requests } = this;
    this.lists = new Lists({ wire, requests, cache, book });
    this.tasks = new Tasks({ wire, requests, book });
    this.calls = new Calls({ wire, requests, book, lists: this.lists, tasks: this.tasks });
    this.reads = new Reads(requests, this.lists);
    this.completer = new Completions(requests, wire);
    this.subscriptions = new Subscriptions(wire, settings);
  }

  get established(): Established {
    return this.wire.established;
  }

  /** Rejects with a ConnectError; then nothing is left open. */
  async open({ signal, require: required = [], ping, onListChanged }: ClientOptions): Promise<void> {
    await this.wire.open(signal);
    const missing = required.filter((name) => this.established.capabilities[name] === undefined);
    if (missing.length > 0) {
      const error = this.#missing(missing);
      await this.close();
      throw error;
    }
    void this.wire.closed.then((reason) => this.#over(reason));
    if (ping !== undefined) this.#pinger = new Pinger(this.#pingTarget(), ping);
    if (onListChanged !== undefined && this.established.revision.era === "stateless") this.#watchLists();
  }

  async setLogLevel(level: LoggingLevel): Promise<void> {
    this.requests.gate("logging", "logging/setLevel");
    this.logs.level = level;
    if (this.established.revision.era === "stateless") this.requests.logLevel = level;
    else await this.requests.run("logging/setLevel", { level });
  }

  setRoots(roots: NonNullable<ClientOptions["roots"]>): void {
    const { conversation, revision } = this.established;
    if (conversation.codec.capabilities.roots === undefined) {
      throw new LocalError(
        "NOT_SUPPORTED",
        "This client did not declare roots: pass `roots` to connect, even an empty list",
      );
    }
    this.#questions.setRoots(roots);
    if (revision.era === "handshake") this.wire.notify("notifications/roots/list_changed");
  }

  async ping(options: CallOptions = {}): Promise<number> {
    const since = performance.now();
    const method = this.established.revision.era === "stateless" ? "server/discover" : "ping";
    try {
      await this.requests.run(method, undefined, options);
    } catch (error) {
      // Any answer is one: some servers do not know the method.
      if (!(error instanceof RpcError)) throw error;
    }
    return performance.now() - since;
  }

  async close(): Promise<void> {
    this.#pinger?.stop();
    this.completer.stop();
    this.subscriptions.end(undefined);
    this.#asked.cancelAll();
    await this.wire.close();
  }

  #over(reason: LocalError | undefined): void {
    this.#pinger?.stop();
    this.completer.stop();
    this.#asked.cancelAll();
    this.subscriptions.end(reason);
  }

  #events(): ConstructorParameters<typeof Wire>[1]["events"] {
    return {
      asked: (message, carrier, conversation) => this.#serve(message, carrier, conversation),
      notified: (method, params, conversation) => this.#notified(method, params, conversation),
      noise: (line) => this.#tell(this.#options.onNoise, line),
      warn: (text) => this.#warn(text),
      reopened: () => {
        this.#asked.cancelAll();
        this.lists.forgetAll();
        this.completer.clear();
        this.subscriptions.reopened();
      },
    };
  }

  #serve(message: RequestMessage, carrier: Carrier, conversation: Conversation): Promise<void> {
    const server = this.wire.knownServer;
    const questions = this.requests.openCalls.asked(conversation.stream);
    return this.#asked.serve(message, carrier, { codec: conversation.codec, server, questions });
  }

  #notified(method: string, params: JsonObject, { stream }: Conversation): void {
    const { _meta: meta } = params;
    const id = isJsonObject(meta) ? meta[META.subscriptionId] : undefined;
    const change = changeOf(method, params);
    if (change !== undefined) {
      this.lists.forget(change);
      this.subscriptions.changed(change, id);
      if (change.kind !== "resource") this.#tell(this.#options.onListChanged, change);
    } else if (method === "notifications/message") {
      const message = this.logs.take(params);
      if (message === undefined) return;
      this.#tell(this.#options.onLog, message);
      this.#tell((logged) => this.requests.openCalls.logged(stream, logged), message);
    } else if (method === "notifications/subscriptions/acknowledged") {
      this.subscriptions.acknowledged(id, (params["notifications"] ?? {}) as JsonObject);
    } else if (method === "notifications/cancelled") {
      this.#asked.cancel(params);
      this.subscriptions.cancelled(params["requestId"] as RequestId);
    } else if (method === "notifications/elicitation/complete") {
      this.requests.pages.completed(params);
    } else if (method === "notifications/tasks" || method === "notifications/tasks/status") {
      this.tasks.notified(params);
    }
  }

  #watchLists(): void {
    const { tools, prompts, resources } = this.established.capabilities;
    const watched = {
      toolsListChanged: tools?.listChanged === true,
      promptsListChanged: prompts?.listChanged === true,
      resourcesListChanged: resources?.listChanged === true,
    };
    if (Object.values(watched).includes(true)) this.subscriptions.subscribe(watched);
  }

  #pingTarget(): ConstructorParameters<typeof Pinger>[0] {
    return {
      ping: (timeoutMs) => this.ping({ timeoutMs }),
      warn: (text) => this.#warn(text),
      giveUp: (text) => void this.wire.close(new LocalError("TIMEOUT", text)),
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
    const { capabilities, server } = this.established;
    const declared = Object.keys(capabilities).join(", ") || "nothing";
    const text = `${server.name} lacks what is required: ${names.join(", ")}. It declared ${declared}.`;
    return new ConnectError("NOT_SUPPORTED", text, { attempts: [] });
  }
}

// Reads resources, by URI or template, and fills in prompts.

class Reads {
  readonly #requests: Requests;
  readonly #lists: Lists;

  constructor(requests: Requests, lists: Lists) {
    this.#requests = requests;
    this.#lists = lists;
  }

  /** Throws INVALID_TEMPLATE, INVALID_VALUE, and UNKNOWN_VARIABLE for a value the template has no place for. */
  async read(uri: string, variables: TemplateValues | undefined, options?: CallOptions): Promise<ReadResourceResult> {
    this.#requests.gate("resources", "resources/read");
    const value = variables === undefined ? uri : expanded(uri, variables);
    const result = await this.#lists.kept("resources/read", { name: "uri", value }, options);
    return result as unknown as ReadResourceResult;
  }

  async prompt(
    name: string,
    args: Readonly<Record<string, string>> | undefined,
    options?: CallOptions,
  ): Promise<GetPromptResult> {
    this.#requests.gate("prompts", "prompts/get");
    const params = args === undefined ? { name } : { name, arguments: args };
    return (await this.#requests.run("prompts/get", params, options)) as unknown as GetPromptResult;
  }
}

function expanded(text: string, variables: TemplateValues): string {
  const template = new UriTemplate(text);
  const stranger = Object.keys(variables).find((name) => !template.variables.includes(name));
  if (stranger === undefined) return template.expand(variables);
  const known = template.variables.join(", ") || "none";
  throw new LocalError("UNKNOWN_VARIABLE", `The template ${text} has no variable "${stranger}" (it has ${known})`);
}
