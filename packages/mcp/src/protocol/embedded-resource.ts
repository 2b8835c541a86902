// Brings embedded resources into one shape: nested, and with a MIME type.
import type { EmbeddedResource } from "./content.js";
import type { ResourceContents } from "./resource.js";

/** The flat shape some programs write: contents beside `type` instead of under `resource`. */
export interface FlatResource {
  type: "resource";
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** Returns the block itself when it is nested and names its MIME type, or a copy that does and is. */
export function nestResource(block: EmbeddedResource | FlatResource): EmbeddedResource {
  if (!("resource" in block)) {
    const { type, uri, mimeType, text, blob, ...rest } = block;
    const named = mimeType === undefined ? { uri } : { uri, mimeType };
    const contents = blob === undefined ? { ...named, text: text ?? "" } : { ...named, blob };
    return { type, resource: withMimeType(contents), ...rest };
  }
  const resource = withMimeType(block.resource);
  return resource === block.resource ? block : { ...block, resource };
}

function withMimeType(contents: ResourceContents): ResourceContents {
  if (contents.mimeType !== undefined) return contents;
  return { ...contents, mimeType: "text" in contents ? "text/plain" : "application/octet-stream" };
}
