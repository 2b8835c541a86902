// The public surface of the client: connects by URL, in memory, or over a link of one's own, on every runtime.
export type { Answers, CallOptions, Progress, Round } from "./types.js";
export type { Change } from "../client/options.js";
export { Client } from "../client/client.js";
export type { CompleteOptions, Completion } from "../client/lists.js";
export { type Attempt, ConnectError } from "../client/established.js";
export type { ClientMiddleware, ClientOptions, Dialer, ReconnectOptions, SentRequest } from "../client/options.js";
export type { TypedResult } from "../client/tool-cache.js";
export type { Listing } from "../client/lists.js";
export type { LogMessage } from "../client/log-ring.js";
export {
  type ModelBlock,
  type ModelPart,
  type ModelParts,
  type ModelText,
  toModelParts,
  toModelText,
} from "../client/model-text.js";
export type { PingOptions } from "../client/pinger.js";
export type { Elicit, ElicitRequest, QuestionContext, Sample } from "../client/options.js";
export { type CachedResult, type CacheOptions, MemoryResults, type ResultStore } from "../client/response-cache.js";
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
export { LocalError } from "../jsonrpc/errors.js";
export { RpcError } from "../jsonrpc/errors.js";
export type { ClientCapabilities, ServerCapabilities } from "../protocol/capabilities.js";
export type { ContentBlock } from "../protocol/content.js";
export { McpErrorCode } from "../protocol/error-codes.js";
export type { Task, TaskStatus } from "../protocol/extensions/tasks.js";
export type { CompletionReference } from "../protocol/features/completion.js";
export type {
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  PrimitiveSchemaDefinition,
  RequestedSchema,
} from "../protocol/features/elicitation.js";
export type { LoggingLevel } from "../protocol/features/logging.js";
export type { GetPromptResult, Prompt, PromptArgument, PromptMessage } from "../protocol/features/prompts.js";
export type { ReadResourceResult } from "../protocol/features/resources.js";
export type { Root } from "../protocol/features/input-required.js";
export type {
  CreateMessageRequestParams,
  CreateMessageResult,
  SamplingMessage,
} from "../protocol/features/sampling.js";
export type { CallToolResult } from "../protocol/features/tools.js";
export type { Implementation } from "../protocol/capabilities.js";
export type { Resource, ResourceContents, ResourceTemplate } from "../protocol/features/resources.js";
export type { Tool, ToolAnnotations } from "../protocol/features/tools.js";
export type { TemplateValues } from "../protocol/uri-template/expand.js";
export { connect, type ConnectOptions, type ConnectTarget, type HttpConnectOptions } from "../serve/connect.js";
export type { FetchLike } from "../http/client/fetch-requester.js";
export type { HttpClientLimits } from "../http/client/http-caller.js";
export type { HttpReply, HttpRequest, HttpRequester } from "../http/client/http-caller.js";
