// Pieces of the schemas that file tools share.
import type { JsonSchema } from "@secure-local/mcp/server";
import type { ObjectSchema } from "../tool.js";

/** A path as an argument. Everything else about it is judged when it is used. */
export function pathSchema(what: string): {
  readonly type: "string";
  readonly minLength: 1;
  readonly description: string;
} {
  return {
    type: "string",
    minLength: 1,
    description: `${what}: absolute, inside an allowed folder (e.g., '/home/me/project/notes.txt')`,
  };
}

export const PATH_OUT = { type: "string", description: "Absolute path, links resolved" } as const;
export const BYTES_OUT = { type: "integer", minimum: 0, description: "Size in bytes" } as const;

/** How many results a search gives at most. */
export function limitSchema(
  what: string,
  { most, usual }: { readonly most: number; readonly usual: number },
): JsonSchema {
  return { type: "integer", minimum: 1, maximum: most, description: `Most ${what} (default: ${usual})` };
}

/** What a search answers: what it found, each with all of `match`; how much it looked at, under the name `counted`; whether that is all. */
export function matchesOut(
  match: Readonly<Record<string, JsonSchema>>,
  counted: string,
  description: string,
): ObjectSchema {
  const items = { type: "object", properties: match, required: Object.keys(match) };
  return {
    type: "object",
    properties: {
      matches: { type: "array", items },
      [counted]: { type: "integer", description },
      truncated: { type: "boolean", description: "Whether there may be more" },
    },
    required: ["matches", counted, "truncated"],
  };
}
