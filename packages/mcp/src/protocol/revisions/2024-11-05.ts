// The first revision: the base of the handshake family.
import { McpErrorCode } from "../error-codes.js";
import { COMPLETE } from "../features/completion.js";
import { INITIALIZE, PING } from "../features/lifecycle.js";
import { SET_LEVEL } from "../features/logging.js";
import { GET_PROMPT, LIST_PROMPTS } from "../features/prompts.js";
import {
  LIST_RESOURCE_TEMPLATES,
  LIST_RESOURCES,
  READ_RESOURCE,
  SUBSCRIBE,
  UNSUBSCRIBE,
} from "../features/resources.js";
import { CALL_TOOL, LIST_TOOLS } from "../features/tools.js";
import type { Revision } from "./revision.js";
import { methodTable } from "./revision.js";

export const REVISION_2024_11_05: Revision = {
  date: "2024-11-05",
  era: "handshake",
  methods: methodTable(
    INITIALIZE,
    PING,
    LIST_TOOLS,
    CALL_TOOL,
    LIST_RESOURCES,
    LIST_RESOURCE_TEMPLATES,
    READ_RESOURCE,
    SUBSCRIBE,
    UNSUBSCRIBE,
    LIST_PROMPTS,
    GET_PROMPT,
    COMPLETE,
    SET_LEVEL,
  ),
  clientNotifications: new Set([
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
  ]),
  serverNotifications: new Set([
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
  ]),
  serverRequests: new Set(["ping", "sampling/createMessage", "roots/list"]),
  fields: {
    tool: ["name", "description", "inputSchema"],
    toolAnnotations: [],
    resource: ["uri", "name", "description", "mimeType", "size", "annotations"],
    resourceTemplate: ["uriTemplate", "name", "description", "mimeType", "annotations"],
    resourceContents: ["uri", "mimeType", "text", "blob"],
    prompt: ["name", "description", "arguments"],
    promptArgument: ["name", "description", "required"],
    implementation: ["name", "version"],
    annotations: ["audience", "priority"],
    text: ["type", "text", "annotations"],
    media: ["type", "data", "mimeType", "annotations"],
    embeddedResource: ["type", "resource", "annotations"],
    progress: ["progressToken", "progress", "total", "_meta"],
    root: ["uri", "name"],
    createMessage: [
      "messages",
      "maxTokens",
      "modelPreferences",
      "systemPrompt",
      "includeContext",
      "temperature",
      "stopSequences",
      "metadata",
      "_meta",
    ],
    samplingMessage: ["role", "content"],
  },
  content: new Set(["text", "image", "resource"]),
  serverCapabilities: new Set(["experimental", "logging", "prompts", "resources", "tools"]),
  elicitation: {
    form: false,
    url: false,
    arrays: false,
    titledEnums: false,
    allDefaults: false,
    mode: false,
    elicitationId: false,
  },
  sampling: { tools: false, contentArrays: false, audio: false },
  rules: {
    batches: true,
    polling: false,
    unreadableId: "null",
    versionHeader: false,
    resourceNotFound: McpErrorCode.ResourceNotFound,
    urlElicitationRequired: false,
    statelessErrors: false,
    structuredContent: "none",
    completionContext: false,
    tasks: "none",
    metaReservation: "inner",
  },
};
