// Reads a plugin's answer to one call.
import { PluginError } from "./plugin-error.js";

type Json = Readonly<Record<string, unknown>>;
export type AnswerBlock = { readonly type: "text" | "image" | "audio" | "resource" | "resource_link" } & Json;

export interface ReadAnswer {
  readonly text: string;
  /** Content other than text. */
  readonly blocks: readonly AnswerBlock[];
  readonly structured: Json | undefined;
  readonly isError: boolean;
}

/** Blocks of one answer. */
const MAX_BLOCKS = 256;
/** What each kind of block has to have, as texts. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource_link: ["uri", "name"],
};

/** @param line The plugin's line: the answer itself or under `answer`, which may be a text alone. @throws PluginError */
export function readAnswer(line: Json): ReadAnswer {
  if (line["failed"] === true)
    throw new PluginError("The plugin failed. What it complained of is told on the stderr of the server, not here.");
  const answer = "answer" in line ? line["answer"] : line;
  if (typeof answer === "string") return { text: answer, blocks: [], structured: undefined, isError: false };
  if (typeof answer !== "object" || answer === null)
    throw new PluginError("The plugin answered nothing that can be shown.");
  const { content, structuredContent: structured, isError } = answer as Json;
  const blocks = blocksOf(content);
  const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => String(text));
  return {
    text: texts.join("\n\n"),
    blocks: blocks.filter(({ type }) => type !== "text"),
    structured: isObject(structured) ? structured : undefined,
    isError: isError === true,
  };
}

function blocksOf(content: unknown): AnswerBlock[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content) || content.length > MAX_BLOCKS || !content.every(isBlock)) {
    throw new PluginError(`The plugin's content is not a text or a list of up to ${MAX_BLOCKS} content blocks.`);
  }
  return content;
}

function isBlock(block: unknown): block is AnswerBlock {
  if (!isObject(block)) return false;
  if (block["type"] === "text") return typeof block["text"] === "string";
  if (block["type"] === "resource") return isObject(block["resource"]) && typeof block["resource"]["uri"] === "string";
  const required = REQUIRED[String(block["type"])];
  return required?.every((key) => typeof block[key] === "string") ?? false;
}

function isObject(given: unknown): given is Json {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}
