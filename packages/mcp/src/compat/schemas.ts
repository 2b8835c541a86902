// What SDK v1 exports as zod schemas of messages (`types.js`), as far as servers need them: a method to register for.
import type { StandardSchema } from "../schema/standard-schema.js";

/** Stands for a schema: it names a method and lets every value through, since our core has checked it already. */
export interface SchemaStandIn extends StandardSchema {
  readonly method: string | undefined;
  /** Stand-ins too, for code that takes a member's schema. */
  readonly shape: Readonly<Record<string, SchemaStandIn>>;
  parse<T>(value: T): T;
  safeParse<T>(value: T): { readonly success: true; readonly data: T };
}

function standIn(method?: string): SchemaStandIn {
  return {
    method,
    get shape(): Readonly<Record<string, SchemaStandIn>> {
      return new Proxy({}, { get: () => standIn() });
    },
    parse: (value) => value,
    safeParse: (data) => ({ success: true, data }),
    "~standard": { version: 1, vendor: "compat", validate: (value) => ({ value }) },
  };
}

/** Stands for SDK v1's schema of `initialize`. */
export const InitializeRequestSchema: SchemaStandIn = standIn("initialize");
/** Stands for SDK v1's schema of `ping`. */
export const PingRequestSchema: SchemaStandIn = standIn("ping");
/** Stands for SDK v1's schema of `tools/list`. */
export const ListToolsRequestSchema: SchemaStandIn = standIn("tools/list");
/** Stands for SDK v1's schema of `tools/call`. */
export const CallToolRequestSchema: SchemaStandIn = standIn("tools/call");
/** Stands for SDK v1's schema of `resources/list`. */
export const ListResourcesRequestSchema: SchemaStandIn = standIn("resources/list");
/** Stands for SDK v1's schema of `resources/templates/list`. */
export const ListResourceTemplatesRequestSchema: SchemaStandIn = standIn("resources/templates/list");
/** Stands for SDK v1's schema of `resources/read`. */
export const ReadResourceRequestSchema: SchemaStandIn = standIn("resources/read");
/** Stands for SDK v1's schema of `resources/subscribe`. */
export const SubscribeRequestSchema: SchemaStandIn = standIn("resources/subscribe");
/** Stands for SDK v1's schema of `resources/unsubscribe`. */
export const UnsubscribeRequestSchema: SchemaStandIn = standIn("resources/unsubscribe");
/** Stands for SDK v1's schema of `prompts/list`. */
export const ListPromptsRequestSchema: SchemaStandIn = standIn("prompts/list");
/** Stands for SDK v1's schema of `prompts/get`. */
export const GetPromptRequestSchema: SchemaStandIn = standIn("prompts/get");
/** Stands for SDK v1's schema of `completion/complete`. */
export const CompleteRequestSchema: SchemaStandIn = standIn("completion/complete");
/** Stands for SDK v1's schema of `logging/setLevel`. */
export const SetLevelRequestSchema: SchemaStandIn = standIn("logging/setLevel");
/** Stands for SDK v1's schema of `sampling/createMessage`. */
export const CreateMessageRequestSchema: SchemaStandIn = standIn("sampling/createMessage");
/** Stands for SDK v1's schema of `elicitation/create`. */
export const ElicitRequestSchema: SchemaStandIn = standIn("elicitation/create");
/** Stands for SDK v1's schema of `roots/list`. */
export const ListRootsRequestSchema: SchemaStandIn = standIn("roots/list");
/** Stands for SDK v1's schema of `tasks/get`. */
export const GetTaskRequestSchema: SchemaStandIn = standIn("tasks/get");
/** Stands for SDK v1's schema of `tasks/result`. */
export const GetTaskPayloadRequestSchema: SchemaStandIn = standIn("tasks/result");
/** Stands for SDK v1's schema of `tasks/list`. */
export const ListTasksRequestSchema: SchemaStandIn = standIn("tasks/list");
/** Stands for SDK v1's schema of `tasks/cancel`. */
export const CancelTaskRequestSchema: SchemaStandIn = standIn("tasks/cancel");
/** Stands for SDK v1's schema of `notifications/initialized`. */
export const InitializedNotificationSchema: SchemaStandIn = standIn("notifications/initialized");
/** Stands for SDK v1's schema of `notifications/cancelled`. */
export const CancelledNotificationSchema: SchemaStandIn = standIn("notifications/cancelled");
/** Stands for SDK v1's schema of `notifications/progress`. */
export const ProgressNotificationSchema: SchemaStandIn = standIn("notifications/progress");
/** Stands for SDK v1's schema of `notifications/message`. */
export const LoggingMessageNotificationSchema: SchemaStandIn = standIn("notifications/message");
/** Stands for SDK v1's schema of `notifications/resources/updated`. */
export const ResourceUpdatedNotificationSchema: SchemaStandIn = standIn("notifications/resources/updated");
/** Stands for SDK v1's schema of `notifications/resources/list_changed`. */
export const ResourceListChangedNotificationSchema: SchemaStandIn = standIn("notifications/resources/list_changed");
/** Stands for SDK v1's schema of `notifications/tools/list_changed`. */
export const ToolListChangedNotificationSchema: SchemaStandIn = standIn("notifications/tools/list_changed");
/** Stands for SDK v1's schema of `notifications/prompts/list_changed`. */
export const PromptListChangedNotificationSchema: SchemaStandIn = standIn("notifications/prompts/list_changed");
/** Stands for SDK v1's schema of `notifications/roots/list_changed`. */
export const RootsListChangedNotificationSchema: SchemaStandIn = standIn("notifications/roots/list_changed");
/** Stands for SDK v1's schema of `notifications/elicitation/complete`. */
export const ElicitationCompleteNotificationSchema: SchemaStandIn = standIn("notifications/elicitation/complete");
/** Stands for SDK v1's schema of `notifications/tasks/status`. */
export const TaskStatusNotificationSchema: SchemaStandIn = standIn("notifications/tasks/status");

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
/** Stands for SDK v1's schema of the same name: lets every value through. */
export const LoggingLevelSchema: SchemaStandIn = standIn();
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
