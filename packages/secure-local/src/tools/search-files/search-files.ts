// The tool `search_files`: finds files and folders by their names.
import { globTest } from "../../capabilities/files/glob.js";
import { shownName } from "../../capabilities/files/shown-name.js";
import { fileAnswer, limitSchema, matchesOut, PATH_OUT, pathSchema } from "../files/file-schemas.js";
import { Pace, PASSED_OVER_WORDS, visit } from "../files/pace.js";
import type { BuiltinTool, ToolAnswer, ToolPowers } from "../tool.js";

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
