// `McpServer` of SDK v1 and v2 on our core: the registration API, tools as they are registered there, and the handles
// it gives back.

import type { Answer, Call, MaybePromise } from "../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import type { Icon, Implementation } from "../protocol/capabilities.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { Resource, ResourceContents } from "../protocol/features/resources.js";
import type { GetPromptResult } from "../protocol/features/prompts.js";
import type { CallToolResult, ToolAnnotations } from "../protocol/features/tools.js";
import { Context } from "../server/context.js";
import type { PromptReturn } from "../server/prompts.js";
import type { ReadReturn } from "../server/resources.js";
import { coreOf } from "../server/lean-server.js";
import type { Server as CoreServer } from "../server/server.js";
import { isStandardSchema, standardOutcome } from "../schema/standard-schema.js";
import { asRpcError, resultReturned } from "./sdk-values.js";
import type { Extra } from "./extra.js";
import {
  ANYTHING,
  type RawShape,
  type ResourceTemplate,
  type SchemaInput,
  type SchemaOutput,
  type Variables,
  completerOf,
  toSchema,
} from "./schema.js";
import { Server, type ServerOptions, askedFor } from "./server.js";
import { type ToolTaskHandler, taskCallback } from "./task-store.js";
import type { AnyTransport } from "./transport.js";
import { mayBeAbsent } from "../schema/zod-json.js";
import type { Registration } from "../server/registry.js";
import { McpErrorCode } from "../protocol/meta.js";
import type { InputRequired } from "../server/interactive.js";
import { ToolResult, result } from "../server/content.js";
import type { TaskSupport } from "../server/tools.js";

/** What a tool of an SDK may answer: a result as it stands on the wire. */
export type ToolAnswer = Partial<CallToolResult> | { readonly resultType: "input_required" };

/** A tool's handler: without a schema it gets no arguments. */
export type ToolCallback<I extends SchemaInput | undefined = undefined> = [I] extends [undefined]
  ? (extra: Extra) => ToolAnswer | Promise<ToolAnswer>
  : (args: SchemaOutput<I>, extra: Extra) => ToolAnswer | Promise<ToolAnswer>;

/** The second argument of `registerTool`. */
export interface ToolConfig<I, O> {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: I;
  readonly outputSchema?: O;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Record<string, unknown>;
  readonly execution?: { readonly taskSupport?: TaskSupport | "forbidden" };
}

/** A tool as it is registered here. */
export interface ToolDescription extends ToolConfig<unknown, unknown> {
  readonly callback: (...args: never[]) => unknown;
}

/** Puts a tool into our core. */
export function enterTool(
  server: Server,
  core: CoreServer,
  name: string,
  tool: ToolDescription,
): Pick<Registration, "remove"> {
  const { title, description, inputSchema, outputSchema, annotations, icons, _meta, execution } = tool;
  const support = execution?.taskSupport;
  return core.tool(name, {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(icons === undefined ? {} : { icons }),
    ...(_meta === undefined ? {} : { _meta }),
    ...(support === undefined || support === "forbidden" ? {} : { task: support }),
    input: inputSchema === undefined ? ANYTHING : toSchema(inputSchema, "input"),
    ...(outputSchema === undefined ? {} : { output: toSchema(outputSchema, "output") }),
    run: (args, context) => runTool(server, context, tool, args),
  });
}

async function runTool(
  server: Server,
  context: Context,
  { callback, inputSchema, outputSchema }: ToolDescription,
  args: unknown,
): Promise<ToolResult | InputRequired> {
  try {
    const given = inputSchema === undefined ? [] : [args];
    const answer = await server.run(context, (extra) => Reflect.apply(callback, undefined, [...given, extra]));
    return askedFor(resultReturned(answer)) ?? toResult(answer as ToolAnswer, outputSchema !== undefined);
  } catch (error) {
    // What our core has an answer of its own for, and what has to reach the client as it is.
    const passed = error instanceof LocalError || (error instanceof RpcError && PASSED.has(error.code));
    if (passed || (error instanceof Error && error.name === "AbortError")) throw error;
    return failed(error instanceof Error ? error.message : String(error));
  }
}

const PASSED: ReadonlySet<number> = new Set([
  McpErrorCode.UrlElicitationRequired,
  McpErrorCode.MissingRequiredClientCapability,
]);

function toResult(answer: ToolAnswer, structured: boolean): ToolResult {
  const { content = [], structuredContent, isError, _meta } = (answer ?? {}) as Partial<CallToolResult>;
  if (structured && structuredContent === undefined && isError !== true) {
    return failed("Output validation error: this tool declares an outputSchema and returned no structuredContent");
  }
  const made = result({
    content,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(isError === undefined ? {} : { isError }),
    ...(_meta === undefined ? {} : { _meta }),
  });
  // As JSON makes it, as the SDK sends it.
  return new ToolResult(made.value);
}

function failed(message: string): ToolResult {
  return result({ content: [{ type: "text", text: message }], isError: true });
}

/** Puts one thing into our core as it is described now. */
type Enter<D> = (core: CoreServer, key: string, described: D) => Pick<Registration, "remove">;

/** What changes with `update`; a key of null removes. */
export type Updates<D> = Partial<D> & { readonly enabled?: boolean | undefined };

/** Something registered, under its key. Its members are those of its description, as the SDKs show them. */
export class Registered<D extends object> {
  enabled = true;
  readonly #owner: Owner;
  readonly #kind: string;
  readonly #enter: Enter<D>;
  #key: string;
  #described: D;
  #live: Pick<Registration, "remove"> | undefined;
  #removed = false;

  constructor(owner: Owner, kind: string, key: string, described: D, enter: Enter<D>) {
    this.#owner = owner;
    this.#kind = kind;
    this.#key = key;
    this.#described = described;
    this.#enter = enter;
    owner.add(kind, key);
    owner.whenBuilt((core) => this.#appear(core));
  }

  /** As it is described now. */
  get described(): D {
    return this.#described;
  }

  get key(): string {
    return this.#key;
  }

  enable(): void {
    this.update({ enabled: true } as Updates<D>);
  }

  disable(): void {
    this.update({ enabled: false } as Updates<D>);
  }

  remove(): void {
    this.#disappear();
    this.#owner.delete(this.#kind, this.#key);
    this.#removed = true;
  }

  /** Changes what is given; a `key` moves it, and null removes it. */
  update({ enabled = this.enabled, ...changes }: Updates<D>, key: string | null = this.#key): void {
    if (key === null) return this.remove();
    if (this.#removed) return;
    if (key !== this.#key) {
      this.#owner.add(this.#kind, key);
      this.#owner.delete(this.#kind, this.#key);
    }
    this.#disappear();
    this.#key = key;
    const given = Object.entries(changes).filter(([, value]) => value !== undefined);
    this.#described = { ...this.#described, ...Object.fromEntries(given) };
    this.enabled = enabled;
    this.#owner.whenThere((core) => this.#appear(core));
  }

  #appear(core: CoreServer): void {
    if (this.enabled && !this.#removed && this.#live === undefined)
      this.#live = this.#enter(core, this.#key, this.#described);
  }

  #disappear(): void {
    this.#live?.remove();
    this.#live = undefined;
  }
}

/** Keys in use, and the core once there is one. */
export class Owner {
  readonly #keys = new Set<string>();
  readonly #built: (task: (core: CoreServer) => void) => void;
  #core: CoreServer | undefined;

  /** `built` calls each task with the core as soon as there is one. */
  constructor(built: (task: (core: CoreServer) => void) => void) {
    this.#built = built;
    built((core) => {
      this.#core = core;
    });
  }

  /** Throws where the key is taken. */
  add(kind: string, key: string): void {
    const place = `${kind} ${key}`;
    if (this.#keys.has(place)) throw new Error(`${kind} ${key} is already registered`);
    this.#keys.add(place);
  }

  delete(kind: string, key: string): void {
    this.#keys.delete(`${kind} ${key}`);
  }

  whenBuilt(task: (core: CoreServer) => void): void {
    this.#built(task);
  }

  whenThere(task: (core: CoreServer) => void): void {
    if (this.#core !== undefined) task(this.#core);
  }
}

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
  coreServer(shared?: Parameters<Server["coreServer"]>[0]): CoreServer {
    return this.server.coreServer(shared);
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
        const checked = schema === undefined ? undefined : await standardOutcome(schema, args);
        if (checked?.ok === false) {
          const faults = checked.faults.map(({ message }) => message).join("; ");
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
