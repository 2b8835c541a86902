// The tool `get_timestamp`: the time now, in UTC.
import type { BuiltinTool } from "../tool.js";

/** Answers as `2026-11-21T09:12:45.123Z`. */
export const getTimestamp: BuiltinTool<Record<string, never>> = {
  name: "get_timestamp",
  title: "Current time",
  description: "Get the current UTC timestamp in ISO 8601 format",
  category: "time",
  aliases: ["now", "clock", "date", "today"],
  input: { type: "object", additionalProperties: false },
  output: {
    type: "object",
    properties: { timestamp: { type: "string", description: "ISO 8601, UTC, milliseconds" } },
    required: ["timestamp"],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  run(_args, { clock }) {
    const timestamp = new Date(clock.now()).toISOString();
    return { structured: { timestamp }, text: timestamp };
  },
};
