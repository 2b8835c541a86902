// Sends requests with authorization, follows redirects within one origin, and refuses replies nobody can read.
import type { HttpAuthorizer } from "../../jsonrpc/http-authorizer.js";
import { LocalError } from "../../jsonrpc/local-error.js";
import type { HttpClientLimits } from "./http-client-limits.js";
import { quote, shownUrl } from "./http-errors.js";
import type { HttpReply, HttpRequest, HttpRequester } from "./http-requester.js";

export interface CallerOptions {
  readonly requester: HttpRequester;
  readonly authorizer: HttpAuthorizer | undefined;
  readonly limits: HttpClientLimits;
}

export class HttpCaller {
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /**
   * The reply to `request`, whatever its status; redirects are followed for 307 and 308, and for every redirect of a GET,
   * within the origin. Rejects with a LocalError.
   */
  async call(request: HttpRequest): Promise<HttpReply> {
    const { limits } = this.#options;
    let current = request;
    for (let followed = 0; ; followed++) {
      const reply = await this.#authorized(current);
      if (reply.encoding !== undefined) {
        reply.cancel();
        const what = `${shownUrl(current.url)} sent its answer encoded (${quote(reply.encoding)}) although it was asked not to`;
        throw new LocalError(
          "INVALID_RESPONSE",
          `${what}: turn compression off for this path, at the server or the proxy before it.`,
        );
      }
      if (reply.status < 300 || reply.status > 399 || reply.status === 304) return reply;
      reply.cancel();
      const url = target(current, reply, followed < limits.redirects);
      current = { ...current, url };
    }
  }

  async #authorized(request: HttpRequest): Promise<HttpReply> {
    const { requester, authorizer, limits } = this.#options;
    if (authorizer === undefined) return requester.request(request);
    const { method, url } = request;
    for (let challenges = 0; ; challenges++) {
      const sent = await authorizer.headers({ method, url });
      const reply = await requester.request({ ...request, headers: { ...request.headers, ...sent } });
      const response = { method, url, sent, status: reply.status, header: (name: string) => reply.header(name) };
      if (reply.status !== 401 && reply.status !== 403) {
        authorizer.answered?.(response);
        return reply;
      }
      if (challenges >= limits.challenges || !(await authorizer.challenged(response))) return reply;
      // Read, so that the connection can be used again.
      await reply.text(limits.errorBytes).catch(() => undefined);
    }
  }
}

// Where a redirect leads, if it may be followed; throws what to do otherwise.
function target(request: HttpRequest, reply: HttpReply, more: boolean): string {
  const location = reply.header("location");
  const from = shownUrl(request.url);
  let to: URL | undefined;
  try {
    to = location === undefined ? undefined : new URL(location, request.url);
  } catch {
    to = undefined;
  }
  const status = `${from} answered with the redirect HTTP ${reply.status}`;
  if (to === undefined) throw new LocalError("INVALID_RESPONSE", `${status} without a usable Location: check the URL.`);
  const shown = shownUrl(to.href);
  if (to.origin !== new URL(request.url).origin || to.origin === "null") {
    throw new LocalError(
      "REDIRECTED",
      `${status} to another origin, ${shown}, which is not followed: connect to that URL if you trust it.`,
    );
  }
  const keepsMethod = reply.status === 307 || reply.status === 308;
  if (!keepsMethod && (request.method !== "GET" || reply.status === 300)) {
    throw new LocalError("REDIRECTED", `${status} to ${shown}, which would lose the message: connect to that URL.`);
  }
  if (!more) throw new LocalError("REDIRECTED", `${status} once too often, now to ${shown}: check the URL.`);
  return to.href;
}
