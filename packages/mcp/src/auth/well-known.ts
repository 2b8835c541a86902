// Answers the well-known paths that tell clients where to get tokens. Nothing here is secret: no token is needed for it.
import type { AuthRequest } from "./authenticator.js";
import { fetchJson, type FetchOptions } from "./fetch-json.js";
import { Refreshed } from "./refreshed.js";
import type { ProtectedResource } from "./resource-metadata.js";

/** Whether the authorization server's own metadata is copied, redirected to, or left out. */
export interface WellKnownOptions extends FetchOptions {
  /**
   * What the path of the authorization server's metadata at our own origin answers with: old clients look there only.
   * "copy": the metadata of the first authorization server; "redirect": its address; "off": nothing. Default: "copy".
   */
  readonly issuerMetadata?: "copy" | "redirect" | "off";
  /** Milliseconds. Default: a clock that is never set back. */
  readonly now?: () => number;
}

/** A whole reply with a metadata document. */
export interface WellKnownReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A document beside an HTTP endpoint, as `serveHttp` takes it in `pages`. */
export interface WellKnownPage {
  /** Served to whoever asks. */
  readonly open: true;
  respond(request: { readonly method: string; readonly path: string }): Promise<WellKnownReply>;
}

/** The metadata documents of a protected resource: as pages of our endpoints, or for a server of your own. */
export interface WellKnown {
  /** The same answers by path, without CORS headers: those are the endpoint's. */
  readonly pages: Readonly<Record<string, WellKnownPage>>;
  /** The answer, or undefined when the request is for another path. */
  respond(request: Pick<AuthRequest, "method" | "url">): Promise<WellKnownReply | undefined>;
}

const ISSUER_PATH = "/.well-known/oauth-authorization-server";

/** The documents are public, and clients in browsers must read them from other origins. */
const CORS: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, HEAD, OPTIONS",
  "access-control-allow-headers": "*",
};
const JSON_HEADERS: Readonly<Record<string, string>> = {
  ...CORS,
  "content-type": "application/json",
  // Minutes: whoever moves to another authorization server must not wait for caches.
  "cache-control": "public, max-age=300",
};
const NOT_ALLOWED: WellKnownReply = { status: 405, headers: { ...CORS, allow: "GET, HEAD, OPTIONS" }, body: "" };

/** The documents that clients look for below `/.well-known/` (RFC 9728, and RFC 8414 for older clients). */
export function wellKnown(resource: ProtectedResource, options: WellKnownOptions = {}): WellKnown {
  const { issuerMetadata = "copy" } = options;
  const document = JSON.stringify(resource.metadata);
  const issuer = resource.metadata.authorization_servers[0] as string;
  const now = options.now ?? (() => performance.now());
  const copy = new Refreshed(async () => JSON.stringify(await fetchIssuerMetadata(issuer, options)), now);
  const respond: WellKnown["respond"] = async ({ method, url }) => {
    const path = pathOf(url);
    const isResource = resource.paths.includes(path);
    if (!isResource && (path !== ISSUER_PATH || issuerMetadata === "off")) return undefined;
    if (method === "OPTIONS") return { status: 204, headers: CORS, body: "" };
    if (method !== "GET" && method !== "HEAD") return NOT_ALLOWED;
    const found = isResource
      ? { status: 200, headers: JSON_HEADERS, body: document }
      : await issuerReply(issuerMetadata === "redirect" ? issuer : copy);
    return method === "HEAD" ? { ...found, body: "" } : found;
  };
  const paths = issuerMetadata === "off" ? resource.paths : [...resource.paths, ISSUER_PATH];
  return { respond, pages: Object.fromEntries(paths.map((path) => [path, page(respond)])) };
}

function page(respond: WellKnown["respond"]): WellKnownPage {
  return {
    open: true,
    async respond({ method, path }) {
      const reply = (await respond({ method, url: path })) ?? NOT_ALLOWED;
      const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => !Object.hasOwn(CORS, name)));
      return { ...reply, headers };
    },
  };
}

/** Points to the issuer given as a URL, or shows the copy of its metadata. */
async function issuerReply(source: string | Refreshed<string>): Promise<WellKnownReply> {
  if (typeof source === "string") {
    const { origin, pathname } = new URL(source);
    const location = `${origin}${ISSUER_PATH}${pathname.replace(/\/$/, "")}`;
    return { status: 307, headers: { ...CORS, location, "cache-control": "no-store" }, body: "" };
  }
  const body = await source.current();
  if (body !== undefined) return { status: 200, headers: JSON_HEADERS, body };
  return { status: 503, headers: { ...CORS, "retry-after": "30", "cache-control": "no-store" }, body: "" };
}

/** The path, as it is written: nothing is decoded, so that no other spelling reaches these documents. */
function pathOf(url: string): string {
  const path = url.startsWith("/") || !URL.canParse(url) ? url : new URL(url).pathname;
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}

// Fetches the metadata of an authorization server from where RFC 8414 and OpenID Connect put it, and checks whose it is.

/**
 * The metadata of `issuer`, in the order RFC 8414 §3.1, RFC 8414 §5 and OpenID Connect Discovery §4. Rejects when none of
 * the places has a document that names exactly this issuer: endpoints of somebody else would receive our users' secrets.
 */
async function fetchIssuerMetadata(issuer: string, options: FetchOptions): Promise<Record<string, unknown>> {
  const init: RequestInit = { headers: { accept: "application/json" } };
  let last: unknown;
  for (const url of metadataUrls(issuer)) {
    try {
      const document = await fetchJson(url, init, options);
      if (document["issuer"] === issuer) return document;
      last = new Error(`${url} does not name ${issuer} as its issuer`);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}
