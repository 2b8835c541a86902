// The tools that find files: `search_files` by their names, `search_text` by what is in them, `list_directory` by where
// they stand.
import { type FolderListing, globTest, shownName } from "../../capabilities/files/files.js";
import { type BuiltinTool, Pace, PASSED_OVER_WORDS, type ToolAnswer, type ToolPowers, visit } from "../tool.js";
import { BYTES_OUT, fileAnswer, limitSchema, matchesOut, PATH_OUT, pathSchema } from "./file-schemas.js";

export interface SearchFilesArguments {
  readonly pattern: string;
  readonly path?: string;
  readonly kind?: "file" | "folder" | "any";
  readonly limit?: number;
}

const DEFAULT_RESULTS = 200;
/** Milliseconds; what was found until then is the answer. */
const TIME_LIMIT_MS = 20_000;

export const searchFiles: BuiltinTool<SearchFilesArguments> = {
  name: "search_files",
  title: "Find files by name",
  description: `Find files and folders whose names fit a glob, such as '*.ts', 'src/**/*.{ts,tsx}' or 'README*'. A pattern without a slash is compared with names at any depth, another with the path below the folder. Passed over: ${PASSED_OVER_WORDS}.`,
  category: "files",
  aliases: ["find", "glob", "locate"],
  input: {
    type: "object",
    properties: {
      pattern: { type: "string", minLength: 1, maxLength: 1_024, description: "Glob with *, **, ? and {a,b}" },
      path: pathSchema("Folder to search (default: every allowed folder)"),
      kind: {
        type: "string",
        enum: ["file", "folder", "any"],
        default: "any",
        description: "Files, folders, or both",
      },
      limit: limitSchema("results", { most: 5_000, usual: DEFAULT_RESULTS }),
    },
    required: ["pattern"],
    additionalProperties: false,
  },
  output: matchesOut(
    { path: PATH_OUT, kind: { type: "string", enum: ["file", "folder"] }, size: { type: "integer" } },
    "searched",
    "Entries looked at",
  ),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  needs: ["readable-files"],
  async run(args, powers) {
    const fits = globTest(args.pattern);
    if (typeof fits === "string") return { failed: `The pattern cannot be used: ${fits}.` };
    return fileAnswer(() => search(args, fits, powers));
  },
};

async function search(
  { path, kind = "any", limit = DEFAULT_RESULTS }: SearchFilesArguments,
  fits: (path: string) => boolean,
  powers: ToolPowers,
): Promise<ToolAnswer> {
  const pace = new Pace(powers);
  const matches: { path: string; kind: string; size: number }[] = [];
  let searched = 0;
  let truncated = false;
  for await (const { entry, relative } of visit(powers.files, path, powers.signal)) {
    searched += 1;
    await pace.step(searched, () => `${searched} entries looked at, ${matches.length} found`);
    truncated = matches.length === limit || pace.elapsedMs > TIME_LIMIT_MS;
    if (truncated) break;
    if ((kind === "any" || kind === entry.kind) && fits(relative)) {
      matches.push({ path: entry.path, kind: entry.kind, size: entry.size });
    }
  }
  const lines = matches.map((match) => (match.kind === "folder" ? `${shownName(match.path)}/` : shownName(match.path)));
  if (lines.length === 0) lines.push("Nothing fits.");
  if (truncated) lines.push(`[stopped after ${searched} entries; narrow the pattern or the path for the rest]`);
  return { structured: { matches, searched, truncated }, text: lines.join("\n") };
}

// The tool `search_text`: finds a text or a regular expression in files.

export interface SearchTextArguments {
  readonly query: string;
  readonly path?: string;
  readonly include?: string;
  readonly regex?: boolean;
  readonly case_sensitive?: boolean;
  readonly limit?: number;
}

export const searchText: BuiltinTool<SearchTextArguments> = {
  name: "search_text",
  title: "Search in files",
  description: `Find a text, or with regex a regular expression (RE2: no look-around, no back-references), in the lines of text files up to 2 MiB. Passed over: ${PASSED_OVER_WORDS}, binary files.`,
  category: "files",
  aliases: ["grep", "find text", "regex"],
  input: {
    type: "object",
    properties: {
      query: { type: "string", minLength: 1, maxLength: 1_000, description: "Text to find (e.g., 'TODO')" },
      path: pathSchema("File or folder to search (default: every allowed folder)"),
      include: { type: "string", maxLength: 1_024, description: "Glob of the files to search (e.g., '*.ts')" },
      regex: { type: "boolean", default: false, description: "Read query as a regular expression" },
      case_sensitive: { type: "boolean", default: true, description: "Tell capitals from small letters" },
      limit: limitSchema("matching lines", { most: 2_000, usual: 100 }),
    },
    required: ["query"],
    additionalProperties: false,
  },
  output: matchesOut(
    {
      path: PATH_OUT,
      line: { type: "integer", minimum: 1 },
      column: { type: "integer", minimum: 1 },
      text: { type: "string", description: "The line, cut where it is long" },
    },
    "files",
    "Files searched",
  ),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  needs: ["readable-files"],
  async run(args, powers) {
    const { searchContents } = await import("../search-text/text-search.js"); // what searches: most sessions open no file
    return await searchContents(args, powers);
  },
};

// The tool `list_directory`: what stands in a folder, or which folders there are to begin with.

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
