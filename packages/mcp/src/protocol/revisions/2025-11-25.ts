// Adds icons, url questions, richer forms, sampling with tools and (experimental) tasks.
import { REQUESTED_TASK_METHODS } from "../extensions/tasks.js";
import { CALL_TOOL_AS_TASK } from "../features/tools.js";
import { REVISION_2025_06_18 } from "./2025-06-18.js";
import type { Revision } from "./revision.js";
import { extendRevision } from "./2024-11-05.js";

export const REVISION_2025_11_25: Revision = extendRevision(REVISION_2025_06_18, {
  date: "2025-11-25",
  methods: [CALL_TOOL_AS_TASK, ...REQUESTED_TASK_METHODS],
  serverNotifications: ["notifications/elicitation/complete", "notifications/tasks/status"],
  fields: {
    tool: ["icons", "execution"],
    resource: ["icons"],
    resourceTemplate: ["icons"],
    prompt: ["icons"],
    implementation: ["description", "websiteUrl", "icons"],
    createMessage: ["tools", "toolChoice"],
    samplingMessage: ["_meta"],
  },
  serverCapabilities: ["tasks"],
  elicitation: { url: true, arrays: true, titledEnums: true, allDefaults: true, mode: true, elicitationId: true },
  sampling: { tools: true, contentArrays: true },
  rules: {
    polling: true,
    unreadableId: "absent",
    urlElicitationRequired: true,
    metaReservation: "second",
    tasks: "requested",
  },
});
