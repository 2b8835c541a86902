// The tool `write_file`: creates a file or replaces all of it.
import { BYTES_OUT, fileAnswer, PATH_OUT, pathSchema } from "../files/file-schemas.js";
import type { BuiltinTool, ToolAnswer } from "../tool.js";

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
