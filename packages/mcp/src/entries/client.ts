// The public surface of the client: connects by URL, in memory, or over a link of one's own, on every runtime.
export type { Answers, CallOptions, Progress, Round } from "./types.js";
export type { Change } from "../client/options.js";
export { Client } from "../client/client.js";
export type { CompleteOptions, Completion } from "../client/lists.js";
export { type Attempt, ConnectError } from "../client/conversation.js";
export type { ClientMiddleware, ClientOptions, Dialer, ReconnectOptions, SentRequest } from "../client/options.js";
export type { TypedResult } from "../client/caches.js";
export type { Listing } from "../client/lists.js";
export type { LogMessage, PingOptions } from "../client/server-watch.js";
export {
  type ModelBlock,
  type ModelPart,
  type ModelParts,
  type ModelText,
  toModelParts,
  toModelText,
} from "../client/model-text.js";
export type { Elicit, ElicitRequest, QuestionContext, Sample } from "../client/options.js";
export { type CachedResult, type CacheOptions, MemoryResults, type ResultStore } from "../client/caches.js";
export type { Subscription, Watched } from "../client/subscriptions.js";
export type { TaskHandle } from "../client/tasks.js";
export type { TaskOptions } from "../client/tasks.js";
export {
  KNOWN_REVISIONS,
  type KnownRevision,
  MemoryVerdicts,
  type Verdict,
  type VerdictStore,
} from "../client/versions.js";
export type { AuthorizedRequest, AuthorizedResponse, HttpAuthorizer } from "../jsonrpc/transport.js";
export type { Agreement, Arrival, Transport, MessageSink, Outgoing } from "../jsonrpc/transport.js";
export { LocalError, RpcError } from "../jsonrpc/errors.js";
export type { ClientCapabilities, ServerCapabilities, Implementation } from "../protocol/capabilities.js";
export type { ContentBlock } from "../protocol/content.js";
export { McpErrorCode } from "../protocol/meta.js";
export type { Task, TaskStatus } from "../protocol/extensions/tasks.js";
export type {
  CompletionReference,
  GetPromptResult,
  Prompt,
  PromptArgument,
  PromptMessage,
} from "../protocol/features/prompts.js";
export type {
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  PrimitiveSchemaDefinition,
  RequestedSchema,
  Root,
} from "../protocol/features/elicitation.js";
export type { LoggingLevel } from "../protocol/features/lifecycle.js";
export type {
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceTemplate,
} from "../protocol/features/resources.js";
export type {
  CreateMessageRequestParams,
  CreateMessageResult,
  SamplingMessage,
} from "../protocol/features/sampling.js";
export type { CallToolResult } from "../protocol/features/tools.js";
export type { Tool, ToolAnnotations } from "../protocol/features/tools.js";
export type { TemplateValues } from "../protocol/uri-template/expand.js";
export { connect, type ConnectOptions, type ConnectTarget, type HttpConnectOptions } from "../serve/connect.js";
export type { FetchLike } from "../http/client/fetch-requester.js";
export type { HttpClientLimits } from "../http/client/http-caller.js";
export type { HttpReply, HttpRequest, HttpRequester } from "../http/client/http-caller.js";
