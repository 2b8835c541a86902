// The stateless revision. It shares no table with the handshake family: every list here is complete.
import { DIRECTED_TASK_METHODS } from "../extensions/tasks.js";
import { COMPLETE } from "../features/completion.js";
import { interactive } from "../features/input-required.js";
import { DISCOVER } from "../features/lifecycle.js";
import { GET_PROMPT, LIST_PROMPTS } from "../features/prompts.js";
import { LIST_RESOURCE_TEMPLATES, LIST_RESOURCES, READ_RESOURCE } from "../features/resources.js";
import { LISTEN } from "../features/subscriptions.js";
import { CALL_TOOL, LIST_TOOLS } from "../features/tools.js";
import type { Revision } from "./revision.js";
import { methodTable } from "./revision.js";

export const REVISION_2026_07_28: Revision = {
  date: "2026-07-28",
  era: "stateless",
  methods: methodTable(
    DISCOVER,
    LIST_TOOLS,
    interactive(CALL_TOOL),
    LIST_RESOURCES,
    LIST_RESOURCE_TEMPLATES,
    interactive(READ_RESOURCE),
    LIST_PROMPTS,
    interactive(GET_PROMPT),
    COMPLETE,
    LISTEN,
    ...DIRECTED_TASK_METHODS,
  ),
  clientNotifications: new Set(["notifications/cancelled"]),
  serverNotifications: new Set([
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/tasks",
  ]),
  serverRequests: new Set(["sampling/createMessage", "roots/list", "elicitation/create"]),
  fields: {
    tool: ["name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations", "_meta"],
    toolAnnotations: ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"],
    resource: ["uri", "name", "title", "description", "mimeType", "size", "icons", "annotations", "_meta"],
    resourceTemplate: ["uriTemplate", "name", "title", "description", "mimeType", "icons", "annotations", "_meta"],
    resourceContents: ["uri", "mimeType", "text", "blob", "_meta"],
    prompt: ["name", "title", "description", "icons", "arguments", "_meta"],
    promptArgument: ["name", "title", "description", "required"],
    implementation: ["name", "title", "version", "description", "websiteUrl", "icons"],
    annotations: ["audience", "priority", "lastModified"],
    text: ["type", "text", "annotations", "_meta"],
    media: ["type", "data", "mimeType", "annotations", "_meta"],
    embeddedResource: ["type", "resource", "annotations", "_meta"],
    progress: ["progressToken", "progress", "total", "message", "_meta"],
    root: ["uri", "name", "_meta"],
    createMessage: [
      "messages",
      "maxTokens",
      "modelPreferences",
      "systemPrompt",
      "includeContext",
      "temperature",
      "stopSequences",
      "metadata",
      "tools",
      "toolChoice",
    ],
    samplingMessage: ["role", "content", "_meta"],
  },
  content: new Set(["text", "image", "audio", "resource", "resource_link"]),
  serverCapabilities: new Set([
    "experimental",
    "extensions",
    "logging",
    "completions",
    "prompts",
    "resources",
    "tools",
  ]),
  elicitation: {
    form: true,
    url: true,
    arrays: true,
    titledEnums: true,
    allDefaults: true,
    mode: true,
    elicitationId: false,
  },
  sampling: { tools: true, contentArrays: true, audio: true },
  rules: {
    batches: false,
    polling: false,
    unreadableId: "absent",
    versionHeader: true,
    resourceNotFound: -32602,
    urlElicitationRequired: false,
    statelessErrors: true,
    structuredContent: "any",
    completionContext: true,
    tasks: "directed",
    metaReservation: "second",
  },
};
