// Checks icons where they are registered, so that no client is ever handed a dangerous one.
import { isJsonObject } from "../jsonrpc/message.js";

const SIZE = /^(?:any|[1-9][0-9]{0,4}x[1-9][0-9]{0,4})$/;
const MEDIA_TYPE = /^image\/[A-Za-z0-9][A-Za-z0-9.+-]*$/;
const HTTPS = /^https:\/\/[^\s/?#]/i;
const DATA = /^data:image\/[A-Za-z0-9][A-Za-z0-9.+-]*[;,]/i;

/** Says in one sentence what is wrong with the first bad icon, or returns undefined. */
export function iconsFault(icons: unknown): string | undefined {
  if (icons === undefined) return undefined;
  if (!Array.isArray(icons)) return "icons must be an array";
  for (const [index, icon] of icons.entries()) {
    const fault = iconFault(icon);
    if (fault !== undefined) return `icons[${index}]${fault}`;
  }
  return undefined;
}

function iconFault(icon: unknown): string | undefined {
  if (!isJsonObject(icon)) return " must be an object with a src";
  const { src, mimeType, sizes, theme } = icon;
  if (typeof src !== "string" || !isSafeSource(src)) {
    return `.src must be an https: URL or a data: URI of an image, not ${shown(src)}`;
  }
  if (mimeType !== undefined && (typeof mimeType !== "string" || !MEDIA_TYPE.test(mimeType))) {
    return `.mimeType must be an image type such as "image/png", not ${shown(mimeType)}`;
  }
  if (sizes !== undefined && !(Array.isArray(sizes) && sizes.every((size) => SIZE.test(String(size))))) {
    return `.sizes must be an array of sizes such as "48x48" or "any", not ${shown(sizes)}`;
  }
  if (theme !== undefined && theme !== "light" && theme !== "dark") {
    return `.theme must be "light" or "dark", not ${shown(theme)}`;
  }
  return undefined;
}

function isSafeSource(src: string): boolean {
  return HTTPS.test(src) ? URL.canParse(src) : DATA.test(src);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

// Describes an icon of a tool, prompt, resource, template or program (since 2025-11-25).

/** A picture a client may show. */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string;
  mimeType?: string;
  /** Each `WIDTHxHEIGHT` in pixels, or `any`. */
  sizes?: readonly string[];
  theme?: "light" | "dark";
}
