// Writes the commonest tool result, one text, without going through the general serialiser: a tenth of a small call's cost.
import type { JsonObject } from "../jsonrpc/message.js";

/**
 * The JSON of a tool result that is one text block and perhaps `isError`, and nothing else: every revision reads the same.
 * Undefined for any other result.
 */
export function plainToolText(result: object): string | undefined {
  if (!isPlain(result)) return undefined;
  const { content, isError } = result;
  for (const key in result) if (key !== "content" && key !== "isError") return undefined;
  const text = Array.isArray(content) && content.length === 1 ? plainText(content[0]) : undefined;
  if (text === undefined) return undefined;
  const block = `{"content":[{"type":"text","text":${JSON.stringify(text)}}]`;
  if (isError === undefined) return `${block}}`;
  return typeof isError === "boolean" ? `${block},"isError":${isError}}` : undefined;
}

function plainText(block: unknown): string | undefined {
  if (!isPlain(block) || block["type"] !== "text") return undefined;
  for (const key in block) if (key !== "type" && key !== "text") return undefined;
  const text = block["text"];
  return typeof text === "string" ? text : undefined;
}

/** Whether this is an object literal: one of a class may have a `toJSON` of its own. */
function isPlain(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
