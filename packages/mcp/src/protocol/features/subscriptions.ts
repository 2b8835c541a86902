// The 2026-07-28 way to hear of changes: one long request that names what is wanted.
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import { fault, type MethodRecord, type ParamsFault, requireObject } from "../method.js";

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
