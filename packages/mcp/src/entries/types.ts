// Every type that a signature of another subpath names, so that a program can name what the library gives it.
export type { Client } from "../client/client.js";
export type { Attempt } from "../client/conversation.js";
export type { CompleteOptions, Completion, Listing } from "../client/lists.js";
export type { LogMessage, PingOptions } from "../client/server-watch.js";
export type {
  Answers,
  CallOptions,
  Change,
  ClientMiddleware,
  ClientOptions,
  Dialer,
  Elicit,
  ElicitRequest,
  Progress,
  QuestionContext,
  ReconnectOptions,
  Round,
  Sample,
  SentRequest,
} from "../client/options.js";
export type { TypedResult, CacheOptions, CachedResult, ResultStore } from "../client/caches.js";
export type { Subscription, Watched } from "../client/subscriptions.js";
export type { TaskHandle, TaskOptions } from "../client/tasks.js";
export type { KnownRevision, Verdict, VerdictStore } from "../client/versions.js";
export type {
  Answer,
  Call,
  Caller,
  CallOf,
  InteractiveCall,
  MaybePromise,
  Middleware,
  Next,
  ReadyResult,
} from "../endpoint/call.js";
export type { CallDecision, CallRequest, LoggedCall, ResultCheck } from "../host/call-gate.js";
export type {
  EntryKind,
  EntryList,
  HostEntry,
  HostPrompt,
  HostResource,
  HostTemplate,
  HostTool,
  Search,
  HostEvent,
} from "../host/catalogue.js";
export type { ConfigFormat, ConfigInput } from "../host/config/config-servers.js";
export type { Position } from "../host/config/json-tree.js";
export type {
  ApprovalStore,
  Authorize,
  AuthorizeRequest,
  CommandTarget,
  HostTarget,
  UrlTarget,
  Launch,
} from "../host/launch.js";
export type { HostCore, HostReference, ReadOptions } from "../host/host.js";
export type { BreakerOptions, ServerState, ServerStatus } from "../host/managed-server.js";
export type {
  AddOptions,
  Dial,
  HostClientOptions,
  HostOptions,
  LoadOptions,
  LoadProblem,
  LoadReport,
} from "../host/options.js";
export type {
  AvailableModel,
  HostElicit,
  HostModel,
  HostQuestion,
  ModelMapping,
  RootsOptions,
  RootsRequest,
  RootsSource,
  SamplingContext,
  SamplingOptions,
  SamplingReview,
} from "../host/questions.js";
export type { HttpClientLimits } from "../http/client/http-caller.js";
export type { HttpReply, HttpRequest, HttpRequester } from "../http/client/http-caller.js";
export type { HttpLoad } from "../http/server/http-endpoint.js";
export type { HttpPage, HttpPageReply } from "../http/server/http-site.js";
export type { LocalError, RpcError } from "../jsonrpc/errors.js";
export type { BrokenLimit, JsonRpcLimits } from "../jsonrpc/limits.js";
export type {
  Awaitable,
  ErrorObject,
  JsonObject,
  NotificationMessage,
  RequestId,
  RequestMessage,
  TextBytes,
  TextPieces,
} from "../jsonrpc/message.js";
export type {
  Agreement,
  Arrival,
  AuthorizedRequest,
  AuthorizedResponse,
  Carrier,
  Excerpt,
  HttpAuthorizer,
  Identity,
  MessagePieces,
  MessageSink,
  Outgoing,
  OutgoingKind,
  Shortener,
  Transport,
} from "../jsonrpc/transport.js";
export type {
  CapabilitySettings,
  ClientCapabilities,
  Implementation,
  ServerCapabilities,
  Icon,
} from "../protocol/capabilities.js";
export type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  SamplingMessageContentBlock,
  TextContent,
  ToolResultContent,
  ToolUseContent,
} from "../protocol/content.js";
export type { FormField, FormFields } from "../protocol/elicitation-form.js";
export type { Task, TaskStatus } from "../protocol/extensions/tasks.js";
export type {
  CompleteRequestParams,
  CompletionReference,
  PromptReference,
  ResourceTemplateReference,
  GetPromptResult,
  Prompt,
  PromptArgument,
  PromptMessage,
} from "../protocol/features/prompts.js";
export type {
  BooleanSchema,
  ElicitRequestFormParams,
  ElicitRequestParams,
  ElicitRequestURLParams,
  ElicitResult,
  ElicitValue,
  EnumSchema,
  LegacyTitledEnumSchema,
  NumberSchema,
  PrimitiveSchemaDefinition,
  RequestedSchema,
  StringSchema,
  TitledChoice,
  TitledMultiSelectEnumSchema,
  TitledSingleSelectEnumSchema,
  UntitledMultiSelectEnumSchema,
  UntitledSingleSelectEnumSchema,
  InputRequest,
  InputRequests,
  InputResponse,
  InputResponses,
  ListRootsResult,
  Root,
  InputResponseRequestParams,
} from "../protocol/features/elicitation.js";
export type { LoggingLevel } from "../protocol/features/lifecycle.js";
export type {
  Annotations,
  BlobResourceContents,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceTemplate,
  Role,
  TextResourceContents,
} from "../protocol/features/resources.js";
export type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ModelPreferences,
  SamplingMessage,
  ToolChoice,
} from "../protocol/features/sampling.js";
export type { AnySchema, CallToolResult, ObjectSchema, Tool, ToolAnnotations } from "../protocol/features/tools.js";
export type { Meta } from "../protocol/meta.js";
export type { CacheableResult } from "../protocol/method.js";
export type { TemplateValue, TemplateValues } from "../protocol/uri-template/expand.js";
export type { FromJsonSchema, JsonSchema } from "../schema/schema.js";
export type {
  InferStandard,
  StandardExport,
  StandardIssue,
  StandardResult,
  StandardSchema,
} from "../schema/standard-schema.js";
export type { ConnectOptions, ConnectTarget, HttpConnectOptions } from "../serve/connect.js";
export type { WebHostOptions } from "../serve/host.js";
export type { AskOptions, ElicitInput, FieldValue, FormAnswer, FormContent } from "../server/ask.js";
export type { CapabilityOptions } from "../server/core.js";
export type { Completer, CompletionRequest, CompletionReturn } from "../server/context.js";
export type { Block, BlockOptions } from "../server/content.js";
export type { Context, RequestValue } from "../server/context.js";
export type { InputRequired } from "../server/interactive.js";
export type { ServerLimits } from "../server/limits.js";
export type { Relayed, ResultParts, ToolResult } from "../server/content.js";
export type { Seal } from "../server/sealing.js";
export type {
  ArgumentDefinition,
  ArgumentDefinitions,
  MessageInput,
  PromptArguments,
  PromptDefinition,
  PromptReturn,
} from "../server/prompts.js";
export type { Registration, Restricted, Unlisted, Visibility } from "../server/registry.js";
export type { Tells } from "../server/subscription.js";
export type { Reporter } from "../server/reporter.js";
export type {
  ListedResource,
  ReadReturn,
  ResourceDefinition,
  ResourceTemplateDefinition,
  Variables,
  VariablesOf,
} from "../server/resources.js";
export type { CustomHandler, LeanServer, ServerOptions } from "../server/lean-server.js";
export type { Server } from "../server/server.js";
export type { ServeOptions, Serving } from "../server/conversation.js";
export type { EndedSession } from "../server/session.js";
export type { LiveSession, OnSession } from "../server/session.js";
export type { SchemaAnswer, SchemaForm } from "../server/ask.js";
export type { TaskStoreLimits } from "../server/tasks/task-manager.js";
export type { TaskPage, TaskRecord, TaskStore } from "../server/tasks/task-store.js";
export type { ToolErrorOptions } from "../server/content.js";
export type {
  AnyInput,
  BuiltSchema,
  Infer,
  ShownMembers,
  TaskSupport,
  ToolDefinition,
  ToolReturn,
} from "../server/tools.js";
export type { RelayedRequest } from "../gateway/relay.js";
export type { ListHints } from "../server/lists.js";
export type { MemoryPeer, MemoryPeerOptions, WireMessage } from "../serve/connect-in-memory.js";
export type { FetchLike } from "../http/client/fetch-requester.js";
export type { HttpRequestHead } from "../http/server/exchange.js";
export type {
  Admission,
  AuthOutcome,
  AuthRequest,
  Authenticator,
  ChallengeTerms,
  Refusal,
  Scheme,
} from "../auth/authenticator.js";
export type { ScopeRules } from "../auth/scopes.js";
