// Fetches a JSON document of an authorization server: https only, no redirects, little data, little time.
import { isPlainObject } from "./strict-object.js";

/** The part of `fetch` used here. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchOptions {
  /** Default: the runtime's own. */
  readonly fetch?: FetchLike;
  /** Accepts `http:` URLs of the loopback interface, for development and tests. Default: false. */
  readonly allowLoopbackHttp?: boolean;
}

/** Largest document: key sets and metadata of real issuers stay under 20 KiB. */
const MAX_BYTES = 64 * 1024;
/** Longest wait for a document; a request for our server waits as long. */
const TIMEOUT_MS = 5_000;

const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Throws RangeError for a URL that must not be fetched: not https, with credentials, with a fragment. */
export function checkServerUrl(text: string, options: FetchOptions): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const secure = url?.protocol === "https:";
  const local = options.allowLoopbackHttp === true && url?.protocol === "http:" && LOOPBACK.has(url.hostname);
  if (url === undefined || !(secure || local) || url.username !== "" || url.password !== "" || text.includes("#")) {
    throw new RangeError(`${JSON.stringify(text)} cannot be fetched: give an https URL without user name and fragment`);
  }
  return text;
}

/** The JSON object at `url`. Rejects with an Error for any other answer than 200 with one. */
export async function fetchJson(
  url: string,
  init: RequestInit,
  options: FetchOptions,
): Promise<Record<string, unknown>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error(`${url} did not answer within ${TIMEOUT_MS} ms`)), {
      once: true,
    });
  });
  return Promise.race([load(url, { ...init, signal }, options), late]);
}

async function load(url: string, init: RequestInit, options: FetchOptions): Promise<Record<string, unknown>> {
  const fetch: FetchLike = options.fetch ?? globalThis.fetch;
  // "manual" and not "error", which some runtimes lack: a redirect is then an answer other than 200.
  const response = await fetch(url, { ...init, redirect: "manual" });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answered with status ${response.status}`);
  }
  const value: unknown = JSON.parse(await readText(response, url));
  if (!isPlainObject(value)) throw new Error(`${url} did not answer with a JSON object`);
  return value;
}

async function readText(response: Response, url: string): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > MAX_BYTES) {
      await reader.cancel();
      throw new Error(`${url} answered with more than ${MAX_BYTES} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
