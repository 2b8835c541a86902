// Talks to authorization servers: only those that may be reached, little data, little time, no redirects to other
// origins, JSON objects only.

import { LocalError } from "../../jsonrpc/errors.js";
import { startTimer } from "../../jsonrpc/outgoing.js";
import { type FetchLike, parseStrictObject } from "../fetch-json.js";

/** Longest URL taken from a document: those in use stay under 300 characters. */
const URL_LENGTH = 2_048;
/** How much of a foreign text an error repeats. */
const SHOWN_LENGTH = 120;

/** Foreign text as an error may show it: short, on one line. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : String(value);
  return JSON.stringify(text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);
}

/** Whether a host, as `URL` spells it, is this machine's own. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/\.$/, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127(?:\.\d+){3}$/.test(name);
}

/**
 * Whoever runs the server, or answers for it, chooses what its metadata says. So everything named there is https on a host
 * with a name. Only what the user gave leads elsewhere: the host of a URL given, and other ports of this machine where
 * a URL given is of this machine. What names resolve to is for the `fetch` to check.
 */
export class Reach {
  readonly #hosts: ReadonlySet<string>;
  readonly #allowed: ReadonlySet<string>;
  readonly #loopback: boolean;

  /** `given`: URLs the user wrote. `allowHosts`: further host names the user trusts. Throws RangeError for what is no URL. */
  constructor(given: readonly string[], allowHosts: readonly string[] = []) {
    const urls = given.map((text) => {
      if (URL.canParse(text)) return new URL(text);
      throw new RangeError(`${shown(text)} is no URL: give an absolute one, "https://mcp.example.com/mcp"`);
    });
    this.#hosts = new Set(urls.map((url) => url.hostname));
    this.#allowed = new Set(allowHosts);
    this.#loopback = urls.some((url) => isLoopbackHost(url.hostname));
  }

  /** The URL, or a LocalError of code `AUTH_DISCOVERY` that begins with `what`. */
  check(text: unknown, what: string): URL {
    if (typeof text !== "string" || text.length > URL_LENGTH || !URL.canParse(text)) {
      throw refused(`${what} is ${shown(text)}, which is no URL`);
    }
    const url = new URL(text);
    const fault = this.#fault(url);
    if (fault !== undefined) throw refused(`${what} is ${shown(text)}, and ${fault}`);
    return url;
  }

  /** As `check`, and of the origin of `home`, unless the user allowed its host. */
  checkAt(home: string, text: unknown, what: string): URL {
    const url = this.check(text, what);
    const { origin } = new URL(home);
    if (url.origin === origin || this.#allowed.has(url.hostname)) return url;
    throw refused(
      `${what} is ${shown(text)}, which is not at ${origin}; if you trust it, name ${shown(url.hostname)} in allowHosts`,
    );
  }

  #fault(url: URL): string | undefined {
    const loopback = isLoopbackHost(url.hostname);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) return "only https may be used";
    if (url.username !== "" || url.password !== "") return "it names a user";
    if (url.hash !== "") return "it has a fragment";
    if (this.#hosts.has(url.hostname) || this.#allowed.has(url.hostname)) return undefined;
    if (loopback) return this.#loopback ? undefined : "a server elsewhere must not lead to this machine";
    return /^\[|^\d+(?:\.\d+){3}$/.test(url.hostname) ? "an address in place of a name is not trusted" : undefined;
  }
}

function refused(text: string): LocalError {
  return new LocalError("AUTH_DISCOVERY", `Authorization stopped: ${text}`);
}

export interface AuthReply {
  readonly status: number;
  /** The JSON object answered with, if it was one. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  header(name: string): string | undefined;
}

export interface AuthPost {
  /** What is asked for, for errors: "Token endpoint". */
  readonly what: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** "form" or "json". */
  readonly type: "form" | "json";
}

/** Largest answer: metadata and token answers of real issuers stay under 20 KiB. */
const MAX_BYTES = 64 * 1024;
/** Longest wait for an answer with all of its body. */
const TIMEOUT_MS = 10_000;
/** Redirects of metadata within one origin: a slash added, then a move. */
const MAX_REDIRECTS = 2;

const TYPES = { form: "application/x-www-form-urlencoded", json: "application/json" };

export class AuthHttp {
  readonly #fetch: FetchLike;
  readonly #timeoutMs: number;
  readonly reach: Reach;

  constructor(fetch: FetchLike, reach: Reach, timeoutMs: number = TIMEOUT_MS) {
    this.#fetch = fetch;
    this.reach = reach;
    this.#timeoutMs = timeoutMs;
  }

  /** Rejects with `AUTH_DISCOVERY` when nothing usable comes back. Any status is an answer, except redirects elsewhere. */
  async get(url: string, what: string): Promise<AuthReply> {
    let at = this.reach.check(url, what);
    for (let redirects = 0; ; redirects++) {
      const target = at;
      const reply = await this.#send(target.href, what, { method: "GET", headers: { accept: "application/json" } });
      if (!isRedirect(reply.status)) return reply;
      const location = reply.header("location") ?? "";
      if (redirects === MAX_REDIRECTS || !URL.canParse(location, target.href)) {
        throw failed(`${what} at ${shown(target.href)} redirects without end`);
      }
      at = this.reach.check(new URL(location, target.href).href, `The redirect of ${what}`);
      if (at.origin === target.origin) continue;
      throw failed(`${what} at ${shown(target.href)} redirects to another origin, ${shown(at.origin)}`);
    }
  }

  /** Rejects with `AUTH_DISCOVERY`, also for a redirect: a form with secrets is sent to one place only. */
  async post(url: string, { what, headers, body, type }: AuthPost): Promise<AuthReply> {
    const target = this.reach.check(url, what).href;
    const reply = await this.#send(target, what, {
      method: "POST",
      headers: { ...headers, accept: "application/json", "content-type": TYPES[type] },
      body,
    });
    if (isRedirect(reply.status)) throw failed(`${what} at ${shown(target)} redirects, and secrets do not follow`);
    return reply;
  }

  async #send(url: string, what: string, init: RequestInit): Promise<AuthReply> {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = startTimer(() => {
        reject(failed(`${what} at ${shown(url)} did not answer within ${this.#timeoutMs} ms`));
        abort.abort();
      }, this.#timeoutMs);
    });
    try {
      return await Promise.race([this.#exchange(url, what, { ...init, signal: abort.signal }), late]);
    } finally {
      clearTimeout(timer);
      // Whatever is left of an answer that was too long is not wanted any more.
      abort.abort();
    }
  }

  async #exchange(url: string, what: string, init: RequestInit): Promise<AuthReply> {
    try {
      const fetch = this.#fetch;
      const response = await fetch(url, { ...init, redirect: "manual" });
      const bytes = await readBytes(response);
      if (bytes === undefined) throw failed(`${what} at ${shown(url)} answered with more than ${MAX_BYTES} bytes`);
      const { status, headers } = response;
      // A redirect that may not be looked at has status 0.
      return {
        status: status === 0 ? 302 : status,
        json: parseStrictObject(bytes),
        header: (name) => headers.get(name) ?? undefined,
      };
    } catch (error) {
      if (error instanceof LocalError) throw error;
      throw failed(`${what} at ${shown(url)} could not be reached: ${reason(error)}`, error);
    }
  }
}

async function readBytes(response: Response): Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > MAX_BYTES) {
      void reader.cancel().catch(() => undefined);
      return undefined;
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** The innermost reason: `fetch` says only that it failed. */
function reason(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return inner instanceof Error ? inner.message.slice(0, 300) : String(inner);
}

function failed(text: string, cause?: unknown): LocalError {
  return new LocalError("AUTH_DISCOVERY", `Authorization stopped: ${text}`, cause === undefined ? {} : { cause });
}
