// The server an author writes, with all there is: JSON Schema in place, resource templates and tasks.
import type { Answer, CallOf, MaybePromise } from "../endpoint/call.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { isThenable } from "../jsonrpc/message.js";
import type { Resource } from "../protocol/features/resources.js";
import type { PaginatedRequestParams } from "../protocol/method.js";
import { membersAlone, schemaAdvice } from "../schema/json-schema/advice.js";
import { compileJsonSchema } from "../schema/json-schema/compile.js";
import { UriTemplate } from "../protocol/uri-template.js";
import type { JsonSchema, Outcome, Schema } from "../schema/schema.js";
import { isStandardSchema } from "../schema/standard-schema.js";
import { zodExport } from "../schema/zod-json.js";
import { addTool, coreOf, LeanServer, reservedWarning, type ServerOptions, warn, webWarning } from "./lean-server.js";
import { type AskServices, Context } from "./context.js";
import { returnedValues } from "./interactive.js";
import { cursorAfter, type ListHints, readCursor } from "./lists.js";
import type { Registration, Registry } from "./registry.js";
import {
  type ListedResource,
  type ResourceEntry,
  type ResourceTemplateDefinition,
  type TemplateEntry,
  templateEntry,
  type VariablesOf,
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
    core.listResources = (call) => (templatesList(core) ? listedPage(core, call) : undefined);
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

function shownResource(listed: ListedResource, { template }: TemplateEntry): Resource {
  const { mimeType } = template;
  return { name: listed.uri, ...(mimeType === undefined ? {} : { mimeType }), ...listed };
}

function positionOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const position = Number(readCursor(KIND, cursor) ?? Number.NaN);
  if (Number.isSafeInteger(position) && position >= 0) return position;
  const what = "Invalid cursor: use the nextCursor of this list, or none to start again";
  throw new RpcError(ErrorCode.InvalidParams, what, { path: "/cursor", constraint: "a cursor of this list" });
}
