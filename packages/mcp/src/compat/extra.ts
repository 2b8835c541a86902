// The second argument of handlers written for SDK v1 (`extra`) and v2 (`ctx`): one object with the members of both.
import type { Identity } from "../jsonrpc/transport.js";
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import type { ElicitResult } from "../protocol/features/elicitation.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { CreateMessageResult } from "../protocol/features/sampling.js";
import { Context } from "../server/context.js";
import { askWithin, notifyWithin, type RequestOptions } from "./transport.js";

/** A message without its envelope. */
export interface Message {
  readonly method: string;
  readonly params?: object | undefined;
}

/** Who is asking, as the SDKs say it. */
export interface AuthInfo {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Seconds since the epoch. */
  readonly expiresAt?: number;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The v2 half: everything about the request. */
export interface McpRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly _meta: Readonly<Record<string, unknown>> | undefined;
  readonly signal: AbortSignal;
  /** Answers to what `inputRequired` asked for in the round before. */
  readonly inputResponses: Readonly<Record<string, unknown>> | undefined;
  /** What was given to `inputRequired` in the round before, verified. */
  requestState(): unknown;
  send(request: Message, schemaOrOptions?: unknown, options?: RequestOptions): Promise<JsonObject>;
  notify(notification: Message): Promise<void>;
  log(level: LoggingLevel, data: unknown, logger?: string): Promise<void>;
  elicitInput(params: object, options?: RequestOptions): Promise<ElicitResult>;
  requestSampling(params: object, options?: RequestOptions): Promise<CreateMessageResult>;
}

/** What a handler may do besides returning. */
export class Extra {
  readonly #context: Context;
  readonly #sessionId: string | undefined;
  #request: McpRequest | undefined;
  /** Where a task is kept, in handlers of `registerToolTask`. */
  taskStore: unknown;
  taskId: string | undefined;
  taskRequestedTtl: number | undefined;

  constructor(context: Context, sessionId: string | undefined) {
    this.#context = context;
    this.#sessionId = sessionId;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get requestId(): RequestId {
    return this.#context.requestId;
  }

  get _meta(): Readonly<Record<string, unknown>> | undefined {
    const { meta } = this.#context;
    return Object.keys(meta).length === 0 ? undefined : meta;
  }

  get sessionId(): string | undefined {
    return this.#sessionId ?? Context.callOf(this.#context).carrier.header("mcp-session-id");
  }

  get authInfo(): AuthInfo | undefined {
    const { identity } = this.#context;
    return identity === undefined ? undefined : authInfoOf(identity, this.#header("authorization"));
  }

  /** Headers of the HTTP request by name; undefined over other transports. */
  get requestInfo(): { readonly headers: Readonly<Record<string, string | undefined>> } | undefined {
    const { carrier } = Context.callOf(this.#context);
    if (carrier.kind !== "http" && carrier.kind !== "sse") return undefined;
    const header = (name: string): string | undefined => carrier.header(name.toLowerCase());
    return { headers: new Proxy({}, { get: (_, name) => (typeof name === "string" ? header(name) : undefined) }) };
  }

  /** What SDK v2 says of HTTP; undefined over other transports. */
  get http(): { readonly authInfo: AuthInfo | undefined; closeSSE(): void } | undefined {
    if (this.requestInfo === undefined) return undefined;
    return { authInfo: this.authInfo, closeSSE: this.closeSSEStream };
  }

  /** Hangs up while the call goes on: the client comes back for the rest. */
  readonly closeSSEStream = (): void => void this.#context.hangUp();

  readonly sendNotification = ({ method, params = {} }: Message): Promise<void> => this.#notify(method, params);

  readonly sendRequest = (
    { method, params = {} }: Message,
    _schema?: unknown,
    options?: RequestOptions,
  ): Promise<JsonObject> => askWithin(this.#context, method, params, options);

  get mcpReq(): McpRequest {
    return (this.#request ??= this.#describe());
  }

  #describe(): McpRequest {
    const context = this.#context;
    const ask = (method: string, params: object, options?: RequestOptions): Promise<JsonObject> =>
      askWithin(context, method, params, options);
    return {
      id: context.requestId,
      method: Context.callOf(context).method,
      _meta: this._meta,
      signal: context.signal,
      inputResponses: context.inputResponses,
      requestState: () => context.state,
      send: ({ method, params = {} }, second, third) => ask(method, params, third ?? optionsOf(second)),
      notify: this.sendNotification,
      log: (level, data, logger) => context.log(level, data, logger),
      elicitInput: async (params, options) =>
        (await ask("elicitation/create", params, options)) as unknown as ElicitResult,
      requestSampling: async (params, options) =>
        (await ask("sampling/createMessage", params, options)) as unknown as CreateMessageResult,
    };
  }

  /** Progress and log messages go through our core, which bounds them. */
  async #notify(method: string, params: object): Promise<void> {
    const { progress, total, message, level, data, logger } = params as Readonly<Record<string, unknown>>;
    if (method === "notifications/progress" && typeof progress === "number") {
      return this.#context.progress(progress, optional(total, "number"), optional(message, "string"));
    }
    if (method === "notifications/message") {
      return this.#context.log(level as LoggingLevel, data, optional(logger, "string"));
    }
    return notifyWithin(this.#context, method, params);
  }

  #header(name: string): string | undefined {
    return Context.callOf(this.#context).carrier.header(name);
  }
}

function authInfoOf(
  { principal, scopes, clientId, claims, expiresAt }: Identity,
  header: string | undefined,
): AuthInfo {
  return {
    token: header?.replace(/^\S+ +/, "") ?? "",
    clientId: clientId ?? principal,
    scopes,
    ...(expiresAt === undefined ? {} : { expiresAt: Math.floor(expiresAt / 1_000) }),
    extra: { ...claims, principal },
  };
}

function optional(value: unknown, type: "number"): number | undefined;
function optional(value: unknown, type: "string"): string | undefined;
function optional(value: unknown, type: string): unknown {
  return typeof value === type ? value : undefined;
}

/** The second argument is a schema in v1 and may be the options in v2. */
function optionsOf(value: unknown): RequestOptions | undefined {
  if (typeof value !== "object" || value === null || "~standard" in value) return undefined;
  return value as RequestOptions;
}
