// The public surface for servers written for the official SDK v1 or v2: their registration API on our core.
export { McpError, ProtocolError, UrlElicitationRequiredError } from "../compat/sdk-values.js";
export type { AuthInfo, Extra, McpRequest, Message } from "../compat/extra.js";
export type { RequestOptions } from "../compat/link.js";
export type {
  Contents,
  PromptDescription,
  ResourceDescription,
  ResourceUpdates,
  TemplateDescription,
  ToolUpdates,
} from "../compat/mcp-server.js";
export {
  McpServer,
  type PromptCallback,
  type PromptConfig,
  type ReadResourceCallback,
  type ReadResourceTemplateCallback,
  RegisteredResource,
  RegisteredTool,
  type ResourceMetadata,
} from "../compat/mcp-server.js";
export { Registered, type Updates } from "../compat/mcp-server.js";
export type { RawShape, SchemaInput, SchemaOutput } from "../compat/schema.js";
export {
  AudioContentSchema,
  BlobResourceContentsSchema,
  CallToolRequestParamsSchema,
  CallToolRequestSchema,
  CallToolResultSchema,
  CancelTaskRequestSchema,
  CancelledNotificationSchema,
  ClientCapabilitiesSchema,
  ClientNotificationSchema,
  ClientRequestSchema,
  ClientResultSchema,
  CompatibilityCallToolResultSchema,
  CompleteRequestSchema,
  CompleteResultSchema,
  ContentBlockSchema,
  CreateMessageRequestSchema,
  CreateMessageResultSchema,
  CreateMessageResultWithToolsSchema,
  CreateTaskResultSchema,
  CursorSchema,
  ElicitRequestSchema,
  ElicitResultSchema,
  ElicitationCompleteNotificationSchema,
  EmbeddedResourceSchema,
  EmptyResultSchema,
  GetPromptRequestSchema,
  GetPromptResultSchema,
  GetTaskPayloadRequestSchema,
  GetTaskRequestSchema,
  GetTaskResultSchema,
  ImageContentSchema,
  ImplementationSchema,
  InitializeRequestSchema,
  InitializeResultSchema,
  InitializedNotificationSchema,
  JSONRPCMessageSchema,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  JSONRPCResponseSchema,
  ListPromptsRequestSchema,
  ListPromptsResultSchema,
  ListResourceTemplatesRequestSchema,
  ListResourceTemplatesResultSchema,
  ListResourcesRequestSchema,
  ListResourcesResultSchema,
  ListRootsRequestSchema,
  ListRootsResultSchema,
  ListTasksRequestSchema,
  ListToolsRequestSchema,
  ListToolsResultSchema,
  LoggingLevelSchema,
  LoggingMessageNotificationSchema,
  NotificationSchema,
  PingRequestSchema,
  ProgressNotificationSchema,
  ProgressTokenSchema,
  PromptArgumentSchema,
  PromptListChangedNotificationSchema,
  PromptMessageSchema,
  PromptSchema,
  ReadResourceRequestSchema,
  ReadResourceResultSchema,
  RequestIdSchema,
  RequestSchema,
  ResourceContentsSchema,
  ResourceLinkSchema,
  ResourceListChangedNotificationSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ResourceUpdatedNotificationSchema,
  ResultSchema,
  RootSchema,
  RootsListChangedNotificationSchema,
  SamplingMessageSchema,
  ServerCapabilitiesSchema,
  ServerNotificationSchema,
  ServerRequestSchema,
  ServerResultSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  TaskSchema,
  TaskStatusNotificationSchema,
  TextContentSchema,
  TextResourceContentsSchema,
  ToolAnnotationsSchema,
  ToolListChangedNotificationSchema,
  ToolSchema,
  UnsubscribeRequestSchema,
  type SchemaStandIn,
} from "../compat/schemas.js";
export {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  ErrorCode,
  fromJsonSchema,
  getDisplayName,
  inputRequired,
  inputResponse,
  isCallToolResult,
  isInitializedNotification,
  isInitializeRequest,
  isInputRequiredResult,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
  JSONRPC_VERSION,
  LATEST_PROTOCOL_VERSION,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "../compat/sdk-values.js";
export { Server, type ServerOptions } from "../compat/server.js";
export { InMemoryTaskMessageQueue, InMemoryTaskStore, type ToolTaskHandler } from "../compat/task-store.js";
export {
  completable,
  type CompleteCallback,
  isCompletable,
  type ListResourcesCallback,
  ResourceTemplate,
  UriTemplate,
  type Variables,
} from "../compat/schema.js";
export type { ToolDescription } from "../compat/mcp-server.js";
export type { Asked, AskingResult, InputRequiredBuilder, Responses } from "../compat/sdk-values.js";
export type { TaskState } from "../compat/task-store.js";
export type { MessageExtra, SendOptions } from "../compat/transport.js";
export type { ToolAnswer, ToolCallback, ToolConfig } from "../compat/mcp-server.js";
export { type AnyTransport, InMemoryTransport, type OwnTransport, type SdkTransport } from "../compat/transport.js";
export type { CallToolResult, Tool, ToolAnnotations } from "./types.js";
export type { GetPromptResult, Prompt, PromptMessage } from "../protocol/features/prompts.js";
export type { ReadResourceResult, Resource, ResourceContents } from "../protocol/features/resources.js";
export type { ClientCapabilities, Implementation, ServerCapabilities } from "../protocol/capabilities.js";
export type { ContentBlock } from "../protocol/content.js";
export type { ElicitResult } from "../protocol/features/elicitation.js";
export type { CreateMessageResult } from "../protocol/features/sampling.js";
export type { LoggingLevel } from "../protocol/features/logging.js";
export type { Root } from "../protocol/features/input-required.js";
