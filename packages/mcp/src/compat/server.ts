// The low-level server of SDK v1 and v2 (`mcpServer.server`) on our core: handlers by method, questions, notifications.
import type { Answer, Call, MaybePromise } from "../endpoint/call.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { ClientCapabilities, Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { ElicitResult, Root } from "../protocol/features/elicitation.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { CreateMessageResult } from "../protocol/features/sampling.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import type { CapabilityOptions } from "../server/core.js";
import { Context } from "../server/context.js";
import { InputRequired, runInteractive } from "../server/interactive.js";
import { type Reporter, reporterOf } from "../server/reporter.js";
import { coreOf } from "../server/lean-server.js";
import type { Seal } from "../server/sealing.js";
import { Server as CoreServer } from "../server/server.js";
import type { Serving } from "../server/conversation.js";
import type { InferStandard, StandardSchema } from "../schema/standard-schema.js";
import type { SdkMessage } from "./schema.js";
import { asRpcError } from "./sdk-values.js";
import { Extra, type Message } from "./extra.js";
import { type AnyTransport, askWithin, OpenSessions, type RequestOptions, serveOver } from "./transport.js";

/** Options of `Server` and `McpServer` in the SDKs; what our core does not need is taken and left. */
export interface ServerOptions {
  readonly capabilities?: ServerCapabilities;
  readonly instructions?: string;
  readonly [other: string]: unknown;
}

/** Serves one method: the request as it came, and what may be done besides returning. */
type RequestHandler = (request: never, extra: Extra) => unknown;

/** A schema that names its method in a literal, one of our stand-ins, or the method itself. */
type MethodOf = string | object;

/** The low-level server of SDK v1 and v2: handlers by method, and messages to the client. */
export class Server {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  /** Called when a session's client says that it is ready. Clients of 2026-07-28 open none. */
  oninitialized?: (() => void) | undefined;
  fallbackRequestHandler?: ((request: JsonObject, extra: Extra) => unknown) | undefined;
  readonly #info: Implementation;
  readonly #options: ServerOptions;
  readonly #written: Reporter;
  #capabilities: ServerCapabilities;
  readonly #requests = new Map<string, RequestHandler>();
  readonly #notifications = new Map<string, (notification: never) => unknown>();
  readonly #sessions = new OpenSessions();
  readonly #scopes = new Scopes();
  readonly #built: ((core: CoreServer) => void)[] = [];
  #core: CoreServer | undefined;
  #serving: Serving | undefined;
  #transport: AnyTransport | undefined;

  constructor(info: Implementation, options: ServerOptions = {}) {
    this.#info = info;
    this.#written = reporterOf(info.name, undefined);
    this.#options = options;
    this.#capabilities = options.capabilities ?? {};
  }

  /** Serves a method. `method` is its name, or a schema of a request with `method` in it. */
  setRequestHandler<S extends StandardSchema>(
    method: S,
    handler: (request: InferStandard<S>, extra: Extra) => unknown,
  ): void;
  setRequestHandler<M extends string>(method: M, handler: (request: SdkMessage<M>, extra: Extra) => unknown): void;
  setRequestHandler(method: MethodOf, ...rest: readonly unknown[]): void;
  setRequestHandler(method: MethodOf, ...rest: readonly unknown[]): void {
    const name = methodOf(method);
    this.#requests.set(name, rest.at(-1) as RequestHandler);
    if (this.#core !== undefined) this.#serveOwn(this.#core, name);
  }

  setNotificationHandler<S extends StandardSchema>(
    method: S,
    handler: (notification: InferStandard<S>) => unknown,
  ): void;
  setNotificationHandler<M extends string>(method: M, handler: (notification: SdkMessage<M>) => unknown): void;
  setNotificationHandler(method: MethodOf, ...rest: readonly unknown[]): void;
  setNotificationHandler(method: MethodOf, ...rest: readonly unknown[]): void {
    const name = methodOf(method);
    this.#notifications.set(name, rest.at(-1) as (notification: never) => unknown);
    if (this.#core !== undefined) this.#hear(this.#core, name);
  }

  removeRequestHandler(method: string): void {
    this.#requests.delete(method);
  }

  removeNotificationHandler(method: string): void {
    this.#notifications.delete(method);
  }

  /** Declares capabilities besides those that follow from what is registered. Throws once there is a connection. */
  registerCapabilities(capabilities: ServerCapabilities): void {
    if (this.#serving !== undefined) throw new Error("Cannot register capabilities after connecting to transport");
    this.#capabilities = { ...this.#capabilities, ...capabilities };
  }

  /** Serves one connection at a time, as the SDKs do. */
  async connect(transport: AnyTransport): Promise<void> {
    if (this.#serving !== undefined) {
      throw new Error("Already connected to a transport. Call close() before connecting to a new transport");
    }
    const core = this.coreServer();
    this.#transport = transport;
    const serving = await serveOver(core, transport);
    this.#serving = serving;
    void serving.closed.then(() => this.#ended(serving));
  }

  /** Our server with everything that is registered here: for `toFetch`, `serveHttp` and what else serves many clients. `seal` makes several servers one for the states of questions. */
  coreServer(shared: { readonly seal?: Seal } = {}): CoreServer {
    return (this.#core ??= this.#build(shared));
  }

  /** Told of the core as soon as there is one: registrations wait for it. */
  whenBuilt(task: (core: CoreServer) => void): void {
    this.#built.push(task);
    if (this.#core !== undefined) task(this.#core);
  }

  async close(): Promise<void> {
    await this.#serving?.close();
  }

  get transport(): AnyTransport | undefined {
    return this.#serving === undefined ? undefined : this.#transport;
  }

  isConnected(): boolean {
    return this.#serving !== undefined;
  }

  getClientCapabilities(): ClientCapabilities | undefined {
    return this.#who()?.caller.capabilities;
  }

  getClientVersion(): Implementation | undefined {
    return this.#who()?.caller.client;
  }

  getNegotiatedProtocolVersion(): string | undefined {
    return this.#who()?.caller.codec.revision.date;
  }

  async ping(): Promise<object> {
    return this.#sessions.ask("ping", {});
  }

  async createMessage(params: object, options?: RequestOptions): Promise<CreateMessageResult> {
    return (await this.#ask("sampling/createMessage", params, options)) as unknown as CreateMessageResult;
  }

  async elicitInput(params: object, options?: RequestOptions): Promise<ElicitResult> {
    return (await this.#ask("elicitation/create", params, options)) as unknown as ElicitResult;
  }

  async listRoots(params: object = {}, options?: RequestOptions): Promise<{ roots: Root[] }> {
    return (await this.#ask("roots/list", params, options)) as unknown as { roots: Root[] };
  }

  /** Sends any request: within a handler on behalf of its request, else to the open session. */
  request({ method, params = {} }: Message, _schema?: unknown, options?: RequestOptions): Promise<JsonObject> {
    return this.#ask(method, params, options);
  }

  async notification(
    { method, params = {} }: Message,
    options?: { readonly relatedRequestId?: unknown },
  ): Promise<void> {
    const context = this.#scopes.current();
    if (context !== undefined && (options?.relatedRequestId !== undefined || isStateless(context))) {
      const { sendNotification } = new Extra(context, undefined);
      return sendNotification({ method, params });
    }
    // Lists and resources are the server's: changes to them concern everybody.
    const whose = /\/(?:list_changed|updated)$/.test(method) ? undefined : context;
    this.#sessions.notify(method, params, whose && Context.callOf(whose));
  }

  async sendLoggingMessage(
    params: { level: LoggingLevel; logger?: string; data: unknown },
    _sessionId?: string,
  ): Promise<void> {
    const context = this.#scopes.current();
    // A server may be all clients' here: what one call has to say is for its own client.
    if (context === undefined) this.#core?.log(params.level, params.data, params.logger);
    else if (context.session === undefined) await context.log(params.level, params.data, params.logger);
    else context.session.log(params.level, params.data, params.logger);
  }

  async sendResourceUpdated({ uri }: { uri: string }): Promise<void> {
    // Handlers of `resources/subscribe` keep their own lists: sessions are told in any case, as the SDKs do.
    if (this.#requests.has("resources/subscribe")) this.#sessions.notify("notifications/resources/updated", { uri });
    else this.#core?.resourceUpdated(uri);
  }

  async sendToolListChanged(): Promise<void> {
    this.#changed("tools");
  }

  async sendResourceListChanged(): Promise<void> {
    this.#changed("resources");
  }

  async sendPromptListChanged(): Promise<void> {
    this.#changed("prompts");
  }

  createElicitationCompletionNotifier(elicitationId: string): () => Promise<void> {
    return () => this.notification({ method: "notifications/elicitation/complete", params: { elicitationId } });
  }

  /** Runs a handler for one request, with what it may call found again. */
  run<T>(context: Context, handler: (extra: Extra) => T): Promise<Awaited<T>> {
    return this.#scopes.run(context, () => handler(new Extra(context, this.#transport?.sessionId)));
  }

  #ask(method: string, params: object, options?: RequestOptions): Promise<JsonObject> {
    const context = this.#scopes.current();
    return context === undefined
      ? this.#sessions.ask(method, params, options)
      : askWithin(context, method, params, options);
  }

  #who(): Call | undefined {
    const context = this.#scopes.current();
    return context === undefined ? this.#sessions.latest : Context.callOf(context);
  }

  #changed(kind: "tools" | "resources" | "prompts"): void {
    if (this.#core !== undefined) coreOf(this.#core).subscribers?.listChanged(kind);
  }

  #build(shared: { readonly seal?: Seal }): CoreServer {
    const { instructions } = this.#options;
    const core = new CoreServer({
      ...this.#info,
      ...shared,
      ...(instructions === undefined ? {} : { instructions }),
      capabilities: this.#declared(),
      report: this.#report,
    });
    core.use((call, next) => this.#serve(core, call, next));
    core.notification("notifications/initialized", () => this.oninitialized?.());
    for (const method of this.#requests.keys()) this.#serveOwn(core, method);
    for (const method of this.#notifications.keys()) this.#hear(core, method);
    this.#core = core;
    for (const task of this.#built) task(core);
    return core;
  }

  #declared(): CapabilityOptions {
    const { logging, experimental, extensions, tools, prompts, resources, completions } = this.#capabilities;
    const features = { tools, prompts, resources, completions };
    const served = (feature: string): boolean =>
      [...this.#requests.keys()].some((method) => method.startsWith(`${feature}/`));
    return {
      logging: logging !== undefined,
      expect: (["tools", "prompts", "resources", "completions"] as const).filter(
        (feature) => features[feature] !== undefined || served(feature === "completions" ? "completion" : feature),
      ),
      ...(experimental === undefined ? {} : { experimental }),
      ...(extensions === undefined ? {} : { extensions }),
    };
  }

  #serve(core: CoreServer, call: Call, next: () => Promise<Answer>): MaybePromise<Answer> {
    this.#sessions.seen(call);
    const handler = this.#requests.get(call.method);
    // A level is kept by our core too: it is what sends the messages.
    if (handler === undefined || call.method === "logging/setLevel") return next();
    return runInteractive(coreOf(core), call, {
      replaySafe: false,
      run: (context) => this.#handle(context, call.method, handler),
    });
  }

  async #handle(context: Context, method: string, handler: RequestHandler): Promise<JsonObject | InputRequired> {
    const { params } = Context.callOf(context);
    try {
      const returned = await this.run(context, (extra) => handler({ method, params } as never, extra));
      return askedFor(returned) ?? ((returned ?? {}) as JsonObject);
    } catch (error) {
      throw asRpcError(error);
    }
  }

  #serveOwn(core: CoreServer, method: string): void {
    if (REVISIONS.some((revision) => revision.methods.has(method))) return;
    core.method(method, async (params, context) => {
      const handler = this.#requests.get(method) as RequestHandler;
      try {
        return (await this.run(context, (extra) => handler({ method, params } as never, extra))) as JsonObject;
      } catch (error) {
        throw asRpcError(error);
      }
    });
  }

  #hear(core: CoreServer, method: string): void {
    core.notification(method, async (params) => {
      if (method === "notifications/initialized") this.oninitialized?.();
      await this.#notifications.get(method)?.({ method, params } as never);
    });
  }

  /** Whoever set `onerror` hears of failures; else they go where our core writes them. */
  readonly #report: Reporter = (level, message, details) => {
    if (this.onerror === undefined) return this.#written(level, message, details);
    if (level !== "error" && level !== "warning") return;
    const error = details?.["error"];
    this.onerror(error instanceof Error ? error : new Error(message));
  };

  #ended(serving: Serving): void {
    if (this.#serving !== serving) return;
    this.#serving = undefined;
    this.#sessions.clear();
    this.#transport?.onclose?.();
    this.onclose?.();
  }
}

function isStateless(context: Context): boolean {
  return Context.callOf(context).caller.codec.revision.era === "stateless";
}

/** What SDK v2 returns to ask: our own way of saying it. */
export function askedFor(returned: unknown): InputRequired | undefined {
  const { resultType, inputRequests, requestState } = (returned ?? {}) as Readonly<Record<string, unknown>>;
  if (resultType !== "input_required") return undefined;
  return new InputRequired((inputRequests ?? {}) as InputRequired["requests"], requestState);
}

/** A literal of zod 3 or 4. */
interface Literal {
  readonly value?: unknown;
  readonly _def?: { readonly value?: unknown; readonly values?: readonly unknown[] };
}

/** The method that a schema names: ours has it as a member, zod keeps it in a literal. */
function methodOf(method: MethodOf): string {
  if (typeof method === "string") return method;
  const { method: own, shape, _def } = method as { method?: unknown; shape?: unknown; _def?: { shape?: unknown } };
  if (typeof own === "string") return own;
  const shown = shape ?? _def?.shape;
  const members = (typeof shown === "function" ? Reflect.apply(shown, method, []) : shown) as
    | { method?: Literal }
    | undefined;
  const literal = members?.method;
  const value = literal?.value ?? literal?._def?.value ?? literal?._def?.values?.[0];
  if (typeof value === "string") return value;
  throw new TypeError("setRequestHandler takes a method's name, or a schema whose `method` is a literal");
}

// Which request is being served where code runs: SDKs let a handler ask the client through the server itself.

interface Storage<T> {
  run<R>(store: T, task: () => R): R;
  getStore(): T | undefined;
}

/** The handlers being run: where the runtime keeps their context, theirs is found; else one alone is the one meant. */
class Scopes {
  readonly #storage: Storage<Context> | undefined = asyncStorage();
  readonly #running = new Set<Context>();

  /** Runs a handler, so that what it calls finds its context. */
  async run<T>(context: Context, task: () => T): Promise<Awaited<T>> {
    this.#running.add(context);
    try {
      return await (this.#storage === undefined ? task() : this.#storage.run(context, task));
    } finally {
      this.#running.delete(context);
    }
  }

  /** The context of the handler that is calling; undefined outside of any. Throws AMBIGUOUS where it cannot be told. */
  current(): Context | undefined {
    const own = this.#storage?.getStore();
    if (own !== undefined) return this.#running.has(own) ? own : undefined;
    if (this.#storage !== undefined || this.#running.size === 0) return undefined;
    if (this.#running.size === 1) return this.#running.values().next().value;
    throw new LocalError(
      "AMBIGUOUS",
      "Several requests are being served and this runtime cannot tell which one asks: use the handler's second argument",
    );
  }
}

/** Node, Deno, Bun and Workers have it, each without an import that others would stumble over. */
function asyncStorage(): Storage<Context> | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const hooks = process?.getBuiltinModule?.("async_hooks") as
    | { AsyncLocalStorage?: new () => Storage<Context> }
    | undefined;
  return hooks?.AsyncLocalStorage === undefined ? undefined : new hooks.AsyncLocalStorage();
}
