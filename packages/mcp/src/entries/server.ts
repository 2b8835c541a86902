// The public surface of the server role.
export type { Answer, MaybePromise } from "./types.js";
export { errorIdOf, ReadyResult } from "../endpoint/call.js";
export type { Awaitable } from "../jsonrpc/message.js";
export type { Call } from "../endpoint/call.js";
export type { Caller } from "../endpoint/call.js";
export type { Middleware, Next } from "../endpoint/call.js";
export type { Identity } from "../jsonrpc/transport.js";
export { LocalError, RpcError } from "../jsonrpc/errors.js";
export type { ClientCapabilities, ServerCapabilities, Implementation } from "../protocol/capabilities.js";
export type { ContentBlock } from "../protocol/content.js";
export { McpErrorCode } from "../protocol/meta.js";
export type { CallToolResult } from "../protocol/features/tools.js";
export type { Task, TaskStatus } from "../protocol/extensions/tasks.js";
export type { GetPromptResult } from "../protocol/features/prompts.js";
export type { LoggingLevel } from "../protocol/features/lifecycle.js";
export type { ReadResourceResult, ResourceContents } from "../protocol/features/resources.js";
export type { Root } from "../protocol/features/elicitation.js";
export type { ToolAnnotations } from "../protocol/features/tools.js";
export type { FromJsonSchema, Fault, JsonSchema, Outcome, Schema } from "../schema/schema.js";
export type { AskOptions } from "../server/ask.js";
export { AskError } from "../server/content.js";
export type { CapabilityOptions } from "../server/core.js";
export type { Completer, CompletionReturn } from "../server/context.js";
export { audio, type Block, image, link, resource, text } from "../server/content.js";
export type { Context } from "../server/context.js";
export type { Reporter } from "../server/reporter.js";
export { HandleError, type HandleOptions, type Handles, handles, type HandleUser } from "../server/registry.js";
export { inputRequired } from "../server/interactive.js";
export { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../server/limits.js";
export { result, type ToolResult } from "../server/content.js";
export type { PromptDefinition, PromptReturn } from "../server/prompts.js";
export type { Registration, Restricted, Unlisted, Visibility } from "../server/registry.js";
export type {
  ListedResource,
  ReadReturn,
  ResourceDefinition,
  ResourceTemplateDefinition,
  Variables,
} from "../server/resources.js";
export type { Seal } from "../server/sealing.js";
export { ToolError } from "../server/content.js";
export { aesSeal, LeanServer, type ServerOptions } from "../server/lean-server.js";
export { Server } from "../server/server.js";
export type { Tells } from "../server/subscription.js";
export type { EndedSession } from "../server/session.js";
export type { LiveSession, OnSession } from "../server/session.js";
export { claimsOf, type RequestValue, requestValue } from "../server/context.js";
export { MemoryTaskStore } from "../server/tasks/task-manager.js";
export type { TaskStoreLimits } from "../server/tasks/task-manager.js";
export type { TaskPage, TaskRecord, TaskStore } from "../server/tasks/task-store.js";
export type { TaskSupport, ToolDefinition, ToolReturn } from "../server/tools.js";
export { serve } from "../serve/serve.js";
export type { ServeOptions, Serving } from "../server/conversation.js";
