// The server an author writes, with all there is: JSON Schema in place, prompts, resources and tasks.
import { type Answer, type CallOf, handling, type MaybePromise } from "../endpoint/call.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, isThenable, type JsonObject } from "../jsonrpc/message.js";
import { interactive } from "../protocol/features/elicitation.js";
import { COMPLETE, GET_PROMPT, LIST_PROMPTS } from "../protocol/features/prompts.js";
import {
  LIST_RESOURCE_TEMPLATES,
  LIST_RESOURCES,
  READ_RESOURCE,
  type Resource,
} from "../protocol/features/resources.js";
import type { PaginatedRequestParams } from "../protocol/method.js";
import { membersAlone, schemaAdvice } from "../schema/json-schema/advice.js";
import { compileJsonSchema } from "../schema/json-schema/compile.js";
import { UriTemplate } from "../protocol/uri-template.js";
import type { JsonSchema, Outcome, Schema } from "../schema/schema.js";
import { isStandardSchema } from "../schema/standard-schema.js";
import { zodExport } from "../schema/zod-json.js";
import { addTool, coreOf, LeanServer, reservedWarning, type ServerOptions, warn } from "./lean-server.js";
import { type AskServices, Context } from "./context.js";
import { returnedValues } from "./interactive.js";
import { type ServerCore, textIn } from "./core.js";
import { cursorAfter, type ListHints, listOf, readCursor } from "./lists.js";
import {
  type ArgumentDefinitions,
  completeArgument,
  hasCompleters,
  type PromptDefinition,
  promptEntry,
  PromptFiller,
} from "./prompts.js";
import type { Registration, Registry } from "./registry.js";
import {
  type ResourceDefinition,
  type ResourceEntry,
  resourceEntry,
  ResourceReader,
  type ResourceTemplateDefinition,
  shownResource,
  type TemplateEntry,
  templateEntry,
  type VariablesOf,
  webWarning,
} from "./resources.js";
import { ServerTasks } from "./tasks/server-tasks.js";
import type { AnyInput, SchemaReader, ToolDefinition } from "./tools.js";

/** Checks what a schema made by the JSON Schema that an author publishes beside it: it may say something else. */
function asPublished(schema: Schema, published: Schema): Schema {
  const judged = (outcome: Outcome<unknown>): MaybePromise<Outcome<unknown>> =>
    outcome.ok ? returnedValues.use(({ asJson }) => published.validate(asJson(outcome.value))) : outcome;
  return {
    json: published.json,
    validate(value) {
      const outcome = schema.validate(value);
      return isThenable(outcome) ? outcome.then(judged) : judged(outcome);
    },
  };
}

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
    core.serveTasks(new ServerTasks(core, options.tasks?.store));
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

// The list of resources where templates say what is in them: what is registered, then what each template lists, page by page.

/** What one template may list: more than anybody looks through, less than what fills the memory. */
const MOST_LISTED = 10_000;
/** Names the cursors of such lists: they count what was shown, since what templates list has no order of its own. */
const KIND = "listed resources";

interface Listing extends AskServices {
  readonly resources: Registry<ResourceEntry>;
  readonly templates: Registry<TemplateEntry>;
  readonly limits: AskServices["limits"] & { readonly pageSize: number };
  readonly listHints: ListHints;
}

/** Whether any template lists what is in it. */
function templatesList({ templates }: Pick<Listing, "templates">): boolean {
  return templates.keys().some((key) => templates.get(key)?.definition.list !== undefined);
}

/** Serves `resources/list` of a server with such templates. What is registered and listed too is shown once. */
async function listedPage(core: Listing, call: CallOf<PaginatedRequestParams>): Promise<Answer> {
  const { resources, templates } = core;
  const start = positionOf(call.params.cursor);
  const shown = new Map<string, Resource>();
  for (const key of resources.listed()) {
    const entry = resources.get(key);
    if (entry !== undefined && resources.sees(key, entry, call)) shown.set(key, entry.resource);
  }
  for (const key of templates.listed()) {
    const entry = templates.get(key);
    if (entry?.definition.list === undefined || !templates.sees(key, entry, call)) continue;
    const listed = await entry.definition.list(new Context(call, core));
    const resourcesIn = await returnedValues.use(({ listedIn }) => listedIn(key, listed));
    for (const each of resourcesIn.slice(0, MOST_LISTED))
      if (!shown.has(each.uri)) shown.set(each.uri, shownResource(each, entry));
  }
  const end = start + core.limits.pageSize;
  return {
    resources: [...shown.values()].slice(start, end),
    ...(end < shown.size ? { nextCursor: cursorAfter(KIND, String(end)) } : {}),
    ttlMs: core.listHints.ttlMs,
    cacheScope: "private",
  };
}

function positionOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const position = Number(readCursor(KIND, cursor) ?? Number.NaN);
  if (Number.isSafeInteger(position) && position >= 0) return position;
  const what = "Invalid cursor: use the nextCursor of this list, or none to start again";
  throw new RpcError(ErrorCode.InvalidParams, what, { path: "/cursor", constraint: "a cursor of this list" });
}
