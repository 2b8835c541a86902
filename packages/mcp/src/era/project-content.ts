// Projects content blocks. What needs no change is returned as it is, so that plain answers are never copied.
import type { JsonObject } from "../jsonrpc/message.js";
import type { AudioContent, ContentBlock, EmbeddedResource, ResourceLink } from "../protocol/content.js";
import { nestResource } from "../protocol/embedded-resource.js";
import type { PromptMessage } from "../protocol/features/prompts.js";
import type { ResourceContents } from "../protocol/resource.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { pick, pickAnnotated } from "./project-members.js";

/** Maps `items`, and returns the very same array when nothing changed. */
export function mapChanged<T>(items: readonly T[], map: (item: T) => T): readonly T[] {
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as T;
    const first = map(item);
    if (first !== item) return [...items.slice(0, i), first, ...items.slice(i + 1).map(map)];
  }
  return items;
}

export function projectContent(revision: Revision, content: readonly ContentBlock[]): readonly ContentBlock[] {
  for (const block of content) {
    if (block.type !== "text" || !isBare(block)) return mapChanged(content, (each) => projectBlock(revision, each));
  }
  return content;
}

export function projectBlock(revision: Revision, block: ContentBlock): ContentBlock {
  const { fields } = revision;
  switch (block.type) {
    case "text":
      return isBare(block) ? block : asBlock(pickAnnotated(revision, block, fields.text));
    case "image":
      return isBare(block) ? block : asBlock(pickAnnotated(revision, block, fields.media));
    case "audio":
      if (!revision.content.has("audio")) return projectBlock(revision, audioAsResource(block));
      return isBare(block) ? block : asBlock(pickAnnotated(revision, block, fields.media));
    case "resource":
      return projectEmbedded(revision, nestResource(block));
    case "resource_link":
      return projectLink(revision, block);
    default:
      throw new TypeError(`Unknown content block type: ${String((block as { type: unknown }).type)}`);
  }
}

/** Whether a block has none of the members that some revision lacks. */
function isBare(block: { annotations?: unknown; _meta?: unknown }): boolean {
  return block.annotations === undefined && block._meta === undefined;
}

function projectEmbedded(revision: Revision, block: EmbeddedResource): ContentBlock {
  const resource = projectResourceContents(revision, block.resource);
  if (isBare(block)) return resource === block.resource ? block : { ...block, resource };
  return asBlock({ ...pickAnnotated(revision, block, revision.fields.embeddedResource), resource });
}

export function projectResourceContents(revision: Revision, contents: ResourceContents): ResourceContents {
  return contents._meta === undefined
    ? contents
    : (pick(contents, revision.fields.resourceContents) as unknown as ResourceContents);
}

/** Revisions without links get the name, the URI and the description as text. */
function projectLink(revision: Revision, link: ResourceLink): ContentBlock {
  if (revision.content.has("resource_link")) {
    if (isBare(link) && link.icons === undefined) return link;
    return asBlock({ type: link.type, ...pickAnnotated(revision, link, revision.fields.resource) });
  }
  const description = link.description === undefined ? "" : `\n${link.description}`;
  return { type: "text", text: `${link.title ?? link.name}: ${link.uri}${description}` };
}

/** The URI is made up: nothing can be read under it. */
function audioAsResource({ type: _, data, mimeType, ...rest }: AudioContent): EmbeddedResource {
  return { type: "resource", resource: { uri: "embedded:audio", mimeType, blob: data }, ...rest };
}

export function projectPromptMessage(revision: Revision, message: PromptMessage): PromptMessage {
  const content = projectBlock(revision, message.content);
  return content === message.content ? message : { ...message, content };
}

/** A picked copy has the members its source had, so it is what its source was. */
function asBlock(copy: JsonObject): ContentBlock {
  return copy as unknown as ContentBlock;
}
