// Listing, reading and watching resources.
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import type { Icon } from "../capabilities.js";
import type { Meta } from "../meta.js";
import {
  type CacheableResult,
  checkCursor,
  fault,
  type MethodRecord,
  type PaginatedRequestParams,
  type PaginatedResult,
  type ParamsFault,
  requireObject,
  requireUri,
} from "../method.js";

export interface ListResourcesResult extends PaginatedResult, CacheableResult {
  resources: Resource[];
}

export interface ListResourceTemplatesResult extends PaginatedResult, CacheableResult {
  resourceTemplates: ResourceTemplate[];
}

/** What is behind a URI: one or several contents (server/resources). */
export interface ReadResourceResult extends CacheableResult {
  contents: ResourceContents[];
  _meta?: Meta;
}

/** Params of `resources/read`, and of watching a resource in a session. */
export interface ReadResourceRequestParams {
  uri: string;
  _meta?: Meta;
}

export const LIST_RESOURCES: MethodRecord<PaginatedRequestParams> = {
  name: "resources/list",
  check: checkCursor,
  capability: "resources",
  cacheable: true,
  interactive: false,
  result: "resources",
};

export const LIST_RESOURCE_TEMPLATES: MethodRecord<PaginatedRequestParams> = {
  name: "resources/templates/list",
  check: checkCursor,
  capability: "resources",
  cacheable: true,
  interactive: false,
  result: "templates",
};

export const READ_RESOURCE: MethodRecord<ReadResourceRequestParams> = {
  name: "resources/read",
  check: checkResourceUri,
  capability: "resources",
  cacheable: true,
  interactive: false,
  result: "readResource",
};

export const SUBSCRIBE: MethodRecord<ReadResourceRequestParams> = {
  name: "resources/subscribe",
  check: checkResourceUri,
  capability: "resources",
  cacheable: false,
  interactive: false,
  result: "empty",
};

export const UNSUBSCRIBE: MethodRecord<ReadResourceRequestParams> = { ...SUBSCRIBE, name: "resources/unsubscribe" };

function checkResourceUri(params: JsonObject): ParamsFault | undefined {
  return requireUri(params, "uri");
}

// Describes who a piece of content is for, and how much it matters.

/** Who speaks, or who is meant. */
export type Role = "user" | "assistant";

/** Hints about content and resources. */
export interface Annotations {
  audience?: readonly Role[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** ISO 8601 (since 2025-06-18). */
  lastModified?: string;
}

// Describes resources, resource templates and what is read from them.

/** A resource as a list shows it. */
export interface Resource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Bytes before any encoding. */
  size?: number;
  icons?: readonly Icon[];
  annotations?: Annotations;
  _meta?: Meta;
}

/** A family of resources named by an RFC 6570 template. */
export interface ResourceTemplate {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  icons?: readonly Icon[];
  annotations?: Annotations;
  _meta?: Meta;
}

/** Text of a resource. */
export interface TextResourceContents {
  uri: string;
  mimeType?: string;
  text: string;
  _meta?: Meta;
}

/** Bytes of a resource. */
export interface BlobResourceContents {
  uri: string;
  mimeType?: string;
  /** Padded standard base64. */
  blob: string;
  _meta?: Meta;
}

/** Text, or bytes as padded base64, with the URI they belong to (server/resources). */
export type ResourceContents = TextResourceContents | BlobResourceContents;

// The 2026-07-28 way to hear of changes: one long request that names what is wanted.

/** What a listener wants to hear of; in the acknowledgement, what it will. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  /** URIs. */
  resourceSubscriptions?: string[];
  /** Ids of tasks (extension `io.modelcontextprotocol/tasks`). */
  taskIds?: string[];
}

/** Params of `subscriptions/listen`. */
export interface SubscriptionsListenRequestParams {
  notifications: SubscriptionFilter;
}

export const LISTEN: MethodRecord<SubscriptionsListenRequestParams> = {
  name: "subscriptions/listen",
  check: checkListen,
  capability: undefined,
  cacheable: false,
  interactive: false,
  result: "plain",
};

const FLAGS = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"];
const NAMES = ["resourceSubscriptions", "taskIds"];

function checkListen(params: JsonObject): ParamsFault | undefined {
  const filter = params["notifications"];
  if (!isJsonObject(filter)) return requireObject(params, "notifications");
  for (const flag of FLAGS) {
    const value = filter[flag];
    if (value !== undefined && typeof value !== "boolean") return fault(["notifications", flag], "a boolean");
  }
  for (const name of NAMES) {
    const value = filter[name];
    const valid = value === undefined || (Array.isArray(value) && value.every((item) => typeof item === "string"));
    if (!valid) return fault(["notifications", name], "an array of strings");
  }
  return undefined;
}
