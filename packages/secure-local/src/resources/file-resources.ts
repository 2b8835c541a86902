// Files as resources: every allowed file and folder under one `file:` template, with completion and news of changes.
import {
  type CompletionReturn,
  type Context,
  LocalError,
  type ReadReturn,
  type ResourceContents,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  RpcError,
} from "@secure-local/mcp/server";
import type { Reader } from "../capabilities/files/file-rules.js";
import {
  completedName,
  type FileContents,
  FileError,
  type Files,
  type FolderListing,
  shownName,
} from "../capabilities/files/files.js";
import { pathOfUri, uriOfPath } from "../capabilities/files/plain-path.js";

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

// What a file or folder looks like when it is read as a resource.

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
function folderContents(uri: string, { entries, truncated }: FolderListing): ResourceContents {
  const lines = entries.map(({ name, kind }) => (kind === "folder" ? `${shownName(name)}/` : shownName(name)));
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

// Completes paths as far as the policy and the client's roots let them be seen.

/** As many as one answer to a completion holds. */
const COMPLETIONS = 100;

/** Where a client cannot be asked for its roots, the policy alone says what is offered: these are names, and no files. */
export async function completing<T>(
  files: (ctx?: Context) => Files,
  context: Context,
  complete: (files: Files) => Promise<T>,
): Promise<T> {
  try {
    return await complete(files(context));
  } catch (error) {
    if (!(error instanceof LocalError) || error.code !== "CANNOT_ASK") throw error;
    return complete(files());
  }
}

/** What can stand at the end of the typed path: entries of the folder typed so far, or the way to the allowed folders. */
async function completePath(files: Files, typed: string): Promise<CompletionReturn> {
  return offered(typed, (above) => namesIn(files, `/${above}`));
}

/** The same, but folders only. */
export async function completeFolder(files: Files, typed: string): Promise<CompletionReturn> {
  return offered(typed, async (above) => (await namesIn(files, `/${above}`)).filter((name) => name.endsWith("/")));
}

/** Those names that begin as typed, behind the folder typed so far; none where it may not be looked into. */
export async function offered(
  typed: string,
  namesOf: (above: string) => Promise<readonly string[]>,
): Promise<CompletionReturn> {
  const slash = typed.lastIndexOf("/");
  const [above, begun] = [typed.slice(0, slash + 1), typed.slice(slash + 1).toLowerCase()];
  const names = await namesOf(above).catch((error: unknown) => {
    if (error instanceof FileError) return [];
    throw error;
  });
  return firstOf(names.filter((name) => name.toLowerCase().startsWith(begun)).map((name) => above + name));
}

export function firstOf(values: readonly string[]): CompletionReturn {
  return { values: values.slice(0, COMPLETIONS).map(completedName), total: values.length };
}

async function namesIn(files: Files, folder: string): Promise<string[]> {
  const roots = await files.roots();
  const ways = roots.filter((root) => root.startsWith(folder) && root !== folder);
  if (ways.length > 0) return [...new Set(ways.map((root) => nextName(root.slice(folder.length))))];
  const { entries } = await files.list(folder);
  return entries.map(({ name, kind }) => (kind === "folder" ? `${name}/` : name));
}

function nextName(way: string): string {
  const [first = ""] = way.split("/");
  return `${first}/`;
}

// The resource `server://info`: what this server is and how it fares.

export const SERVER_INFO_URI = "server://info";

/** What is told of the process; `process` itself fits. */
export interface HostProcess {
  uptime(): number;
  memoryUsage(): { readonly heapUsed: number };
  readonly version: string;
  readonly platform: string;
  readonly pid: number;
}

/**
 * JSON with `server` {name, version}, `uptime` in seconds, `memoryUsage` (bytes of heap in use), `nodeVersion`, `platform`
 * and `pid`.
 */
export function serverInfo(
  { name, version }: { readonly name: string; readonly version: string },
  host: HostProcess = process,
): ResourceDefinition {
  return {
    name: "Server Information",
    description: "Current server status and configuration",
    mimeType: "application/json",
    read: () => {
      const info = {
        server: { name, version },
        uptime: host.uptime(),
        memoryUsage: host.memoryUsage().heapUsed,
        nodeVersion: host.version,
        platform: host.platform,
        pid: host.pid,
      };
      return JSON.stringify(info, null, 2);
    },
  };
}
