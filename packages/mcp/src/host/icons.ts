// Gets the picture of an icon without trusting whoever named it: where it comes from, how large it is, what it is.
import { LocalError } from "../jsonrpc/errors.js";
import { LONGEST_TIMER_MS } from "../jsonrpc/outgoing.js";
import type { Icon } from "../protocol/capabilities.js";
import { messageOf } from "./launch.js";

/** Within which bounds an icon is loaded. */
export interface IconOptions {
  /** URL of the server that named the icon: pictures come from its origin and no other. Without it only `data:` URIs are taken. */
  readonly serverUrl?: string | URL;
  /** Gets https URLs. Default: the runtime's; on Node give it `guardedFetch` of `/auth/client/node`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Default 262,144. */
  readonly mostBytes?: number;
  /** Milliseconds until it is given up. Default 10,000. */
  readonly timeoutMs?: number;
}

/** An icon whose bytes are what they say they are. */
export interface LoadedIcon {
  readonly bytes: Uint8Array;
  /** What the bytes are, whatever anybody says they are. */
  readonly mimeType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
}

const MOST_BYTES = 262_144;
const TIMEOUT_MS = 10_000;
const DATA = /^data:[^,]{0,200};base64,/i;

/**
 * The picture of an icon: PNG, JPEG, GIF or WebP. SVG is not taken, it can hold scripts. Asked for without credentials, following no
 * redirects. Rejects with `ICON`, which says why.
 */
export async function loadIcon({ src }: Pick<Icon, "src">, options: IconOptions = {}): Promise<LoadedIcon> {
  const { mostBytes = MOST_BYTES } = options;
  const bytes = /^data:/i.test(src) ? fromData(src, mostBytes) : await fetched(src, options);
  const mimeType = typeOf(bytes);
  if (mimeType === undefined) throw refused("it is no PNG, JPEG, GIF or WebP");
  return { bytes, mimeType };
}

function fromData(src: string, mostBytes: number): Uint8Array {
  const head = DATA.exec(src)?.[0];
  if (head === undefined) throw refused("its data: URI is not in base64");
  if ((src.length - head.length) * 0.75 > mostBytes) throw refused(`it has more than ${mostBytes} bytes`);
  try {
    return Uint8Array.from(atob(src.slice(head.length)), (character) => character.charCodeAt(0));
  } catch {
    throw refused("its data: URI is not in base64");
  }
}

async function fetched(
  src: string,
  { serverUrl, fetch = globalThis.fetch, mostBytes = MOST_BYTES, timeoutMs = TIMEOUT_MS }: IconOptions,
): Promise<Uint8Array> {
  const url = URL.canParse(src) ? new URL(src) : undefined;
  if (url?.protocol !== "https:") throw refused("its address is neither https: nor data:");
  if (serverUrl === undefined || url.origin !== new URL(serverUrl).origin)
    throw refused(`${url.origin} is not where its server is`);
  if (url.username !== "" || url.password !== "") throw refused("its address has a password in it");
  try {
    const response = await fetch(url.href, {
      redirect: "error",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      headers: { accept: "image/png, image/webp, image/jpeg, image/gif" },
      signal: AbortSignal.timeout(Math.min(timeoutMs, LONGEST_TIMER_MS)),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`status ${response.status}`);
    }
    return await limited(response, mostBytes);
  } catch (error) {
    throw error instanceof LocalError ? error : refused(messageOf(error));
  }
}

async function limited(response: Response, mostBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done || value === undefined) break;
    length += value.byteLength;
    if (length > mostBytes) {
      await reader?.cancel();
      throw refused(`it has more than ${mostBytes} bytes`);
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

function typeOf(bytes: Uint8Array): LoadedIcon["mimeType"] | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  return head.startsWith("RIFF") && head.slice(8) === "WEBP" ? "image/webp" : undefined;
}

function refused(why: string): LocalError {
  return new LocalError("ICON", `The icon was not loaded: ${why}`);
}
