// The server an author writes, with all there is: JSON Schema in place, prompts, resources and tasks.
import { type Call, type Handler, handling, Later, type Middleware } from "../endpoint/call.js";
import { CANCEL_TASK, GET_TASK, LIST_TASKS, TASK_RESULT, UPDATE_TASK } from "../protocol/extensions/tasks.js";
import { CALL_TOOL } from "../protocol/features/tools.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { interactive } from "../protocol/features/elicitation.js";
import { COMPLETE, GET_PROMPT, LIST_PROMPTS } from "../protocol/features/prompts.js";
import { LIST_RESOURCE_TEMPLATES, LIST_RESOURCES, READ_RESOURCE } from "../protocol/features/resources.js";
import { membersAlone, schemaAdvice } from "../schema/json-schema/advice.js";
import { compileJsonSchema } from "../schema/json-schema/compile.js";
import { UriTemplate } from "../protocol/uri-template.js";
import type { JsonSchema } from "../schema/schema.js";
import { isStandardSchema } from "../schema/standard-schema.js";
import { zodExport } from "../schema/zod-json.js";
import { addTool, coreOf, LeanServer, reservedWarning, type ServerOptions, warn } from "./lean-server.js";
import { type ServerCore, type ServerTasks, textIn } from "./core.js";
import { listOf } from "./lists.js";
import {
  type ArgumentDefinitions,
  completeArgument,
  hasCompleters,
  type PromptDefinition,
  promptEntry,
  PromptFiller,
} from "./prompts.js";
import type { Registration } from "./registry.js";
import {
  listedPage,
  type ResourceDefinition,
  resourceEntry,
  ResourceReader,
  type ResourceTemplateDefinition,
  templateEntry,
  templatesList,
  type VariablesOf,
  webWarning,
} from "./resources.js";
import type { NewsQuestion, ServerCluster, TaskErrand, VisibleTask } from "./subscription.js";
import type { TaskService } from "./tasks/server-tasks.js";
import type { TaskRecord, TaskStore } from "./tasks/task-store.js";
import { type AnyInput, asPublished, type SchemaReader, type ToolDefinition } from "./tools.js";

const SCHEMAS: SchemaReader = {
  compile: (schema) => compileJsonSchema(schema, { fallbackToDraft07: true }),
  asPublished: (schema, own) => asPublished(schema, compileJsonSchema(own, { fallbackToDraft07: true })),
  published: zodExport,
  fault: (schema) => (isStandardSchema(schema) ? undefined : membersAlone(schema as JsonSchema)),
  advice: (schema) => (isStandardSchema(schema) ? undefined : schemaAdvice(schema as JsonSchema)),
};

/** A server for every revision of the protocol. Give it to `serveStdio`, `serve` or `connectInMemory`. */
export class Server extends LeanServer {
  /** Throws BAD_SERVER for a member that does not exist and for icons no client should show, RangeError for a limit that is not a positive integer. */
  constructor(options: ServerOptions, more?: undefined) {
    super(options, more);
    const core = coreOf(this);
    core.serveTasks(new LaterTasks(core, options.tasks?.store));
    offer(core);
  }

  /**
   * Registers a tool. Throws BAD_TOOL (its `cause` is the schema's own error) or DUPLICATE, saying what to change. Arguments mirrored in
   * headers that make clients drop the tool, or that are named like secrets, are reported.
   */
  override tool<const I extends AnyInput | undefined = undefined, const O extends AnyInput | undefined = undefined>(
    name: string,
    definition: ToolDefinition<I, O>,
    more?: undefined,
  ): Registration<ToolDefinition<I, O>> {
    return addTool<ToolDefinition<I, O>>(coreOf(this), SCHEMAS, name, definition, more);
  }

  /** Registers one resource under its URI. Throws BAD_RESOURCE or DUPLICATE. */
  resource(uri: string, definition: ResourceDefinition, more?: undefined): Registration<ResourceDefinition> {
    const core = coreOf(this);
    return core.resources.add<ResourceDefinition>(uri, definition, (now) => {
      const entry = resourceEntry(uri, now, more);
      warn(core, reservedWarning(`The resource ${uri}`, now._meta) ?? webWarning(`The resource ${uri}`, uri));
      return entry;
    });
  }

  /** Registers a prompt. Throws BAD_PROMPT or DUPLICATE. */
  prompt<const A extends ArgumentDefinitions = Record<never, never>>(
    name: string,
    definition: PromptDefinition<A>,
    more?: undefined,
  ): Registration<PromptDefinition<A>> {
    const core = coreOf(this);
    return core.prompts.add<PromptDefinition<A>>(name, definition, (now) => {
      const entry = promptEntry(name, now, more);
      warn(core, reservedWarning(`The prompt ${name}`, now._meta));
      return entry;
    });
  }

  /** Registers a family of resources under an RFC 6570 template. Throws BAD_RESOURCE, DUPLICATE or the template's error. */
  resourceTemplate<const U extends string>(
    uriTemplate: U,
    definition: ResourceTemplateDefinition<VariablesOf<U>>,
    more?: undefined,
  ): Registration<ResourceTemplateDefinition<VariablesOf<U>>> {
    const core = coreOf(this);
    return core.templates.add<ResourceTemplateDefinition<VariablesOf<U>>>(uriTemplate, definition, (now) => {
      const entry = templateEntry(uriTemplate, (text) => new UriTemplate(text), { definition: now, more });
      const what = `The template ${uriTemplate}`;
      warn(core, reservedWarning(what, now._meta) ?? webWarning(what, uriTemplate));
      return entry;
    });
  }

  /** Asks `tells` about all that is subscribed to, and ends what may not be told of any more. To be called when that says something else. */
  rejudgeSubscriptions(): void {
    coreOf(this).subscribers?.rejudge();
  }

  /** Tells subscribers that a resource changed. */
  resourceUpdated(uri: string): void {
    coreOf(this).resourceUpdated(uri);
  }
}

// The tasks of a server.

/** Most servers have none: what serves them is loaded for the first request that could begin one, or names one. */
class LaterTasks implements ServerTasks {
  readonly #core: ServerCore;
  readonly #service: Later<TaskService>;
  #cluster: ServerCluster | undefined;

  constructor(core: ServerCore, store: TaskStore | undefined) {
    this.#core = core;
    this.#service = new Later(async () => {
      const service = new (await import("./tasks/server-tasks.js")).TaskService(core, store);
      if (this.#cluster !== undefined) service.join(this.#cluster);
      return service;
    });
  }

  enable(): void {
    const core = this.#core;
    if (core.hadTasks) return;
    core.hadTasks = true;
    const first: Middleware = (call, next) =>
      call.method === CALL_TOOL.name ? this.#service.use((service) => service.called(call, next)) : next();
    core.middleware = [first, ...core.middleware];
  }

  handlers(): readonly (readonly [string, Handler])[] {
    const serve: Handler = (call) => this.#service.use((service) => service.serve(call));
    return [GET_TASK, CANCEL_TASK, TASK_RESULT, LIST_TASKS, UPDATE_TASK].map(({ name }) => [name, serve]);
  }

  async visible(call: Call, taskIds: readonly string[]): Promise<readonly VisibleTask[]> {
    return this.#service.use((service) => service.visible(call, taskIds));
  }

  join(cluster: ServerCluster): void {
    this.#cluster = cluster;
    this.#service.there?.join(cluster);
  }

  heard(record: TaskRecord, questions: readonly NewsQuestion[]): void {
    void this.#service.use((service) => service.heard(record, questions));
  }

  async errand(errand: TaskErrand): Promise<TaskRecord> {
    return this.#service.use((service) => service.errand(errand));
  }

  get busy(): boolean {
    return this.#service.there?.busy === true;
  }

  runsOver(connection: Call["connection"]): boolean {
    return this.#service.there?.runsOver(connection) === true;
  }

  async close(): Promise<void> {
    await this.#service.loading;
    await this.#service.there?.close();
  }

  async endOf(principal: string): Promise<number> {
    return this.#service.use((service) => service.endOf(principal));
  }
}

// What a server offers besides tools.

/** Has a server serve prompts and resources. */
function offer(core: ServerCore): void {
  const { prompts, resources, templates } = core;
  const reader = new ResourceReader(resources, templates, core);
  const filler = new PromptFiller(prompts, core);
  const lists = {
    prompts: listOf(core, { member: "prompts", registry: prompts, item: ({ prompt }) => prompt }),
    resources: listOf(core, { member: "resources", registry: resources, item: ({ resource }) => resource }),
    templates: listOf(core, { member: "resourceTemplates", registry: templates, item: ({ template }) => template }),
  };
  core.offers = {
    reader,
    completes: () => hasCompleters(core),
    scopesFor: (method, params) => scopesFor(core, reader, { method, params }),
  };
  core.serveMethods([
    handling(LIST_RESOURCES, (call) => (templatesList(core) ? listedPage(core, call) : lists.resources.page(call))),
    handling(LIST_RESOURCE_TEMPLATES, (call) => lists.templates.page(call)),
    handling(interactive(READ_RESOURCE), (call) => reader.read(call)),
    handling(LIST_PROMPTS, (call) => lists.prompts.page(call)),
    handling(interactive(GET_PROMPT), (call) => filler.get(call)),
    handling(COMPLETE, (call) => completeArgument(core, call)),
  ]);
}

function scopesFor(
  { prompts, templates }: ServerCore,
  reader: ResourceReader,
  { method, params }: { readonly method: string; readonly params: JsonObject },
): readonly string[] | undefined {
  switch (method) {
    case "prompts/get":
      return prompts.get(textIn(params, "name"))?.scopes;
    case "resources/read":
    case "resources/subscribe":
      return reader.scopesFor(textIn(params, "uri"));
    case "completion/complete": {
      const ref = isJsonObject(params["ref"]) ? params["ref"] : {};
      return prompts.get(textIn(ref, "name"))?.scopes ?? templates.get(textIn(ref, "uri"))?.scopes;
    }
    default:
      return undefined;
  }
}
