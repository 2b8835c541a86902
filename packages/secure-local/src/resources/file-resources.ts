// Files as resources: every allowed file and folder under one `file:` template, with completion and news of changes.
import {
  type Context,
  type ReadReturn,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  RpcError,
} from "@secure-local/mcp/server";
import { FileError } from "../capabilities/files/file-error.js";
import type { Reader } from "../capabilities/files/file-rules.js";
import type { Files } from "../capabilities/files/files.js";
import { pathOfUri, uriOfPath } from "../capabilities/files/file-uri.js";
import { completePath, completing } from "./path-completion.js";
import { fileContents, FOLDER_TYPE, folderContents } from "./file-contents.js";

export const FILE_TEMPLATE = "file:///{+path}";

/** As much as fits into one answer; base64 makes a third more of it. */
const MAX_BYTES = 750_000;
const MAX_ENTRIES = 2_000;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

export interface FileResourceOptions {
  /** Narrowed by the roots of the client that asks; without a context by the policy alone. */
  readonly files: (ctx?: Context, reader?: Reader) => Files;
  watch(path: string, changed: () => void): () => void;
}

/** @throws RpcError from reading, for what is denied or cannot be read; what does not exist is told as the library does */
export function fileTemplate({ files, watch }: FileResourceOptions): ResourceTemplateDefinition {
  return {
    name: "files",
    title: "Files",
    description: "Files and folders the policy allows, by absolute path; a folder is the list of its entries",
    complete: { path: (typed, { context }) => completing(files, context, (allowed) => completePath(allowed, typed)) },
    read: (uri, _variables, ctx) => readUri(files(ctx), uri),
    watch: (uri, changed) => watchUri(watch, uri, changed),
  };
}

/** One of the folders everything lies in. */
export function folderResource(
  path: string,
  { files, watch }: FileResourceOptions,
): readonly [string, ResourceDefinition] {
  const uri = uriOfPath(path);
  const definition: ResourceDefinition = {
    name: path,
    description: `The folder ${path}`,
    mimeType: FOLDER_TYPE,
    read: (ctx) => readUri(files(ctx), uri),
    watch: (_uri, changed) => watchUri(watch, uri, changed),
  };
  return [uri, definition];
}

async function readUri(files: Files, uri: string): Promise<ReadReturn> {
  try {
    const path = pathOfUri(uri);
    const { kind } = await files.info(path);
    if (kind === "folder") return folderContents(uri, await files.list(path, { limit: MAX_ENTRIES }));
    return fileContents(uri, await files.read(path, { maxBytes: MAX_BYTES }));
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    if (error.code === "not-found") return undefined;
    const { code, message, rule } = error;
    const data = { path: "/uri", constraint: "a file the policy allows", ...(rule === undefined ? {} : { rule }) };
    const text = code === "denied" ? `Denied. ${message}` : message;
    throw new RpcError(code === "system" || code === "changed" ? INTERNAL_ERROR : INVALID_PARAMS, text, data);
  }
}

function watchUri(watch: FileResourceOptions["watch"], uri: string, changed: () => void): (() => void) | undefined {
  try {
    return watch(pathOfUri(uri), changed);
  } catch {
    return undefined;
  }
}
