// Sends HTTP requests with any `fetch`, in every runtime that has one.
import { LocalError } from "../../jsonrpc/errors.js";
import { offAbort, onAbort } from "../../jsonrpc/outgoing.js";
import { type HttpReply, type HttpRequest, type HttpRequester, shownUrl } from "./http-caller.js";

/** As much of `fetch` as is used. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/**
 * A requester over `fetch`, by default the runtime's own. Connections, proxies and certificates are the business of that
 * `fetch`, and so are timeouts for connecting. It undoes compression, which the limits on lengths then bound.
 */
export function fetchRequester(fetch: FetchLike = (url, init) => globalThis.fetch(url, init)): HttpRequester {
  return new FetchRequester(fetch);
}

// What fetch implementations on Node say when no connection came about.
const UNREACHED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);
const CLOSED_CONNECTION: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

class FetchRequester implements HttpRequester {
  readonly #fetch: FetchLike;

  constructor(fetch: FetchLike) {
    this.#fetch = fetch;
  }

  async request(request: HttpRequest): Promise<HttpReply> {
    const { url, method, signal, started } = request;
    if (!/^https?:/i.test(url)) {
      throw new LocalError("NOT_SUPPORTED", `${shownUrl(url)} cannot be reached with fetch: use http: or https:`);
    }
    const controller = new AbortController();
    const cancel = (): void => controller.abort();
    if (signal?.aborted === true) cancel();
    else if (signal) onAbort(signal, cancel);
    started?.(cancel);
    const done = (): void => {
      if (signal) offAbort(signal, cancel);
    };
    try {
      const reply = new FetchReply(await this.#attempts(request, controller.signal), { url, controller, done });
      // Browsers hide where a redirect leads, and that it is one.
      if (reply.status !== 0) return reply;
      throw new LocalError("REDIRECTED", `${shownUrl(url)} redirects elsewhere: connect to that URL if you trust it.`);
    } catch (error) {
      done();
      throw failure(error, method, { url, cancelled: controller.signal.aborted });
    }
  }

  close(): void {
    // The connections are not ours.
  }

  async #attempts({ url, method, headers, body, repeatable }: HttpRequest, signal: AbortSignal): Promise<Response> {
    const init: RequestInit = { method, headers: { ...headers }, redirect: "manual", signal };
    if (body !== undefined) init.body = body;
    try {
      return await this.#fetch(url, init);
    } catch (error) {
      if (repeatable !== true || signal.aborted || !CLOSED_CONNECTION.has(codeOf(error))) throw error;
      return this.#fetch(url, init);
    }
  }
}

interface ReplyOrigin {
  readonly url: string;
  readonly controller: AbortController;
  readonly done: () => void;
}

class FetchReply implements HttpReply {
  readonly status: number;
  readonly encoding = undefined;
  readonly #response: Response;
  readonly #origin: ReplyOrigin;

  constructor(response: Response, origin: ReplyOrigin) {
    this.status = response.type === "opaqueredirect" ? 0 : response.status;
    this.#response = response;
    this.#origin = origin;
  }

  header(name: string): string | undefined {
    return this.#response.headers.get(name) ?? undefined;
  }

  async text(maxBytes: number): Promise<string> {
    const shown = shownUrl(this.#origin.url);
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let bytes = 0;
    let text = "";
    const decode = (chunk?: Uint8Array): void => {
      try {
        text += decoder.decode(chunk, { stream: chunk !== undefined });
      } catch {
        throw new LocalError("INVALID_RESPONSE", `${shown} answered with something that is not UTF-8`);
      }
    };
    await this.each((chunk) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) return decode(chunk);
      const what = `${shown} answered with more than ${maxBytes} bytes`;
      throw new LocalError("LIMIT", `${what}. Ask for less, or raise limits.messageBytes.`);
    });
    decode();
    return text;
  }

  async each(take: (chunk: Uint8Array) => void | Promise<void>): Promise<void> {
    const { url, controller, done } = this.#origin;
    const reader = this.#response.body?.getReader();
    try {
      for (;;) {
        const step = await reader?.read();
        if (step === undefined || step.done) return;
        const busy = take(step.value);
        if (busy !== undefined) await busy;
      }
    } catch (error) {
      const cancelled = controller.signal.aborted;
      if (!cancelled) controller.abort();
      if (cancelled) throw new LocalError("CANCELLED", `The request to ${shownUrl(url)} was ended`);
      if (error instanceof LocalError) throw error;
      const what = `the connection to ${shownUrl(url)} was cut within the answer`;
      throw new LocalError("OUTCOME_UNKNOWN", what, { cause: error });
    } finally {
      done();
    }
  }

  cancel(): void {
    this.#origin.controller.abort();
    this.#origin.done();
  }
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const found = cause?.code ?? code;
  return typeof found === "string" ? found : "";
}

function failure(
  error: unknown,
  method: string,
  about: { readonly url: string; readonly cancelled: boolean },
): LocalError {
  const shown = shownUrl(about.url);
  if (error instanceof LocalError) return error;
  if (about.cancelled) return new LocalError("CANCELLED", `The ${method} to ${shown} was ended`);
  const code = codeOf(error);
  const why = code === "" ? (error as Error).message : code;
  if (UNREACHED.has(code)) {
    const what = `${shown} cannot be reached: ${why}. Is the server running, and the URL right?`;
    return new LocalError("UNREACHABLE", what, { cause: error });
  }
  return new LocalError("OUTCOME_UNKNOWN", `the request to ${shown} failed (${why})`, { cause: error });
}
