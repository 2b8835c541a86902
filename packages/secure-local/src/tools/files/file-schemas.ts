// Pieces of the schemas that file tools share.
import type { JsonSchema } from "@secure-local/mcp/server";
import type { ToolSchema, ToolAnswer, ToolFailure } from "../tool.js";
import { FileError } from "../../capabilities/files/files.js";

/** A path as an argument. Everything else about it is judged when it is used. */
export function pathSchema(what: string): {
  readonly type: "string";
  readonly minLength: 1;
  readonly description: string;
} {
  return {
    type: "string",
    minLength: 1,
    description: `${what}: absolute, inside an allowed folder (e.g., '/home/me/project/notes.txt')`,
  };
}

export const PATH_OUT = { type: "string", description: "Absolute path, links resolved" } as const;
export const BYTES_OUT = { type: "integer", minimum: 0, description: "Size in bytes" } as const;

/** How many results a search gives at most. */
export function limitSchema(
  what: string,
  { most, usual }: { readonly most: number; readonly usual: number },
): JsonSchema {
  return { type: "integer", minimum: 1, maximum: most, description: `Most ${what} (default: ${usual})` };
}

/** What a search answers: what it found, each with all of `match`; how much it looked at, under the name `counted`; whether that is all. */
export function matchesOut(
  match: Readonly<Record<string, JsonSchema>>,
  counted: string,
  description: string,
): ToolSchema {
  const items = { type: "object", properties: match, required: Object.keys(match) };
  return {
    type: "object",
    properties: {
      matches: { type: "array", items },
      [counted]: { type: "integer", description },
      truncated: { type: "boolean", description: "Whether there may be more" },
    },
    required: ["matches", counted, "truncated"],
  };
}

// Finds out whether bytes are text, and in which encoding.

type TextEncoding = "utf-8" | "utf-16le" | "utf-16be";

export interface DecodedText {
  readonly text: string;
  readonly encoding: TextEncoding;
  /** Whether it began with a byte order mark, which is no part of `text`. */
  readonly bom: boolean;
}

const MARKS: readonly (readonly [TextEncoding, readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];
/** Binary files show a zero byte early; text never has one. */
const LOOKED_AT = 8_192;

/** Undefined for what is no text: zero bytes, or bytes no encoding known here has. Never replaces a fault silently. */
export function decodeText(bytes: Uint8Array): DecodedText | undefined {
  const mark = MARKS.find(([, start]) => start.every((byte, index) => bytes[index] === byte));
  const encoding = mark?.[0] ?? "utf-8";
  if (encoding === "utf-8" && bytes.subarray(0, LOOKED_AT).includes(0)) return undefined;
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text: mark === undefined ? text : text.slice(1), encoding, bom: mark !== undefined };
  } catch {
    return undefined;
  }
}

/** The bytes of a text in the form it was decoded from. */
export function encodeText(text: string, { encoding, bom }: Omit<DecodedText, "text">): Uint8Array {
  const marked = bom ? `\ufeff${text}` : text;
  if (encoding === "utf-8") return new TextEncoder().encode(marked);
  const bytes = new Uint8Array(marked.length * 2);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < marked.length; index += 1) {
    view.setUint16(index * 2, marked.charCodeAt(index), encoding === "utf-16le");
  }
  return bytes;
}

// Turns what file operations refuse into answers a model can act on.

/** Runs the work; a FileError becomes a failed answer with its rule, anything else is thrown on. */
export async function fileAnswer(work: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FileError) return failureOf(error);
    throw error;
  }
}

function failureOf({ code, message, rule }: FileError): ToolFailure {
  const failed = code === "denied" ? `Denied. ${message}` : message;
  return rule === undefined ? { failed } : { failed, rule };
}

// Says what bytes are by their first ones: a file's name can say anything.

const IMAGES: readonly (readonly [mimeType: string, offset: number, start: readonly number[]])[] = [
  ["image/png", 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", 0, [0xff, 0xd8, 0xff]],
  ["image/gif", 0, [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", 8, [0x57, 0x45, 0x42, 0x50]],
];

/** The MIME type of an image that models can look at; undefined for anything else. */
export function imageType(bytes: Uint8Array): string | undefined {
  return IMAGES.find(([, offset, start]) => start.every((byte, index) => bytes[offset + index] === byte))?.[0];
}
