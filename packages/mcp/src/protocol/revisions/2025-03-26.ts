// Adds audio, tool annotations, progress messages and the completions capability; batches become a duty.
import { extendRevision, REVISION_2024_11_05 } from "./2024-11-05.js";
import type { Revision } from "./revision.js";

export const REVISION_2025_03_26: Revision = extendRevision(REVISION_2024_11_05, {
  date: "2025-03-26",
  fields: {
    tool: ["annotations"],
    toolAnnotations: ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"],
    progress: ["message"],
  },
  content: ["audio"],
  serverCapabilities: ["completions"],
  sampling: { audio: true },
});
