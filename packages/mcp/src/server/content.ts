// Content blocks as handlers make them: marked, so that data is never mistaken for protocol.
import { brand } from "../jsonrpc/brand.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { Annotations, ResourceContents } from "../protocol/features/resources.js";
import type { ContentBlock, ResourceLink } from "../protocol/content.js";
import type { Meta } from "../protocol/meta.js";

/** Members every block may carry. */
export interface BlockOptions {
  readonly annotations?: Annotations;
  readonly _meta?: Meta;
}

/** A content block made by one of the functions of this file. */
export class Block {
  readonly block: ContentBlock;

  static {
    brand(this, "Block");
  }

  constructor(block: ContentBlock) {
    this.block = block;
  }
}

/** A text block. */
export function text(value: string, options?: BlockOptions): Block {
  return new Block({ type: "text", text: value, ...options });
}

/** An image block from bytes or padded standard base64. */
export function image(data: Uint8Array | string, mimeType: string, options?: BlockOptions): Block {
  return new Block({ type: "image", data: base64(data), mimeType, ...options });
}

/** An audio block from bytes or padded standard base64. Revisions without audio get an embedded resource. */
export function audio(data: Uint8Array | string, mimeType: string, options?: BlockOptions): Block {
  return new Block({ type: "audio", data: base64(data), mimeType, ...options });
}

/** A resource embedded in the answer. Bytes become a blob; the MIME type defaults to `text/plain` or `application/octet-stream`. */
export function resource(
  uri: string,
  contents: string | Uint8Array,
  options?: BlockOptions & { readonly mimeType?: string },
): Block {
  const { mimeType, ...rest } = options ?? {};
  return new Block({ type: "resource", resource: resourceContents(uri, contents, mimeType), ...rest });
}

/** A link to a resource the client can read by itself. Revisions without links get a text that names it. */
export function link(target: Omit<ResourceLink, "type">): Block {
  return new Block({ type: "resource_link", ...target });
}

/** Contents of a resource as `resources/read` and embedded resources carry them, always with a MIME type. */
export function resourceContents(uri: string, contents: string | Uint8Array, mimeType?: string): ResourceContents {
  if (typeof contents === "string") return { uri, mimeType: mimeType ?? "text/plain", text: contents };
  return { uri, mimeType: mimeType ?? "application/octet-stream", blob: toBase64(contents) };
}

/** Padded standard alphabet, as the specification demands. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function base64(data: Uint8Array | string): string {
  if (typeof data !== "string") return toBase64(data);
  if (BASE64.test(data)) return data;
  throw new LocalError("BAD_BASE64", "Binary content must be padded standard base64, or bytes (Uint8Array)");
}

// Base64 of bytes, without depending on a runtime's own classes.

/** Bytes turned into characters at once: small enough for a function's arguments. */
const STEP = 0x8000;

/** Padded standard base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += STEP) {
    binary += String.fromCharCode(...bytes.subarray(start, start + STEP));
  }
  return btoa(binary);
}

/** Unpadded base64 in the alphabet that URLs, headers and file names take. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Bytes of base64 in either alphabet, padded or not. Throws a DOMException for anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
