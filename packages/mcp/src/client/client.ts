// A connection to one server: everything a client can ask of it, typed.
/// <reference lib="esnext.disposable" preserve="true" />
import type { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { GetPromptResult, Prompt } from "../protocol/features/prompts.js";
import type { ReadResourceResult } from "../protocol/features/resources.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { CompleteRequestParams, CompletionReference } from "../protocol/features/completion.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { Implementation } from "../protocol/implementation.js";
import type { Resource, ResourceTemplate } from "../protocol/resource.js";
import type { Tool } from "../protocol/tool.js";
import type { TemplateValues } from "../protocol/uri-template/expand.js";
import type { CallOptions } from "./call-options.js";
import type { ClientOptions, Dialer } from "./connect-options.js";
import { ClientParts } from "./client-parts.js";
import type { CompleteOptions, Completion } from "./completion.js";
import type { Listing } from "./listing.js";
import type { LogMessage } from "./log-ring.js";
import type { Subscription, Watched } from "./subscription.js";
import type { TaskHandle } from "./task-handle.js";
import type { TaskOptions } from "./tasks.js";

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

  /** How the bytes travel: "stdio", "http", "sse", "memory", or what the link calls itself. */
  get transport(): string {
    return this.#parts.established.conversation.link.kind;
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
