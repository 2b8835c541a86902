// Adds structured tool output, forms, resource links, titles and `_meta` nearly everywhere; removes batches.
import { REVISION_2025_03_26 } from "./2025-03-26.js";
import type { Revision } from "./revision.js";
import { extendRevision } from "./2024-11-05.js";

export const REVISION_2025_06_18: Revision = extendRevision(REVISION_2025_03_26, {
  date: "2025-06-18",
  serverRequests: ["elicitation/create"],
  fields: {
    tool: ["title", "outputSchema", "_meta"],
    resource: ["title", "_meta"],
    resourceTemplate: ["title", "_meta"],
    resourceContents: ["_meta"],
    prompt: ["title", "_meta"],
    promptArgument: ["title"],
    implementation: ["title"],
    annotations: ["lastModified"],
    text: ["_meta"],
    media: ["_meta"],
    embeddedResource: ["_meta"],
    root: ["_meta"],
  },
  content: ["resource_link"],
  elicitation: { form: true },
  rules: { batches: false, versionHeader: true, structuredContent: "object", completionContext: true },
});
