// The tool `list_directory`: what stands in a folder, or which folders there are to begin with.
import type { FolderListing } from "../../capabilities/files/files.js";
import { shownName } from "../../capabilities/files/shown-name.js";
import { BYTES_OUT, fileAnswer, PATH_OUT, pathSchema } from "../files/file-schemas.js";
import type { BuiltinTool, ToolAnswer } from "../tool.js";

export interface ListDirectoryArguments {
  readonly path?: string;
  readonly limit?: number;
}

/** More than a person sorts into one folder. */
const DEFAULT_ENTRIES = 1_000;

export const listDirectory: BuiltinTool<ListDirectoryArguments> = {
  name: "list_directory",
  title: "List a folder",
  description:
    "List the files and folders in a folder, with sizes and times of change. Without a path: the folders that may be used.",
  category: "files",
  aliases: ["ls", "dir", "folder"],
  input: {
    type: "object",
    properties: {
      path: pathSchema("Folder to list"),
      limit: { type: "integer", minimum: 1, maximum: 10_000, description: "Most entries to return (default: 1000)" },
    },
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      path: PATH_OUT,
      entries: {
        type: "array",
        items: {
          type: "object",
          properties: {
            name: { type: "string" },
            kind: { type: "string", enum: ["file", "folder"] },
            size: BYTES_OUT,
            modified: { type: "string", description: "ISO 8601, UTC" },
          },
          required: ["name", "kind"],
        },
      },
      truncated: { type: "boolean" },
    },
    required: ["entries", "truncated"],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  needs: ["readable-files"],
  run: ({ path, limit = DEFAULT_ENTRIES }, { files, signal }) =>
    fileAnswer(async () =>
      path === undefined ? folders(await files.roots()) : answer(await files.list(path, { limit, signal })),
    ),
};

function folders(roots: readonly string[]): ToolAnswer {
  const entries = roots.map((name) => ({ name, kind: "folder" }));
  const text =
    roots.length === 0 ? "No folder may be used." : `Folders that may be used:\n${roots.map(shownName).join("\n")}`;
  return { structured: { entries, truncated: false }, text };
}

function answer({ path, entries, truncated }: FolderListing): ToolAnswer {
  const listed = entries.map(({ name, kind, size, modifiedMs }) => ({
    name,
    kind,
    size,
    modified: new Date(modifiedMs).toISOString(),
  }));
  const lines = listed.map(({ name, kind, size }) =>
    kind === "folder" ? `${shownName(name)}/` : `${shownName(name)} (${size} bytes)`,
  );
  if (lines.length === 0) lines.push("(empty)");
  if (truncated) lines.push("[there are more entries than the limit allows]");
  return { structured: { path, entries: listed, truncated }, text: `${shownName(path)}:\n${lines.join("\n")}` };
}
