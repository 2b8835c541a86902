// Listing, reading and watching resources.
import type { JsonObject } from "../../jsonrpc/message.js";
import type { Meta } from "../meta.js";
import type { MethodRecord, ParamsFault } from "../method.js";
import { requireUri } from "../params-check.js";
import type { Resource, ResourceContents, ResourceTemplate } from "../resource.js";
import type { CacheableResult, PaginatedResult } from "./pagination.js";
import { checkCursor } from "./pagination.js";

export interface ListResourcesResult extends PaginatedResult, CacheableResult {
  resources: Resource[];
}

export interface ListResourceTemplatesResult extends PaginatedResult, CacheableResult {
  resourceTemplates: ResourceTemplate[];
}

export interface ReadResourceResult extends CacheableResult {
  contents: ResourceContents[];
  _meta?: Meta;
}

export const LIST_RESOURCES: MethodRecord = {
  name: "resources/list",
  check: checkCursor,
  capability: "resources",
  cacheable: true,
  interactive: false,
  result: "resources",
};

export const LIST_RESOURCE_TEMPLATES: MethodRecord = {
  name: "resources/templates/list",
  check: checkCursor,
  capability: "resources",
  cacheable: true,
  interactive: false,
  result: "templates",
};

export const READ_RESOURCE: MethodRecord = {
  name: "resources/read",
  check: checkResourceUri,
  capability: "resources",
  cacheable: true,
  interactive: false,
  result: "readResource",
};

export const SUBSCRIBE: MethodRecord = {
  name: "resources/subscribe",
  check: checkResourceUri,
  capability: "resources",
  cacheable: false,
  interactive: false,
  result: "empty",
};

export const UNSUBSCRIBE: MethodRecord = { ...SUBSCRIBE, name: "resources/unsubscribe" };

function checkResourceUri(params: JsonObject): ParamsFault | undefined {
  return requireUri(params, "uri");
}
