// Writes what a server gave as text for a person; nothing in it reaches the terminal as a command.
import type { ContentBlock, ResourceContents } from "@secure-local/mcp/client";
import { cleanLine, cleanText } from "../../guard/cleaning/clean-text.js";

const BASE64_SHARE = 3 / 4;

/** A block of a tool's or prompt's answer. */
export function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return cleanText(block.text);
    case "image":
    case "audio":
      return `[${block.type} ${cleanLine(block.mimeType)}, ${bytes(block.data)}]`;
    case "resource_link":
      return `[link ${cleanLine(block.uri)}: ${cleanLine(block.title ?? block.name)}]`;
    case "resource":
      return contentsText(block.resource);
    default:
      return `[${cleanLine(String((block as { type: unknown }).type))}]`;
  }
}

/** What a resource holds. */
export function contentsText(contents: ResourceContents): string {
  if ("text" in contents && typeof contents.text === "string") return cleanText(contents.text);
  const {
    blob = "",
    mimeType = "application/octet-stream",
    uri,
  } = contents as {
    readonly blob?: string;
    readonly mimeType?: string;
    readonly uri: string;
  };
  return `[${cleanLine(mimeType)} of ${cleanLine(uri)}, ${bytes(blob)}]`;
}

function bytes(base64: string): string {
  return `${Math.floor(base64.length * BASE64_SHARE)} bytes`;
}
