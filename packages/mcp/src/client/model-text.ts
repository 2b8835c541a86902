// Turns what came of a call into text for a model.
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import type { ContentBlock } from "../protocol/content.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import { errorMessage } from "../jsonrpc/message.js";

/** What a model that takes images is handed beside the text. */
export type ModelBlock = Extract<ContentBlock, { type: "image" | "audio" }>;

/** One part of an answer: text that is not empty, an image or a sound. */
export type ModelPart = { readonly type: "text"; readonly text: string } | ModelBlock;

/** An answer as a model takes it, part by part. */
export interface ModelParts {
  /** In the server's order; at least one. */
  readonly parts: readonly ModelPart[];
  /** Whether the model should know that the call failed, and may try otherwise. */
  readonly isError: boolean;
}

/** An answer as a model takes it: text, and what no text can say. */
export interface ModelText {
  readonly text: string;
  /** Whether the model should know that the call failed, and may try otherwise. */
  readonly isError: boolean;
  /** Images and sounds, which no text can say. */
  readonly media: readonly ModelBlock[];
}

/**
 * The text of a result, or of the error a call was rejected with. Tool errors are the model's to mend, and so are errors
 * about params; what went wrong on the way is told in one sentence without detail.
 */
export function toModelText(outcome: CallToolResult | Error): ModelText {
  const { parts, isError } = toModelParts(outcome);
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return { text: texts.join("\n"), isError, media: parts.filter((part) => part.type !== "text") };
}

/** The same, with texts, images and sounds in the order in which the server gave them. */
export function toModelParts(outcome: CallToolResult | Error): ModelParts {
  if (outcome instanceof Error) return { parts: [textPart(errorText(outcome))], isError: true };
  const { content, structuredContent, isError = false } = outcome;
  const parts = content.flatMap((block): ModelPart[] => {
    if (block.type === "image" || block.type === "audio") return [block];
    const text = blockText(block);
    return text === "" ? [] : [textPart(text)];
  });
  if (!parts.some(({ type }) => type === "text") && structuredContent !== undefined)
    parts.push(textPart(JSON.stringify(structuredContent)));
  const nothing = isError ? "The tool failed without saying why." : "The tool has finished and said nothing.";
  return { parts: parts.length > 0 ? parts : [textPart(nothing)], isError };
}

function textPart(text: string): ModelPart {
  return { type: "text", text };
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource": {
      const { resource } = block;
      return "text" in resource ? resource.text : `[resource ${resource.uri}, ${resource.mimeType ?? "binary"}]`;
    }
    case "resource_link":
      return `[resource ${block.uri}: ${block.title ?? block.name}]`;
    default:
      return "";
  }
}

const NOT_MADE = "The call was not made: the tool cannot be reached at the moment.";

function errorText(error: Error): string {
  if (error instanceof RpcError) return `The call was refused (${error.code}): ${errorMessage(error.message)}`;
  if (!(error instanceof LocalError)) return "The call failed on this side.";
  // The one code is of calls that were made, the other of those that were not: their words tell them apart.
  const isSent = !/ was not (?:sent|called)\b/.test(error.message);
  switch (error.code) {
    case "CANCELLED":
      return "The call was cancelled.";
    case "TIMEOUT":
      if (!isSent) return NOT_MADE;
      return "The tool did not answer in time. It may still have had an effect.";
    case "CLOSED":
    case "EXITED":
    case "OUTCOME_UNKNOWN":
      if (!isSent) return NOT_MADE;
      return "The connection broke during the call. It may have had its effect.";
    case "INVALID_OUTPUT":
      return "The tool answered with something else than it promises.";
    // Made for the model: what the host's owner says of the call.
    case "DENIED":
    case "WITHHELD":
    case "CHANGED":
      return errorMessage(error.message);
    default:
      return NOT_MADE;
  }
}
