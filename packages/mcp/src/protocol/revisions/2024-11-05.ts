// The first revision: the base of the handshake family.
import { McpErrorCode } from "../meta.js";
import { COMPLETE, GET_PROMPT, LIST_PROMPTS } from "../features/prompts.js";
import { INITIALIZE, PING, SET_LEVEL } from "../features/lifecycle.js";
import {
  LIST_RESOURCE_TEMPLATES,
  LIST_RESOURCES,
  READ_RESOURCE,
  SUBSCRIBE,
  UNSUBSCRIBE,
} from "../features/resources.js";
import { CALL_TOOL, LIST_TOOLS } from "../features/tools.js";
import {
  type ElicitationRules,
  type FieldTables,
  methodTable,
  type Revision,
  type RevisionRules,
  type SamplingRules,
} from "./revision.js";
import type { ContentBlock } from "../content.js";
import type { MethodRecord } from "../method.js";

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

// How a revision of the family is written: as a change to the one before.

/** What a revision changes. Lists are additions; rules replace. */
export interface RevisionChanges {
  readonly date: string;
  /** Methods that are new, or whose record is another one now. */
  readonly methods?: readonly MethodRecord[];
  readonly clientNotifications?: readonly string[];
  readonly serverNotifications?: readonly string[];
  readonly serverRequests?: readonly string[];
  readonly fields?: Partial<FieldTables>;
  readonly content?: readonly ContentBlock["type"][];
  readonly serverCapabilities?: readonly string[];
  readonly elicitation?: Partial<ElicitationRules>;
  readonly sampling?: Partial<SamplingRules>;
  readonly rules?: Partial<RevisionRules>;
}

/** Builds a revision from the one before it. */
export function extendRevision(base: Revision, changes: RevisionChanges): Revision {
  return {
    ...base,
    date: changes.date,
    methods: new Map([...base.methods, ...methodTable(...(changes.methods ?? []))]),
    clientNotifications: extended(base.clientNotifications, changes.clientNotifications),
    serverNotifications: extended(base.serverNotifications, changes.serverNotifications),
    serverRequests: extended(base.serverRequests, changes.serverRequests),
    fields: extendedFields(base.fields, changes.fields ?? {}),
    content: extended(base.content, changes.content),
    serverCapabilities: extended(base.serverCapabilities, changes.serverCapabilities),
    elicitation: { ...base.elicitation, ...changes.elicitation },
    sampling: { ...base.sampling, ...changes.sampling },
    rules: { ...base.rules, ...changes.rules },
  };
}

function extended<T>(base: ReadonlySet<T>, additions: readonly T[] = []): ReadonlySet<T> {
  return additions.length === 0 ? base : new Set([...base, ...additions]);
}

function extendedFields(base: FieldTables, additions: Partial<FieldTables>): FieldTables {
  const fields: Record<string, readonly string[]> = { ...base };
  for (const [name, added] of Object.entries(additions)) fields[name] = [...(fields[name] ?? []), ...added];
  return fields as unknown as FieldTables;
}
