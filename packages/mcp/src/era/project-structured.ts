// Fits structured content to revisions that want it to be an object, or have never heard of it.
import type { ContentBlock } from "../protocol/content.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import { isJsonObject } from "../jsonrpc/message.js";
import type { Revision } from "../protocol/revisions/revision.js";

/** The result with `structuredContent` as the revision can hold it; the same object when it can hold it as it is. */
export function projectStructured(revision: Revision, result: CallToolResult): CallToolResult {
  const value = result.structuredContent;
  if (value === undefined) return result;
  switch (revision.rules.structuredContent) {
    case "any":
      return result;
    case "object":
      return isJsonObject(value) ? result : { ...result, structuredContent: { result: value } };
    case "none": {
      const { structuredContent: _, ...rest } = result;
      return { ...rest, content: withJson(result.content, JSON.stringify(value)) };
    }
  }
}

/** The content, with a text block that holds `json`. */
export function withJson(content: readonly ContentBlock[], json: string): ContentBlock[] {
  const told = content.some((block) => block.type === "text" && saysJson(block.text, json));
  return told ? [...content] : [...content, { type: "text", text: json }];
}

/** Whether `text` is the same JSON value, however it is spaced. */
function saysJson(text: string, json: string): boolean {
  if (text === json) return true;
  if (text.length < json.length) return false;
  try {
    return JSON.stringify(JSON.parse(text)) === json;
  } catch {
    return false;
  }
}
