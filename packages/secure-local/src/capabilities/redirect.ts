// Works out the request that a redirect asks for.
import { type EgressTarget, parseTarget } from "./egress-target.js";
import { FetchError } from "./fetch-error.js";

/** One request of a tool. `host`, `connection` and encodings are set by `fetch`. */
export interface PolicyRequest {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Each at most what the capability was made with. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** `manual` returns a redirect as any other answer. */
  readonly redirect?: "follow" | "manual";
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** What may be told to another origin; everything else may identify the user. */
const HARMLESS: ReadonlySet<string> = new Set(["accept", "accept-language", "content-type", "user-agent"]);
const ABOUT_BODY: ReadonlySet<string> = new Set(["content-type", "content-language"]);

/**
 * Returns the next target and request, or undefined when `answer` is no redirect.
 * @throws FetchError `redirect` from https to http, `bad-url`
 */
export function nextHop(
  from: EgressTarget,
  request: PolicyRequest,
  answer: { readonly status: number; readonly headers: Readonly<Record<string, string | string[] | undefined>> },
): { target: EgressTarget; request: PolicyRequest } | undefined {
  const location = answer.headers["location"];
  if (!REDIRECTS.has(answer.status) || typeof location !== "string") return undefined;
  const target = parseTarget(location, from.url);
  if (from.scheme === "https" && target.scheme === "http") {
    throw new FetchError("redirect", `${from.host} redirects from https to http.`);
  }
  const { body, ...rest } = request;
  const keepsBody = answer.status === 307 || answer.status === 308;
  const sameOrigin = target.url.origin === from.url.origin;
  const headers = Object.entries(request.headers ?? {}).filter(
    ([name]) => (sameOrigin || HARMLESS.has(name.toLowerCase())) && (keepsBody || !ABOUT_BODY.has(name.toLowerCase())),
  );
  const next: PolicyRequest = { ...rest, headers: Object.fromEntries(headers) };
  if (keepsBody) return { target, request: body === undefined ? next : { ...next, body } };
  return { target, request: { ...next, method: request.method === "HEAD" ? "HEAD" : "GET" } };
}
