// The tools that change files: `edit_file` replaces exact pieces of a text and shows what changed, `write_file` all of
// it.
import { FileError } from "../../capabilities/files/files.js";
import type { BuiltinTool, ToolAnswer, ToolPowers } from "../tool.js";
import {
  BYTES_OUT,
  type DecodedText,
  decodeText,
  encodeText,
  fileAnswer,
  PATH_OUT,
  pathSchema,
} from "./file-schemas.js";

// Replaces exact pieces of a text, each of which must be there once, or as often as it is meant to.

interface Replacement {
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean;
}

interface Replaced {
  readonly text: string;
  /** How many places were changed. */
  readonly count: number;
}

/** One after the other, each in what the ones before have left. A sentence when one of them cannot be made. */
function replaceText(text: string, replacements: readonly Replacement[]): Replaced | string {
  // Models see and write plain line ends; the file keeps its own.
  const windows = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  let current = text;
  let count = 0;
  for (const [index, replacement] of replacements.entries()) {
    const wanted = ends(replacement.old_text, windows);
    const which = replacements.length === 1 ? "old_text" : `old_text of edit ${index + 1}`;
    const parts = current.split(wanted);
    const found = parts.length - 1;
    if (found === 0) return `${which} is not in the file. It must be there to the letter, white space included.`;
    if (found > 1 && replacement.replace_all !== true) {
      return `${which} is ${found} times in the file. Give more of what stands around it, or set replace_all.`;
    }
    current = parts.join(ends(replacement.new_text, windows));
    count += found;
  }
  return { text: current, count };
}

function ends(text: string, windows: boolean): string {
  return windows ? text.replace(/\r?\n/g, "\r\n") : text;
}

interface EditFileArguments {
  readonly path: string;
  readonly edits: readonly Replacement[];
  readonly dry_run?: boolean;
}

/** Lines of a difference that are shown. */
const MAX_DIFF_LINES = 400;
/** Differences beyond this are not worked out line by line: that could take long. */
const MAX_EDIT_LENGTH = 2_000;
const DIFF_MS = 500;

export const editFile: BuiltinTool<EditFileArguments> = {
  name: "edit_file",
  title: "Edit a file",
  description:
    "Replace exact pieces of a text file. Each old_text must be in the file exactly once (or set replace_all). All edits are made, or none. Answers with a unified diff; with dry_run nothing is written.",
  category: "files",
  aliases: ["change", "replace", "patch", "modify"],
  input: {
    type: "object",
    properties: {
      path: pathSchema("File to change"),
      edits: {
        type: "array",
        minItems: 1,
        maxItems: 100,
        description: "Made one after the other",
        items: {
          type: "object",
          properties: {
            old_text: { type: "string", minLength: 1, description: "To the letter, with white space and indentation" },
            new_text: { type: "string", description: "What stands there afterwards" },
            replace_all: { type: "boolean", default: false, description: "Replace it wherever it is" },
          },
          required: ["old_text", "new_text"],
          additionalProperties: false,
        },
      },
      dry_run: { type: "boolean", default: false, description: "Only show what would change" },
    },
    required: ["path", "edits"],
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      path: PATH_OUT,
      size: BYTES_OUT,
      replacements: { type: "integer", minimum: 0, description: "Places changed" },
      written: { type: "boolean" },
      firstChangedLine: { type: "integer", minimum: 1 },
      diff: { type: "string", description: "Unified diff, cut where it is long" },
    },
    required: ["path", "size", "replacements", "written", "diff"],
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  // The answer shows the lines around what it changed.
  needs: ["writable-files", "readable-files"],
  run: (args, powers) => fileAnswer(() => edit(args, powers)),
};

async function edit({ path, edits, dry_run: dry = false }: EditFileArguments, powers: ToolPowers): Promise<ToolAnswer> {
  const { files, signal } = powers;
  let change: { readonly before: string; readonly after: Replaced } | undefined;
  const apply = (bytes: Uint8Array): Uint8Array | undefined => {
    const decoded = decodeText(bytes);
    if (decoded === undefined) throw new FileError("not-a-file", `"${path}" is no text in a known encoding.`);
    change = { before: decoded.text, after: replaced(decoded, edits) };
    return dry || change.after.text === decoded.text ? undefined : encodeText(change.after.text, decoded);
  };
  const { path: real, size } = dry ? await read(files, path, apply) : await files.edit(path, apply, { signal });
  const { before, after } = change as NonNullable<typeof change>;
  const { diff, firstChangedLine } = await difference(before, after.text);
  const written = !dry && before !== after.text;
  const what = written ? "Changed" : dry ? "Would change" : "Nothing to change in";
  const places = `${after.count} place${after.count === 1 ? "" : "s"}`;
  const structured = { path: real, size, replacements: after.count, written, diff, ...first(firstChangedLine) };
  return { structured, text: `${what} ${real} (${places}).\n\n${diff}` };
}

function first(line: number | undefined): { firstChangedLine?: number } {
  return line === undefined ? {} : { firstChangedLine: line };
}

async function read(files: ToolPowers["files"], path: string, apply: (bytes: Uint8Array) => unknown) {
  const contents = await files.read(path);
  apply(contents.bytes);
  return contents;
}

function replaced({ text }: DecodedText, edits: readonly Replacement[]): Replaced {
  const outcome = replaceText(text, edits);
  if (typeof outcome === "string") throw new FileError("changed", outcome);
  return outcome;
}

async function difference(
  before: string,
  after: string,
): Promise<{ diff: string; firstChangedLine: number | undefined }> {
  if (before === after) return { diff: "", firstChangedLine: undefined };
  const { structuredPatch } = await import("diff");
  const patch = structuredPatch("", "", before, after, "", "", {
    context: 3,
    maxEditLength: MAX_EDIT_LENGTH,
    timeout: DIFF_MS,
  });
  if (patch === undefined) return { diff: "[too much changed to show]", firstChangedLine: undefined };
  const lines = patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines: body }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...body,
  ]);
  const [hunk] = patch.hunks;
  const unchanged = hunk?.lines.findIndex((line) => !line.startsWith(" ")) ?? 0;
  const cut = lines.length > MAX_DIFF_LINES ? [`[${lines.length - MAX_DIFF_LINES} more lines]`] : [];
  return {
    diff: [...lines.slice(0, MAX_DIFF_LINES), ...cut].join("\n"),
    firstChangedLine: hunk === undefined ? undefined : hunk.newStart + unchanged,
  };
}

// The tool `write_file`: creates a file or replaces all of it.

export interface WriteFileArguments {
  readonly path: string;
  readonly content: string;
  readonly encoding?: "utf-8" | "base64";
  readonly mode?: "create" | "replace" | "either";
  readonly create_folders?: boolean;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const LONE_SURROGATE = /[\ud800-\udfff]/u;

export const writeFile: BuiltinTool<WriteFileArguments> = {
  name: "write_file",
  title: "Write a file",
  description:
    "Create a file, or replace all of its content (up to 8 MiB). The change is made at once and whole. To change parts of a file use edit_file.",
  category: "files",
  aliases: ["create", "save", "new file"],
  input: {
    type: "object",
    properties: {
      path: pathSchema("File to write"),
      content: { type: "string", description: "The whole new content" },
      encoding: { type: "string", enum: ["utf-8", "base64"], default: "utf-8", description: "How content is given" },
      mode: {
        type: "string",
        enum: ["create", "replace", "either"],
        default: "either",
        description: "create: only a new file; replace: only one that exists",
      },
      create_folders: { type: "boolean", default: false, description: "Make missing folders of the path" },
    },
    required: ["path", "content"],
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      path: PATH_OUT,
      size: BYTES_OUT,
      created: { type: "boolean", description: "false: it was replaced" },
    },
    required: ["path", "size", "created"],
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  needs: ["writable-files"],
  async run({ path, content, encoding, mode = "either", create_folders: folders = false }, { files, signal }) {
    const bytes = encoding === "base64" ? fromBase64(content) : fromText(content);
    if (bytes === undefined)
      return { failed: `The content is no valid ${encoding === "base64" ? "base64" : "Unicode"}.` };
    return fileAnswer(async (): Promise<ToolAnswer> => {
      const { path: written, created, size } = await files.write(path, bytes, { mode, folders, signal });
      const text = `${created ? "Created" : "Replaced"} ${written} (${size} bytes).`;
      return { structured: { path: written, size, created }, text };
    });
  },
};

function fromBase64(content: string): Uint8Array | undefined {
  return BASE64.test(content) ? Uint8Array.from(atob(content), (char) => char.charCodeAt(0)) : undefined;
}

/** A half character would be written as another one. */
function fromText(content: string): Uint8Array | undefined {
  return LONE_SURROGATE.test(content) ? undefined : new TextEncoder().encode(content);
}
