// Describes the blocks that tool results, prompts and sampling messages are made of.
import type { Annotations, Resource, ResourceContents } from "./features/resources.js";
import type { Meta } from "./meta.js";

/** Text. */
export interface TextContent {
  type: "text";
  text: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** An image, in base64. */
export interface ImageContent {
  type: "image";
  /** Padded standard base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Since 2025-03-26. */
export interface AudioContent {
  type: "audio";
  /** Padded standard base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Since 2025-06-18: names a resource without carrying it. */
export interface ResourceLink extends Resource {
  type: "resource_link";
}

/** A resource with its contents, inside an answer. */
export interface EmbeddedResource {
  type: "resource";
  resource: ResourceContents;
  annotations?: Annotations;
  _meta?: Meta;
}

/** What tools and prompts may answer with. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** Sampling only, since 2025-11-25: the model wants a tool called. */
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: { [name: string]: unknown };
  _meta?: Meta;
}

/** Sampling only, since 2025-11-25: what the tool answered. */
export interface ToolResultContent {
  type: "tool_result";
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

/** What sampling messages are made of. */
export type SamplingMessageContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | ToolUseContent
  | ToolResultContent;

/** The blocks of a sampling message, whether its content is one or several. */
export function blocksOf(
  content: SamplingMessageContentBlock | SamplingMessageContentBlock[],
): readonly SamplingMessageContentBlock[] {
  return Array.isArray(content) ? content : [content];
}

/** Content that no server sent, but that was filled in here: no revision lets a server leave that of a call out. */
export const FILLED_IN: WeakSet<object> = new WeakSet();
