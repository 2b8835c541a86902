// `McpServer` of SDK v1 and v2 on our core: the registration API, and what it gives back.
import type { Answer, Call, MaybePromise } from "../endpoint/call.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import type { Implementation } from "../protocol/capabilities.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { Resource, ResourceContents } from "../protocol/features/resources.js";
import type { GetPromptResult } from "../protocol/features/prompts.js";
import type { ToolAnnotations } from "../protocol/features/tools.js";
import { Context } from "../server/context.js";
import type { PromptReturn } from "../server/prompts.js";
import type { ReadReturn } from "../server/resources.js";
import { coreOf, type Server as CoreServer } from "../server/server.js";
import { isStandardSchema } from "../schema/standard-schema.js";
import { asRpcError } from "./errors.js";
import type { Extra } from "./extra.js";
import { type RawShape, type SchemaInput, type SchemaOutput, toSchema } from "./schema.js";
import { askedFor, Server, type ServerOptions } from "./server.js";
import { Owner, Registered } from "./registered.js";
import { taskCallback, type ToolTaskHandler } from "./task-store.js";
import { completerOf, type ResourceTemplate, type Variables } from "./template.js";
import { enterTool, type ToolCallback, type ToolConfig, type ToolDescription } from "./tool.js";
import type { AnyTransport } from "./transport.js";
import { mayBeAbsent } from "../schema/zod-json.js";

/** What a callback for reading returns, as it stands on the wire. */
export interface Contents {
  readonly contents: ResourceContents[];
}

/** What may be said of a resource besides its name and where it is. */
export type ResourceMetadata = Omit<Partial<Resource>, "uri" | "name">;
/** Reads a resource that is registered under its own URI. */
export type ReadResourceCallback = (uri: URL, extra: Extra) => MaybePromise<Contents>;
/** Reads a resource of a template; `variables` are decoded. */
export type ReadResourceTemplateCallback = (uri: URL, variables: Variables, extra: Extra) => MaybePromise<Contents>;
/** Fills in a prompt. Without a shape it gets no arguments. */
export type PromptCallback<A extends RawShape | undefined = undefined> = [A] extends [undefined]
  ? (extra: Extra) => MaybePromise<GetPromptResult>
  : (args: SchemaOutput<A>, extra: Extra) => MaybePromise<GetPromptResult>;

/** The second argument of `registerPrompt`. */
export interface PromptConfig<A> {
  readonly title?: string;
  readonly description?: string;
  readonly argsSchema?: A;
}

/** A resource as it was registered. */
export interface ResourceDescription {
  readonly name: string;
  readonly metadata: ResourceMetadata;
  readonly callback: ReadResourceCallback;
}
/** A template of resources as it was registered. */
export interface TemplateDescription {
  readonly template: ResourceTemplate;
  readonly metadata: ResourceMetadata;
  readonly callback: ReadResourceTemplateCallback;
}
/** A prompt as it was registered. */
export interface PromptDescription extends PromptConfig<unknown> {
  readonly callback: (...args: never[]) => unknown;
}

/** What `update` takes besides the members of the description: the names the SDKs have for them. */
export type ToolUpdates = Partial<ToolDescription> & {
  readonly name?: string | null;
  readonly paramsSchema?: unknown;
  readonly enabled?: boolean;
};
/** What `update` of a registered resource changes. */
export type ResourceUpdates = Partial<ResourceDescription> & {
  readonly uri?: string | null;
  readonly enabled?: boolean;
};

/** A tool that was registered: `update`, `enable`, `disable`, `remove`. */
export class RegisteredTool extends Registered<ToolDescription> {
  override update({ name, paramsSchema, ...changes }: ToolUpdates, key: string | null = this.key): void {
    const schema = paramsSchema === undefined ? {} : { inputSchema: paramsSchema };
    super.update({ ...changes, ...schema }, name === undefined ? key : name);
  }
}
/** A resource that was registered: `update`, `enable`, `disable`, `remove`. */
export class RegisteredResource extends Registered<ResourceDescription> {
  override update({ uri, ...changes }: ResourceUpdates, key: string | null = this.key): void {
    super.update(changes, uri === undefined ? key : uri);
  }
}

/** `McpServer` of SDK v1 and v2 on our core: served in all five revisions. See docs/library/migration.md. */
export class McpServer {
  /** What lies under the registrations: handlers by method, questions to the client, notifications. */
  readonly server: Server;
  readonly #owner: Owner;
  readonly #templates: Registered<TemplateDescription>[] = [];

  constructor(info: Implementation, options: ServerOptions = {}) {
    this.server = new Server(info, options);
    this.#owner = new Owner((task) => this.server.whenBuilt(task));
    this.server.whenBuilt((core) =>
      core.use((call, next) => (call.method === "resources/list" ? this.#list(core, call, next) : next())),
    );
  }

  /** Tasks by hand, as SDK v1 has them. */
  get experimental(): {
    readonly tasks: {
      registerToolTask(name: string, config: ToolConfig<unknown, unknown>, handler: ToolTaskHandler): RegisteredTool;
    };
  } {
    const registerToolTask = (
      name: string,
      config: ToolConfig<unknown, unknown>,
      handler: ToolTaskHandler,
    ): RegisteredTool =>
      this.#tool(name, { ...config, callback: taskCallback(handler, config.inputSchema !== undefined) });
    return { tasks: { registerToolTask } };
  }

  connect(transport: AnyTransport): Promise<void> {
    return this.server.connect(transport);
  }

  close(): Promise<void> {
    return this.server.close();
  }

  isConnected(): boolean {
    return this.server.isConnected();
  }

  /** Our own server with all that is registered, for `toFetch` and `serveHttp`: one for all clients. */
  coreServer(): CoreServer {
    return this.server.coreServer();
  }

  registerTool<I extends SchemaInput | undefined = undefined, O extends SchemaInput | undefined = undefined>(
    name: string,
    config: ToolConfig<I, O>,
    callback: ToolCallback<I>,
  ): RegisteredTool {
    return this.#tool(name, { ...config, callback });
  }

  /** `tool(name, [description], [shape], [annotations], callback)` of SDK v1. */
  tool(name: string, callback: ToolCallback): RegisteredTool;
  tool(name: string, description: string, callback: ToolCallback): RegisteredTool;
  tool<A extends RawShape>(name: string, shape: A, callback: ToolCallback<A>): RegisteredTool;
  tool<A extends RawShape>(name: string, description: string, shape: A, callback: ToolCallback<A>): RegisteredTool;
  tool<A extends RawShape>(
    name: string,
    shape: A,
    annotations: ToolAnnotations,
    callback: ToolCallback<A>,
  ): RegisteredTool;
  tool<A extends RawShape>(
    name: string,
    description: string,
    shape: A,
    annotations: ToolAnnotations,
    callback: ToolCallback<A>,
  ): RegisteredTool;
  tool(name: string, ...rest: readonly unknown[]): RegisteredTool {
    const callback = rest.at(-1) as (...args: never[]) => unknown;
    const given = rest.slice(0, -1);
    const description = typeof given[0] === "string" ? (given.shift() as string) : undefined;
    // A lone object is a shape when its members are schemas, or when it is empty.
    const inputSchema = given.length > 0 && isShape(given[0]) ? given.shift() : undefined;
    const annotations = given.shift() as ToolAnnotations | undefined;
    return this.#tool(name, {
      ...(description === undefined ? {} : { description }),
      ...(annotations === undefined ? {} : { annotations }),
      inputSchema,
      callback,
    });
  }

  registerResource(
    name: string,
    uri: string,
    metadata: ResourceMetadata,
    callback: ReadResourceCallback,
  ): RegisteredResource;
  registerResource(
    name: string,
    template: ResourceTemplate,
    metadata: ResourceMetadata,
    callback: ReadResourceTemplateCallback,
  ): Registered<TemplateDescription>;
  registerResource(
    name: string,
    where: string | ResourceTemplate,
    metadata: ResourceMetadata,
    callback: ReadResourceCallback | ReadResourceTemplateCallback,
  ): RegisteredResource | Registered<TemplateDescription> {
    if (typeof where === "string") {
      const described = { name, metadata, callback: callback as ReadResourceCallback };
      return new RegisteredResource(this.#owner, "Resource", where, described, (core, uri, now) =>
        this.#resource(core, uri, now),
      );
    }
    const described = { template: where, metadata, callback: callback as ReadResourceTemplateCallback };
    const registered = new Registered<TemplateDescription>(
      this.#owner,
      "Resource template",
      name,
      described,
      (core, key, now) => this.#template(core, key, now),
    );
    this.#templates.push(registered);
    return registered;
  }

  /** `resource(name, uri or template, [metadata], callback)` of SDK v1. */
  resource(name: string, uri: string, callback: ReadResourceCallback): RegisteredResource;
  resource(name: string, uri: string, metadata: ResourceMetadata, callback: ReadResourceCallback): RegisteredResource;
  resource(
    name: string,
    template: ResourceTemplate,
    callback: ReadResourceTemplateCallback,
  ): Registered<TemplateDescription>;
  resource(
    name: string,
    template: ResourceTemplate,
    metadata: ResourceMetadata,
    callback: ReadResourceTemplateCallback,
  ): Registered<TemplateDescription>;
  resource(name: string, where: string | ResourceTemplate, ...rest: readonly unknown[]): unknown {
    const metadata = rest.length > 1 ? (rest[0] as ResourceMetadata) : {};
    return this.registerResource(name, where as string, metadata, rest.at(-1) as ReadResourceCallback);
  }

  registerPrompt<A extends RawShape | undefined = undefined>(
    name: string,
    config: PromptConfig<A>,
    callback: PromptCallback<A>,
  ): Registered<PromptDescription> {
    const described = { ...config, callback: callback as (...args: never[]) => unknown };
    return new Registered<PromptDescription>(this.#owner, "Prompt", name, described, (core, key, now) =>
      this.#prompt(core, key, now),
    );
  }

  /** `prompt(name, [description], [shape], callback)` of SDK v1. */
  prompt(name: string, callback: PromptCallback): Registered<PromptDescription>;
  prompt(name: string, description: string, callback: PromptCallback): Registered<PromptDescription>;
  prompt<A extends RawShape>(name: string, shape: A, callback: PromptCallback<A>): Registered<PromptDescription>;
  prompt<A extends RawShape>(
    name: string,
    description: string,
    shape: A,
    callback: PromptCallback<A>,
  ): Registered<PromptDescription>;
  prompt(name: string, ...rest: readonly unknown[]): Registered<PromptDescription> {
    const description = rest.find((each) => typeof each === "string");
    const argsSchema = rest.slice(0, -1).find((each) => typeof each === "object") as RawShape | undefined;
    const config = {
      ...(description === undefined ? {} : { description }),
      ...(argsSchema === undefined ? {} : { argsSchema }),
    };
    return this.registerPrompt(name, config, rest.at(-1) as PromptCallback<RawShape | undefined>);
  }

  sendLoggingMessage(
    params: { level: LoggingLevel; logger?: string; data: unknown },
    sessionId?: string,
  ): Promise<void> {
    return this.server.sendLoggingMessage(params, sessionId);
  }

  sendToolListChanged(): void {
    void this.server.sendToolListChanged();
  }

  sendResourceListChanged(): void {
    void this.server.sendResourceListChanged();
  }

  sendPromptListChanged(): void {
    void this.server.sendPromptListChanged();
  }

  #tool(name: string, described: ToolDescription): RegisteredTool {
    // Compiled once more when it is listed; a schema nobody can publish fails where it is written.
    if (described.inputSchema !== undefined) toSchema(described.inputSchema, "input");
    return new RegisteredTool(this.#owner, "Tool", name, described, (core, key, now) =>
      enterTool(this.server, core, key, now),
    );
  }

  #resource(core: CoreServer, uri: string, { name, metadata, callback }: ResourceDescription): { remove(): void } {
    const read = (context: Context): Promise<ReadReturn> =>
      this.#read(context, (extra) => callback(new URL(uri), extra));
    return core.resource(uri, { ...metadata, name, read });
  }

  #template(core: CoreServer, name: string, { template, metadata, callback }: TemplateDescription): { remove(): void } {
    const complete = Object.entries(template.completers).map(([variable, completer]) => [
      variable,
      (value: string, request: { readonly arguments: Readonly<Record<string, string>> }) => completer(value, request),
    ]);
    return core.resourceTemplate(template.uriTemplate.toString(), {
      ...metadata,
      name,
      ...(complete.length === 0 ? {} : { complete: Object.fromEntries(complete) }),
      read: (uri, variables, context) =>
        this.#read(context, (extra) => callback(new URL(uri), { ...variables } as Variables, extra)),
    });
  }

  async #read(context: Context, read: (extra: Extra) => MaybePromise<Contents>): Promise<ReadReturn> {
    try {
      const answer = await this.server.run(context, read);
      return askedFor(answer) ?? answer.contents;
    } catch (error) {
      throw asRpcError(error);
    }
  }

  #prompt(
    core: CoreServer,
    name: string,
    { title, description, argsSchema, callback }: PromptDescription,
  ): { remove(): void } {
    const fields = Object.entries((argsSchema ?? {}) as RawShape);
    const schema = argsSchema === undefined ? undefined : toSchema(argsSchema, "input");
    return core.prompt(name, {
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
      arguments: Object.fromEntries(fields.map(([argument, field]) => [argument, argumentOf(field)])),
      run: async (args, context): Promise<PromptReturn> => {
        const checked = schema === undefined ? undefined : await schema["~standard"].validate(args);
        if (checked?.issues !== undefined) {
          const faults = checked.issues.map(({ message }) => message).join("; ");
          throw new RpcError(ErrorCode.InvalidParams, `Invalid arguments for prompt ${name}: ${faults}`);
        }
        try {
          const given = checked === undefined ? [] : [checked.value];
          const answer = await this.server.run(context, (extra) =>
            Reflect.apply(callback, undefined, [...given, extra]),
          );
          return askedFor(answer) ?? (answer as PromptReturn);
        } catch (error) {
          throw asRpcError(error);
        }
      },
    });
  }

  /** Resources that templates list come after those that are registered, all in one page, as the SDKs have it. */
  async #list(core: CoreServer, call: Call, next: () => Promise<Answer>): Promise<Answer> {
    const listing = this.#templates.filter(
      ({ enabled, described }) => enabled && described.template.listCallback !== undefined,
    );
    if (listing.length === 0) return next();
    const inside = coreOf(core);
    const resources: object[] = [...inside.resources.values()].map(({ resource }) => resource);
    for (const { described } of listing) {
      const { template, metadata } = described;
      const listed = await this.server.run(new Context(call, inside), (extra) => template.listCallback?.(extra));
      for (const resource of listed?.resources ?? []) resources.push({ ...metadata, ...resource });
    }
    return { resources, ttlMs: 0, cacheScope: "private" };
  }
}

function isShape(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const members = Object.values(value);
  return members.length === 0 || members.some(isStandardSchema) || isStandardSchema(value);
}

function argumentOf(field: object): {
  description?: string;
  required: boolean;
  complete?: (value: string, request: { readonly arguments: Readonly<Record<string, string>> }) => never;
} {
  const { description } = field as { description?: string };
  const completer = completerOf(field);
  return {
    ...(description === undefined ? {} : { description }),
    required: !mayBeAbsent(field, "input"),
    ...(completer === undefined ? {} : { complete: (value, request) => completer(value, request) as never }),
  };
}
