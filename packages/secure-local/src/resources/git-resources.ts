// Git repositories as resources: what they held at a branch, tag or commit, read-only, with completion of all three parts.
import {
  type CompletionReturn,
  type Context,
  type ReadReturn,
  type ResourceContents,
  type ResourceTemplateDefinition,
  RpcError,
} from "@secure-local/mcp/server";
import { FileError, type Files, shownName } from "../capabilities/files/files.js";
import type { Reader } from "../capabilities/files/file-rules.js";
import { gitAddress, GitError } from "../capabilities/git/git-folder.js";
import type { GitContents, GitEntry, GitRepository } from "../capabilities/git/git-repository.js";
import { completeFolder, completing, fileContents, firstOf, FOLDER_TYPE, offered } from "./file-resources.js";

export const GIT_TEMPLATE = "git:///{+repository}{?ref,path}";

/** As much as fits into one answer; base64 makes a third more of it. */
const MAX_BYTES = 750_000;
const MAX_ENTRIES = 2_000;
const LIMITS = { maxBytes: MAX_BYTES, maxEntries: MAX_ENTRIES };
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** `files`: narrowed by the roots of the client that asks; without a context by the policy alone. */
export function gitTemplate(files: (ctx?: Context, reader?: Reader) => Files): ResourceTemplateDefinition {
  const stores = (ctx?: Context): Files => files(ctx, "git");
  return {
    name: "git",
    title: "Git history",
    description:
      "A file or folder as it was in a repository at a branch, tag or whole commit hash (`ref`, HEAD when absent); read-only",
    complete: {
      repository: (typed, { context }) => completing(files, context, (allowed) => completeFolder(allowed, typed)),
      ref: (typed, { arguments: known, context }) =>
        completing(stores, context, (allowed) => completeRef(allowed, { typed, known, signal: context.signal })),
      path: (typed, { arguments: known, context }) =>
        completing(stores, context, (allowed) => completeTreePath(allowed, { typed, known, signal: context.signal })),
    },
    read: (uri, _variables, ctx) => readUri(stores(ctx), uri, ctx.signal),
  };
}

async function readUri(files: Files, uri: string, signal: AbortSignal): Promise<ReadReturn> {
  try {
    const { repository, ref, path } = gitAddress(uri);
    return contentsOf(uri, path, await (await open(files, repository, signal)).contents(ref, path, LIMITS));
  } catch (error) {
    if (error instanceof GitError) return unlessAbsent(error);
    if (error instanceof FileError) return unlessMissing(error);
    throw error;
  }
}

/** Loaded with the first one: most sessions never look into a repository. */
async function open(files: Files, repository: string, signal: AbortSignal): Promise<GitRepository> {
  const { GitRepository: Repository } = await import("../capabilities/git/git-repository.js");
  return Repository.open(files, repository, signal);
}

function contentsOf(uri: string, path: string, contents: GitContents): ResourceContents {
  if (contents.kind === "file") return fileContents(uri, { path, bytes: contents.bytes });
  const lines = contents.entries.map(lineOf);
  if (contents.truncated) lines.push("[there are more entries]");
  return { uri, mimeType: FOLDER_TYPE, text: lines.join("\n") };
}

function lineOf({ name, kind }: GitEntry): string {
  const shown = shownName(name);
  if (kind === "file") return shown;
  return kind === "folder" ? `${shown}/` : `${shown} [${kind}]`;
}

function unlessAbsent({ code, message }: GitError): never {
  const data = { path: "/uri", constraint: "a repository, a ref and a path it has" };
  throw new RpcError(code === "damaged" ? INTERNAL_ERROR : INVALID_PARAMS, message, data);
}

function unlessMissing(error: FileError): undefined {
  const { code, message, rule } = error;
  if (code === "not-found") return undefined;
  const data = { path: "/uri", constraint: "a file the policy allows", ...(rule === undefined ? {} : { rule }) };
  const text = code === "denied" ? `Denied. ${message}` : message;
  throw new RpcError(code === "system" || code === "changed" ? INTERNAL_ERROR : INVALID_PARAMS, text, data);
}

interface Typed {
  readonly typed: string;
  /** The other variables, as far as the client knows them. */
  readonly known: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

async function completeRef(files: Files, { typed, known, signal }: Typed): Promise<CompletionReturn> {
  const begun = typed.toLowerCase();
  return unlessRefused(async () => {
    const repository = await open(files, `/${known["repository"] ?? ""}`, signal);
    return firstOf((await repository.refs()).filter((name) => name.toLowerCase().startsWith(begun)));
  });
}

async function completeTreePath(files: Files, { typed, known, signal }: Typed): Promise<CompletionReturn> {
  return unlessRefused(async () => {
    const repository = await open(files, `/${known["repository"] ?? ""}`, signal);
    return offered(typed, async (above) => {
      const contents = await repository.contents(known["ref"] || "HEAD", above.replace(/\/$/, ""), LIMITS);
      if (contents.kind === "file") return [];
      return contents.entries.map(({ name, kind }) => (kind === "folder" ? `${name}/` : name));
    });
  });
}

async function unlessRefused(complete: () => Promise<CompletionReturn>): Promise<CompletionReturn> {
  try {
    return await complete();
  } catch (error) {
    if (error instanceof GitError || error instanceof FileError) return { values: [] };
    throw error;
  }
}
