// The tool `search_text`: finds a text or a regular expression in files.
import { limitSchema, matchesOut, PATH_OUT, pathSchema } from "../files/file-schemas.js";
import { PASSED_OVER_WORDS } from "../files/pace.js";
import type { BuiltinTool } from "../tool.js";

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
      regex: { type: "boolean", default: false },
      case_sensitive: { type: "boolean", default: true },
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
    const { searchContents } = await import("./text-search.js"); // what searches: most sessions open no file
    return await searchContents(args, powers);
  },
};
