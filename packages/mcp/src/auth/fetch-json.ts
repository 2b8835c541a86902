// Fetches JSON documents of an authorization server: https only, no redirects, little data, little time; rarely, by
// one flight at a time, and kept a while when the server is down.

/** Age from which a newer document is fetched while the held one still serves: issuers rotate keys over hours. */
const REFRESH_AFTER_MS = 5 * 60_000;
/** Age from which the held document is not trusted any more: a withdrawn key must stop working. */
const KEEP_MS = 10 * 60_000;
/** Least time between two fetches, so that tokens with made-up key ids cannot make us flood the issuer. */
const SPACING_MS = 30_000;

export class Refreshed<T> {
  readonly #load: () => Promise<T>;
  readonly #now: () => number;
  #held: { readonly value: T; readonly at: number } | undefined;
  #attemptedAt = -Infinity;
  #flight: Promise<void> | undefined;
  #failed = false;

  /** `now` gives milliseconds. `load` must end by itself and may reject. */
  constructor(load: () => Promise<T>, now: () => number) {
    this.#load = load;
    this.#now = now;
  }

  /** Whether the last fetch failed: what is held may then be outdated. */
  get failed(): boolean {
    return this.#failed;
  }

  /** The document, or undefined when there is none young enough and the server does not give one. */
  async current(): Promise<T | undefined> {
    const age = this.#age();
    if (age >= KEEP_MS) await this.renew();
    // Those who ask meanwhile are served at once; `renew` never rejects.
    else if (age >= REFRESH_AFTER_MS) void this.renew();
    return this.#age() < KEEP_MS ? this.#held?.value : undefined;
  }

  /** Fetches a newer document, joins the fetch under way, or does nothing when the last one is too recent. */
  renew(): Promise<void> {
    if (this.#flight !== undefined) return this.#flight;
    const now = this.#now();
    if (now - this.#attemptedAt < SPACING_MS) return Promise.resolve();
    this.#attemptedAt = now;
    this.#flight = this.#fetch(now).finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  async #fetch(at: number): Promise<void> {
    try {
      this.#held = { value: await this.#load(), at };
      this.#failed = false;
    } catch {
      this.#failed = true;
    }
  }

  #age(): number {
    return this.#held === undefined ? Infinity : this.#now() - this.#held.at;
  }
}

// Parses JSON objects that decide about access: duplicate members and deep nesting are refused, not guessed about.

/** Deepest nesting: claims of real issuers stay under five levels. */
const DEPTH = 32;

/** Fatal, and keeps a byte order mark, which JSON does not allow. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The object, or undefined for anything else: no UTF-8, no JSON, no object, a name twice in one object. */
export function parseStrictObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const text = utf8.decode(bytes);
    const members = countMembers(text);
    const value: unknown = members === undefined ? undefined : JSON.parse(text);
    if (!isPlainObject(value)) return undefined;
    return countKept(value) === members ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Members written in the text: in JSON each has exactly one colon outside strings. Undefined when nested too deeply. */
function countMembers(text: string): number | undefined {
  let colons = 0;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (quoted) {
      if (character === "\\") at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === ":") colons++;
    else if (character === "{" || character === "[") {
      if (++depth > DEPTH) return undefined;
    } else if (character === "}" || character === "]") depth--;
  }
  return colons;
}

/** Members that survived parsing. A name written twice survives once. */
function countKept(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let kept = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const inner of Object.values(value)) kept += countKept(inner);
  return kept;
}

/** The part of `fetch` used here. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/** How documents of an authorization server are fetched. Plain HTTP only from this machine, and only on request. */
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
    if (url?.protocol === "http:" && LOOPBACK.has(url.hostname) && options.allowLoopbackHttp !== true)
      throw new RangeError(
        `${JSON.stringify(text)} cannot be fetched: it is http, which allowLoopbackHttp: true lets in on this machine, for trying it out`,
      );
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

// Compares HTTP URIs as DPoP proofs name them: without query and fragment, in one spelling (RFC 9449 §4.3, RFC 3986 §6.2).

/** The one spelling, or undefined for what is no http(s) URL or names a user. */
export function normalizeHttpUri(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if ((url.protocol !== "https:" && url.protocol !== "http:") || url.username !== "" || url.password !== "") {
    return undefined;
  }
  return url.origin + normalizePath(url.pathname);
}

/** The URI of a request: its path under the origin clients address, or its own URL where none is given. */
export function requestUri(target: string, origin: string | undefined): string | undefined {
  if (origin === undefined) return normalizeHttpUri(target);
  // A target such as "//other/path" must not move to another host.
  const path = target.startsWith("/") ? target : URL.canParse(target) ? new URL(target).pathname : undefined;
  return path === undefined ? undefined : normalizeHttpUri(origin + path);
}

/** Escapes of unreserved characters are undone, those of others are written in capitals. */
function normalizePath(path: string): string {
  return path.replaceAll(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase();
  });
}
