// What servers written for other SDKs give as a schema or a template, as our core takes it: raw shapes, zod of any
// version, completable arguments, resource templates.
import { LOGGING_LEVELS, type LoggingLevel } from "../protocol/features/lifecycle.js";
import type { CompleteRequestParams } from "../protocol/features/prompts.js";
import type { Resource } from "../protocol/features/resources.js";
import { UriTemplate as CoreTemplate } from "../protocol/uri-template.js";
import type { JsonSchema } from "../schema/schema.js";
import { type InferStandard, isStandardSchema, type StandardSchema } from "../schema/standard-schema.js";
import { mayBeAbsent, zodJson } from "../schema/zod-json.js";
import type { CompletionReturn } from "../server/context.js";
import type { Extra } from "./extra.js";

/** Values of a template's variables. */
export type Variables = Record<string, string | string[]>;

/** Completes one variable, or one argument of a prompt. */
export type CompleteCallback = (
  value: string,
  context?: { readonly arguments?: Readonly<Record<string, string>> },
) => CompletionReturn | Promise<CompletionReturn>;

/** Lists the resources of a template. */
export type ListResourcesCallback = (extra: Extra) => { resources: Resource[] } | Promise<{ resources: Resource[] }>;

/** An RFC 6570 template under the names of the SDKs. */
export class UriTemplate {
  readonly #template: CoreTemplate;

  constructor(template: string) {
    this.#template = new CoreTemplate(template);
  }

  get variableNames(): string[] {
    return [...this.#template.variables];
  }

  expand(variables: Variables): string {
    return this.#template.expand(variables);
  }

  match(uri: string): Variables | null {
    const found = this.#template.match(uri);
    return found === undefined ? null : found;
  }

  toString(): string {
    return this.#template.text;
  }
}

/** A family of resources, and perhaps those it has now. */
export class ResourceTemplate {
  readonly uriTemplate: UriTemplate;
  readonly listCallback: ListResourcesCallback | undefined;
  readonly #complete: Readonly<Record<string, CompleteCallback>>;

  constructor(
    template: string | UriTemplate,
    callbacks: {
      readonly list: ListResourcesCallback | undefined;
      readonly complete?: Readonly<Record<string, CompleteCallback>>;
    },
  ) {
    this.uriTemplate = typeof template === "string" ? new UriTemplate(template) : template;
    this.listCallback = callbacks.list;
    this.#complete = callbacks.complete ?? {};
  }

  completeCallback(variable: string): CompleteCallback | undefined {
    return this.#complete[variable];
  }

  /** All that complete a variable, by its name. */
  get completers(): Readonly<Record<string, CompleteCallback>> {
    return this.#complete;
  }
}

const completers = new WeakMap<object, CompleteCallback>();

/** Gives a schema of a prompt's argument a function that completes it. */
export function completable<S extends object>(schema: S, complete: CompleteCallback): S {
  completers.set(schema, complete);
  return schema;
}

/** Whether `completable` was given this schema. */
export function isCompletable(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && completers.has(schema);
}

/** The function of a schema, also where `.optional()` was put around it. */
export function completerOf(schema: object): CompleteCallback | undefined {
  const own = completers.get(schema);
  if (own !== undefined) return own;
  const { _def, _zod } = schema as { _def?: { innerType?: object }; _zod?: { def?: { innerType?: object } } };
  const inner = _zod?.def?.innerType ?? _def?.innerType;
  return inner === undefined ? undefined : completerOf(inner);
}

/** Schemas by name of the member, as `inputSchema: { id: z.string() }`. */
export type RawShape = Readonly<Record<string, StandardSchema>>;

/** A schema as SDKs v1 and v2 take it. */
export type SchemaInput = StandardSchema | RawShape;

/** What a handler gets for it. */
export type SchemaOutput<S> = S extends StandardSchema
  ? InferStandard<S>
  : S extends RawShape
    ? { [K in keyof S]: InferStandard<S[K]> }
    : Record<string, unknown>;

type Side = "input" | "output";
type Validated = { readonly value: unknown } | { readonly issues: readonly Issue[] };
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A tool of an SDK that declares no schema takes whatever comes. */
export const ANYTHING: JsonSchema = Object.freeze({ type: "object", properties: Object.freeze({}) });

/** The schema for our core. Throws a TypeError for what is neither a schema nor a shape of schemas. */
export function toSchema(schema: unknown, side: Side): StandardSchema {
  if (isStandardSchema(schema)) return publishing(schema, rooted(jsonOf(schema, side)));
  const fields = Object.entries((schema ?? {}) as Readonly<Record<string, unknown>>);
  const wrong = fields.find(([, field]) => !isStandardSchema(field));
  if (wrong !== undefined) {
    throw new TypeError(
      `The ${side} schema's member "${wrong[0]}" is no schema: use zod 3.24 or later, or wrap the whole in z.object`,
    );
  }
  return ofShape(fields as [string, StandardSchema][], side);
}

/** The same validation, with a JSON Schema to publish. */
function publishing(schema: StandardSchema, json: JsonSchema): StandardSchema {
  const { vendor, validate } = schema["~standard"];
  const published = (): Record<string, unknown> => json as Record<string, unknown>;
  return {
    "~standard": {
      version: 1,
      vendor,
      validate: (value) => validate(value),
      jsonSchema: { input: published, output: published },
    },
  };
}

/** Lists show objects only: a union of objects says so itself. */
function rooted(json: JsonSchema): JsonSchema {
  if (typeof json !== "object" || json["type"] === "object") return json;
  return { type: "object", ...json };
}

function jsonOf(schema: StandardSchema, side: Side): JsonSchema {
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema === undefined) {
    if (vendor === "zod") return zodJson(schema, side);
    throw new TypeError(
      `This ${vendor} schema cannot export JSON Schema: take one that can, or describe the ${side} with zod`,
    );
  }
  try {
    return jsonSchema[side]({ target: "draft-2020-12" });
  } catch (error) {
    // What zod refuses to describe (dates, transformations) it still validates.
    if (vendor === "zod") return zodJson(schema, side);
    throw error;
  }
}

/** An object of these members: what it does not name is dropped, as zod does. */
function ofShape(fields: readonly [string, StandardSchema][], side: Side): StandardSchema {
  const properties = Object.fromEntries(fields.map(([name, field]) => [name, memberJson(name, jsonOf(field, side))]));
  const required = fields.filter(([, field]) => !mayBeAbsent(field, side)).map(([name]) => name);
  const json = { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
  const published = (): Record<string, unknown> => json;
  return {
    "~standard": {
      version: 1,
      vendor: "shape",
      validate: (value) => validateShape(fields, value),
      jsonSchema: { input: published, output: published },
    },
  };
}

async function validateShape(fields: readonly [string, StandardSchema][], value: unknown): Promise<Validated> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { issues: [{ message: "must be an object" }] };
  }
  const given = value as Readonly<Record<string, unknown>>;
  const kept: Record<string, unknown> = {};
  const issues: Issue[] = [];
  for (const [name, field] of fields) {
    const outcome = await field["~standard"].validate(Object.hasOwn(given, name) ? given[name] : undefined);
    if (outcome.issues === undefined) {
      if (outcome.value !== undefined || Object.hasOwn(given, name)) kept[name] = outcome.value;
    } else {
      issues.push(...outcome.issues.map(({ message, path = [] }) => ({ message, path: [name, ...path] })));
    }
  }
  return issues.length === 0 ? { value: kept } : { issues };
}

/** A schema made alone refers to its own root, which is a member now. */
function memberJson(name: string, json: JsonSchema): unknown {
  const place = `#/properties/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(([key]) => key !== "$schema");
    return Object.fromEntries(
      entries.map(([key, each]) =>
        key === "$ref" && typeof each === "string" && each.startsWith("#")
          ? [key, place + each.slice(1)]
          : [key, moved(each)],
      ),
    );
  };
  return moved(json);
}

// What SDK v1 exports as zod schemas of messages (`types.js`), as far as servers need them: a method to register for.

/** Stands for a schema: it names a method and lets every value through, since our core has checked it already. */
export interface SchemaStandIn<T = unknown> extends StandardSchema<unknown, T> {
  readonly method: string | undefined;
  /** Stand-ins too, for code that takes a member's schema. */
  readonly shape: Readonly<Record<string, SchemaStandIn>>;
  parse<T>(value: T): T;
  safeParse<T>(value: T): { readonly success: true; readonly data: T };
}

function standIn<M extends string>(method?: M): SchemaStandIn<SdkMessage<M>> {
  return {
    method,
    get shape(): Readonly<Record<string, SchemaStandIn>> {
      return new Proxy({}, { get: () => standIn() });
    },
    parse: (value) => value,
    safeParse: (data) => ({ success: true, data }),
    "~standard": { version: 1, vendor: "compat", validate: (value) => ({ value: value as SdkMessage<M> }) },
  };
}

/** Stands for a schema of a few words, which servers read their settings by: it knows them, and lets no other through. */
export interface WordsStandIn<T extends string> extends StandardSchema<unknown, T> {
  readonly options: readonly T[];
  readonly enum: Readonly<Record<T, T>>;
  /** Throws for any other value. */
  parse(value: unknown): T;
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false; readonly error: Error };
}

function wordsStandIn<const T extends string>(options: readonly T[]): WordsStandIn<T> {
  const fault = (value: unknown): string | undefined =>
    options.includes(value as T) ? undefined : `Invalid option: expected one of ${options.join(", ")}`;
  return {
    options,
    enum: Object.fromEntries(options.map((each) => [each, each])) as Record<T, T>,
    parse: (value) => {
      const message = fault(value);
      if (message !== undefined) throw new Error(message);
      return value as T;
    },
    safeParse: (value) => {
      const message = fault(value);
      return message === undefined
        ? { success: true, data: value as T }
        : { success: false, error: new Error(message) };
    },
    "~standard": {
      version: 1,
      vendor: "compat",
      validate: (value) => {
        const message = fault(value);
        return message === undefined ? { value: value as T } : { issues: [{ message }] };
      },
    },
  };
}

/** Params of messages that a low-level server serves or hears, by method. */
export interface SdkParams {
  readonly "completion/complete": CompleteRequestParams;
  readonly "logging/setLevel": { readonly level: LoggingLevel };
  readonly "prompts/get": { readonly name: string; readonly arguments?: Readonly<Record<string, string>> };
  readonly "resources/read": { readonly uri: string };
  readonly "resources/subscribe": { readonly uri: string };
  readonly "resources/unsubscribe": { readonly uri: string };
  readonly "tools/call": { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> };
}

/** A message as handlers of the SDKs get it. */
export interface SdkMessage<M extends string> {
  readonly method: M;
  readonly params: M extends keyof SdkParams ? SdkParams[M] : Readonly<Record<string, unknown>> | undefined;
}

/** Stands for SDK v1's schema of `initialize`. */
export const InitializeRequestSchema: SchemaStandIn<SdkMessage<"initialize">> = standIn("initialize");
/** Stands for SDK v1's schema of `ping`. */
export const PingRequestSchema: SchemaStandIn<SdkMessage<"ping">> = standIn("ping");
/** Stands for SDK v1's schema of `tools/list`. */
export const ListToolsRequestSchema: SchemaStandIn<SdkMessage<"tools/list">> = standIn("tools/list");
/** Stands for SDK v1's schema of `tools/call`. */
export const CallToolRequestSchema: SchemaStandIn<SdkMessage<"tools/call">> = standIn("tools/call");
/** Stands for SDK v1's schema of `resources/list`. */
export const ListResourcesRequestSchema: SchemaStandIn<SdkMessage<"resources/list">> = standIn("resources/list");
/** Stands for SDK v1's schema of `resources/templates/list`. */
export const ListResourceTemplatesRequestSchema: SchemaStandIn<SdkMessage<"resources/templates/list">> =
  standIn("resources/templates/list");
/** Stands for SDK v1's schema of `resources/read`. */
export const ReadResourceRequestSchema: SchemaStandIn<SdkMessage<"resources/read">> = standIn("resources/read");
/** Stands for SDK v1's schema of `resources/subscribe`. */
export const SubscribeRequestSchema: SchemaStandIn<SdkMessage<"resources/subscribe">> = standIn("resources/subscribe");
/** Stands for SDK v1's schema of `resources/unsubscribe`. */
export const UnsubscribeRequestSchema: SchemaStandIn<SdkMessage<"resources/unsubscribe">> =
  standIn("resources/unsubscribe");
/** Stands for SDK v1's schema of `prompts/list`. */
export const ListPromptsRequestSchema: SchemaStandIn<SdkMessage<"prompts/list">> = standIn("prompts/list");
/** Stands for SDK v1's schema of `prompts/get`. */
export const GetPromptRequestSchema: SchemaStandIn<SdkMessage<"prompts/get">> = standIn("prompts/get");
/** Stands for SDK v1's schema of `completion/complete`. */
export const CompleteRequestSchema: SchemaStandIn<SdkMessage<"completion/complete">> = standIn("completion/complete");
/** Stands for SDK v1's schema of `logging/setLevel`. */
export const SetLevelRequestSchema: SchemaStandIn<SdkMessage<"logging/setLevel">> = standIn("logging/setLevel");
/** Stands for SDK v1's schema of `sampling/createMessage`. */
export const CreateMessageRequestSchema: SchemaStandIn<SdkMessage<"sampling/createMessage">> =
  standIn("sampling/createMessage");
/** Stands for SDK v1's schema of `elicitation/create`. */
export const ElicitRequestSchema: SchemaStandIn<SdkMessage<"elicitation/create">> = standIn("elicitation/create");
/** Stands for SDK v1's schema of `roots/list`. */
export const ListRootsRequestSchema: SchemaStandIn<SdkMessage<"roots/list">> = standIn("roots/list");
/** Stands for SDK v1's schema of `tasks/get`. */
export const GetTaskRequestSchema: SchemaStandIn<SdkMessage<"tasks/get">> = standIn("tasks/get");
/** Stands for SDK v1's schema of `tasks/result`. */
export const GetTaskPayloadRequestSchema: SchemaStandIn<SdkMessage<"tasks/result">> = standIn("tasks/result");
/** Stands for SDK v1's schema of `tasks/list`. */
export const ListTasksRequestSchema: SchemaStandIn<SdkMessage<"tasks/list">> = standIn("tasks/list");
/** Stands for SDK v1's schema of `tasks/cancel`. */
export const CancelTaskRequestSchema: SchemaStandIn<SdkMessage<"tasks/cancel">> = standIn("tasks/cancel");
/** Stands for SDK v1's schema of `notifications/initialized`. */
export const InitializedNotificationSchema: SchemaStandIn<SdkMessage<"notifications/initialized">> =
  standIn("notifications/initialized");
/** Stands for SDK v1's schema of `notifications/cancelled`. */
export const CancelledNotificationSchema: SchemaStandIn<SdkMessage<"notifications/cancelled">> =
  standIn("notifications/cancelled");
/** Stands for SDK v1's schema of `notifications/progress`. */
export const ProgressNotificationSchema: SchemaStandIn<SdkMessage<"notifications/progress">> =
  standIn("notifications/progress");
/** Stands for SDK v1's schema of `notifications/message`. */
export const LoggingMessageNotificationSchema: SchemaStandIn<SdkMessage<"notifications/message">> =
  standIn("notifications/message");
/** Stands for SDK v1's schema of `notifications/resources/updated`. */
export const ResourceUpdatedNotificationSchema: SchemaStandIn<SdkMessage<"notifications/resources/updated">> = standIn(
  "notifications/resources/updated",
);
/** Stands for SDK v1's schema of `notifications/resources/list_changed`. */
export const ResourceListChangedNotificationSchema: SchemaStandIn<SdkMessage<"notifications/resources/list_changed">> =
  standIn("notifications/resources/list_changed");
/** Stands for SDK v1's schema of `notifications/tools/list_changed`. */
export const ToolListChangedNotificationSchema: SchemaStandIn<SdkMessage<"notifications/tools/list_changed">> = standIn(
  "notifications/tools/list_changed",
);
/** Stands for SDK v1's schema of `notifications/prompts/list_changed`. */
export const PromptListChangedNotificationSchema: SchemaStandIn<SdkMessage<"notifications/prompts/list_changed">> =
  standIn("notifications/prompts/list_changed");
/** Stands for SDK v1's schema of `notifications/roots/list_changed`. */
export const RootsListChangedNotificationSchema: SchemaStandIn<SdkMessage<"notifications/roots/list_changed">> =
  standIn("notifications/roots/list_changed");
/** Stands for SDK v1's schema of `notifications/elicitation/complete`. */
export const ElicitationCompleteNotificationSchema: SchemaStandIn<SdkMessage<"notifications/elicitation/complete">> =
  standIn("notifications/elicitation/complete");
/** Stands for SDK v1's schema of `notifications/tasks/status`. */
export const TaskStatusNotificationSchema: SchemaStandIn<SdkMessage<"notifications/tasks/status">> =
  standIn("notifications/tasks/status");

// Schemas of what is answered, or lies in messages: servers hand them back with `sendRequest`.
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const RequestSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const NotificationSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const EmptyResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ImplementationSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ClientCapabilitiesSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ServerCapabilitiesSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const InitializeResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ResourceSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ResourceTemplateSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ResourceContentsSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const TextResourceContentsSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const BlobResourceContentsSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ListResourcesResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ListResourceTemplatesResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ReadResourceResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const PromptSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const PromptArgumentSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const PromptMessageSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ListPromptsResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const GetPromptResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const TextContentSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ImageContentSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const AudioContentSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const EmbeddedResourceSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ResourceLinkSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ContentBlockSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ToolSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ToolAnnotationsSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ListToolsResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const CallToolResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const CompatibilityCallToolResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const CreateMessageResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const CreateMessageResultWithToolsSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const SamplingMessageSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ElicitResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const CompleteResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const RootSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ListRootsResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name, with its `options`. */
export const LoggingLevelSchema: WordsStandIn<LoggingLevel> = wordsStandIn(LOGGING_LEVELS);
/** Stands for SDK v1's schema of the same name, with its `options`. */
export const RoleSchema: WordsStandIn<"user" | "assistant"> = wordsStandIn(["user", "assistant"]);
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const CreateTaskResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const GetTaskResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const TaskSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const JSONRPCMessageSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const JSONRPCRequestSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const JSONRPCNotificationSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const JSONRPCResponseSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ClientRequestSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ServerRequestSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ClientNotificationSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ServerNotificationSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ClientResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ServerResultSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const CallToolRequestParamsSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const ProgressTokenSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const RequestIdSchema: SchemaStandIn = standIn();
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const CursorSchema: SchemaStandIn = standIn();
