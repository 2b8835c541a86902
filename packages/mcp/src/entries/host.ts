// The public surface of the host: one program that holds many servers, reached by URL or in this program, on every runtime.
export type { BreakerOptions } from "./types.js";
export type { CallDecision, CallRequest, ResultCheck } from "../host/call-gate.js";
export type { LoggedCall } from "../host/call-gate.js";
export type {
  EntryKind,
  HostEntry,
  HostPrompt,
  HostResource,
  HostTemplate,
  HostTool,
  HostEvent,
  Search,
} from "../host/catalogue.js";
export {
  type ConfigInput,
  type ConfigProblem,
  type ConfigServer,
  parseServersConfig,
  type ServersConfig,
  type Expanded,
  expandServer,
  type VariableSources,
} from "../host/config/config-servers.js";
export { updateServer } from "../host/config/json-tree.js";
export type {
  ApprovalStore,
  Authorize,
  AuthorizeRequest,
  CommandTarget,
  HostTarget,
  UrlTarget,
  Launch,
} from "../host/launch.js";
export type { HostReference, ReadOptions } from "../host/host.js";
export type { AddOptions, HostClientOptions, HostOptions } from "../host/options.js";
export { type IconOptions, loadIcon, type LoadedIcon } from "../host/icons.js";
export type { LoadOptions, LoadProblem, LoadReport } from "../host/options.js";
export { qualifiedName } from "../host/catalogue.js";
export type { HostElicit, HostQuestion } from "../host/questions.js";
export type { RootsOptions, RootsRequest, RootsSource } from "../host/questions.js";
export type { HostModel, SamplingContext, SamplingOptions, SamplingReview } from "../host/questions.js";
export { type AvailableModel, type ModelMapping, selectModel } from "../host/questions.js";
export type { ServerState, ServerStatus } from "../host/managed-server.js";
export { LocalError } from "../jsonrpc/errors.js";
export { Host, type WebHostOptions } from "../serve/host.js";
