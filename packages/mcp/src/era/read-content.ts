// Reads content blocks a server wrote: flat resource blocks become nested ones, what is no block is refused.
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { ContentBlock } from "../protocol/content.js";
import { type FlatResource, nestResource } from "../protocol/embedded-resource.js";
import { invalidResponse } from "./invalid-response.js";

/** The same array when nothing had to change. Blocks of kinds nobody knows yet are kept. */
export function readContent(method: string, content: unknown): readonly ContentBlock[] {
  if (!Array.isArray(content)) throw invalidResponse(method, "its content is no array");
  for (let i = 0; i < content.length; i++) {
    if (readBlock(method, content[i]) !== content[i]) return content.map((block) => readBlock(method, block));
  }
  return content as ContentBlock[];
}

export function readBlock(method: string, block: unknown): ContentBlock {
  if (!isJsonObject(block)) throw invalidResponse(method, "a content block is no object");
  const { type } = block;
  if (type === "text") {
    if (typeof block["text"] !== "string") throw invalidResponse(method, "a text block has no text");
  } else if (type === "resource") {
    return isFlat(block) ? nestResource(block as unknown as FlatResource) : (block as unknown as ContentBlock);
  } else if (typeof type !== "string") {
    throw invalidResponse(method, "a content block has no type");
  }
  return block as unknown as ContentBlock;
}

function isFlat(block: JsonObject): boolean {
  return block["resource"] === undefined && typeof block["uri"] === "string";
}
