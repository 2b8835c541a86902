// The tool `read_file`: lines of a text file, or a small image.
import { beforeItIsCut } from "../../capabilities/known-secrets.js";
import { image } from "@secure-local/mcp/server";
import type { FileContents } from "../../capabilities/files/files.js";
import { BYTES_OUT, decodeText, fileAnswer, imageType, PATH_OUT, pathSchema } from "../files/file-schemas.js";
import type { BuiltinTool, ToolAnswer } from "../tool.js";

export interface ReadFileArguments {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}

/** As much as a model reads well at once. */
const DEFAULT_LINES = 2_000;
/** About 60,000 tokens. */
const MAX_CHARACTERS = 262_144;
/** Bytes of an image; base64 makes a third more of it. */
const MAX_IMAGE_BYTES = 750_000;

export const readFile: BuiltinTool<ReadFileArguments> = {
  name: "read_file",
  title: "Read a file",
  description:
    "Read a text file (UTF-8, or UTF-16 with a byte order mark) or a PNG, JPEG, GIF or WebP image up to 750 kB. Long texts come in parts: the answer says with which offset to continue.",
  category: "files",
  aliases: ["open", "cat", "show file", "view"],
  input: {
    type: "object",
    properties: {
      path: pathSchema("File to read"),
      offset: { type: "integer", minimum: 1, description: "First line to return, counted from 1 (default: 1)" },
      limit: { type: "integer", minimum: 1, maximum: 100_000, description: "Most lines to return (default: 2000)" },
    },
    required: ["path"],
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      path: PATH_OUT,
      size: BYTES_OUT,
      mimeType: { type: "string" },
      encoding: { type: "string", enum: ["utf-8", "utf-16le", "utf-16be"] },
      text: { type: "string", description: "The lines asked for" },
      startLine: { type: "integer" },
      endLine: { type: "integer" },
      totalLines: { type: "integer" },
      truncated: { type: "boolean", description: "Whether more follows endLine" },
    },
    required: ["path", "size", "mimeType"],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  needs: ["readable-files"],
  run: (args, { files, signal }) => fileAnswer(async () => answer(args, await files.read(args.path, { signal }))),
};

function answer(args: ReadFileArguments, file: FileContents): ToolAnswer | Promise<ToolAnswer> {
  const { path, size, bytes } = file;
  const mimeType = imageType(bytes);
  if (mimeType !== undefined) {
    if (size > MAX_IMAGE_BYTES)
      return { failed: `"${args.path}" is an image of ${size} bytes; at most ${MAX_IMAGE_BYTES} are shown.` };
    return {
      structured: { path, size, mimeType },
      text: `${path}: ${mimeType}, ${size} bytes`,
      blocks: [image(bytes, mimeType)],
    };
  }
  const decoded = decodeText(bytes);
  if (decoded === undefined) return { failed: `"${args.path}" is neither text nor an image (${size} bytes).` };
  const { text, encoding } = decoded;
  return part(args, { path, size, mimeType: "text/plain", encoding }, linesOf(text));
}

/** Lines with their ends; an end at the very end begins no further line. */
function linesOf(text: string): string[] {
  const lines = text.split(/(?<=\n)/);
  return lines[0] === "" ? [] : lines;
}

async function part(
  { path, offset = 1, limit = DEFAULT_LINES }: ReadFileArguments,
  about: object,
  lines: string[],
): Promise<ToolAnswer> {
  const totalLines = lines.length;
  if (offset > Math.max(totalLines, 1))
    return { failed: `"${path}" has ${totalLines} lines; offset ${offset} is behind its end.` };
  let endLine = offset - 1;
  let text = "";
  while (endLine < totalLines && endLine < offset - 1 + limit) {
    const line = lines[endLine] as string;
    if (text.length + line.length > MAX_CHARACTERS && text !== "") break;
    text += line;
    endLine += 1;
  }
  const cut = text.length > MAX_CHARACTERS;
  const shown = cut ? (await beforeItIsCut(text)).slice(0, MAX_CHARACTERS) : text;
  const truncated = cut || endLine < totalLines;
  const note = cut
    ? `[line ${offset} is longer than ${MAX_CHARACTERS} characters and was cut]`
    : `[lines ${offset} to ${endLine} of ${totalLines}; continue with offset ${endLine + 1}]`;
  const structured = { ...about, text: shown, startLine: offset, endLine, totalLines, truncated };
  return { structured, text: truncated ? `${shown}${shown.endsWith("\n") ? "" : "\n"}${note}` : shown };
}
