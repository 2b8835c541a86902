// What a file or folder looks like when it is read as a resource.
import type { ResourceContents } from "@secure-local/mcp/server";
import type { FileContents, FolderListing } from "../capabilities/files/files.js";

export const FOLDER_TYPE = "inode/directory";

/** By the end of the name; the content decides whether it is text. */
const TEXT_TYPES: Readonly<Record<string, string>> = {
  md: "text/markdown",
  html: "text/html",
  css: "text/css",
  csv: "text/csv",
  js: "text/javascript",
  json: "application/json",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  svg: "image/svg+xml",
};
const BINARY_TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  zip: "application/zip",
};

/** Text where the bytes are valid UTF-8 without zero bytes, otherwise a blob. */
export function fileContents(uri: string, { path, bytes }: Pick<FileContents, "path" | "bytes">): ResourceContents {
  const extension = /\.([a-z0-9]{1,8})$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const text = textOf(bytes);
  if (text !== undefined) return { uri, mimeType: TEXT_TYPES[extension] ?? "text/plain", text };
  return { uri, mimeType: BINARY_TYPES[extension] ?? "application/octet-stream", blob: base64(bytes) };
}

/** One entry a line, folders with a slash behind. */
export function folderContents(uri: string, { entries, truncated }: FolderListing): ResourceContents {
  const lines = entries.map(({ name, kind }) => (kind === "folder" ? `${name}/` : name));
  if (truncated) lines.push("[there are more entries]");
  return { uri, mimeType: FOLDER_TYPE, text: lines.join("\n") };
}

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}
