// Tells clients where to get tokens: describes this server as a protected resource (RFC 9728) and answers the
// well-known paths. Nothing here is secret: no token is needed for it.

import { LocalError } from "../jsonrpc/errors.js";
import { type FetchOptions, Refreshed, checkServerUrl, fetchJson } from "./fetch-json.js";
import { checkScopeNames } from "./scopes.js";
import type { MembersOf } from "../schema/schema.js";
import {
  type Admission,
  type AuthRequest,
  type Authenticator,
  checkMembers,
  checkVerdict,
  type Refusal,
} from "./authenticator.js";

/** What is published of a protected resource (RFC 9728): its URL, its authorization servers, its scopes. */
export interface ResourceOptions {
  /** Canonical URL of this server, as clients address it and as tokens name it in `aud`: "https://mcp.example.com/mcp". */
  readonly resource: string;
  /** Issuer URLs of the authorization servers that tokens may come from; at least one. */
  readonly authorizationServers: readonly string[];
  /** Scopes clients should ask for when no challenge names any: the least that is useful. */
  readonly scopes?: readonly string[];
  readonly name?: string;
  /** URL of a page for developers. */
  readonly documentation?: string;
  /** The same verifier that the authenticator has. */
  readonly dpop?: { readonly required: boolean; readonly algorithms: readonly string[] };
  /** Accepts `http:` URLs of the loopback interface, for development and tests. Default: false. */
  readonly allowLoopbackHttp?: boolean;
}

const RESOURCE_MEMBERS: MembersOf<ResourceOptions> = {
  resource: "text",
  authorizationServers: "texts",
  scopes: "texts",
  name: "text",
  documentation: "text",
  dpop: "object",
  allowLoopbackHttp: "flag",
};

/** The document, as RFC 9728 §2 names its members. */
export interface ProtectedResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly bearer_methods_supported: readonly ["header"];
  readonly scopes_supported?: readonly string[];
  readonly resource_name?: string;
  readonly resource_documentation?: string;
  readonly dpop_signing_alg_values_supported?: readonly string[];
  readonly dpop_bound_access_tokens_required?: boolean;
}

/** This server as a protected resource: its name, its metadata, and where that is published (RFC 9728). */
export interface ProtectedResource {
  /** As given, character by character: clients compare it and issuers copy it into tokens. */
  readonly resource: string;
  /** Where the document is, for challenges. */
  readonly metadataUrl: string;
  readonly metadata: ProtectedResourceMetadata;
  /** Paths that answer with the document: with the path of the resource, and without. */
  readonly paths: readonly string[];
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Throws RangeError for URLs that are not https, or have a query or fragment, and for names that are no scopes. */
export function protectedResource(options: ResourceOptions): ProtectedResource {
  checkMembers("protectedResource(options)", options, RESOURCE_MEMBERS);
  const { resource, authorizationServers } = options;
  if (typeof resource !== "string" || !Array.isArray(authorizationServers)) {
    const what = `protectedResource(options): "${typeof resource === "string" ? "authorizationServers" : "resource"}" is missing`;
    const write = '{ resource: "https://mcp.example.com/mcp", authorizationServers: ["https://login.example.com"] }';
    throw new LocalError("BAD_OPTIONS", `${what}: write ${write}`);
  }
  const url = new URL(checkServerUrl(resource, options));
  if (resource.includes("?")) throw new RangeError(`The resource ${resource} must have no query`);
  if (authorizationServers.length === 0) throw new RangeError("Name at least one authorization server");
  for (const issuer of authorizationServers) checkServerUrl(issuer, options);
  checkScopeNames(options.scopes ?? []);
  const path = WELL_KNOWN + (url.pathname === "/" ? "" : url.pathname);
  return {
    resource,
    metadataUrl: url.origin + path,
    metadata: describe(options),
    paths: path === WELL_KNOWN ? [WELL_KNOWN] : [path, WELL_KNOWN],
  };
}

function describe(options: ResourceOptions): ProtectedResourceMetadata {
  const { resource, authorizationServers, scopes, name, documentation, dpop } = options;
  return {
    resource,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ["header"],
    ...(scopes !== undefined && { scopes_supported: scopes }),
    ...(name !== undefined && { resource_name: name }),
    ...(documentation !== undefined && { resource_documentation: documentation }),
    ...(dpop !== undefined && {
      dpop_signing_alg_values_supported: dpop.algorithms,
      dpop_bound_access_tokens_required: dpop.required,
    }),
  };
}

// Puts an authenticator in front of an HTTP endpoint that knows a request by path and query and its sender by one text.

/** A request as the endpoint hands it to its `authenticate` hook. */
export interface RequestHead {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** What follows the question mark; empty without one. */
  readonly query: string;
  /** As in `AuthRequest`. */
  header(name: string): string | undefined;
}

/** What the endpoint answers instead of serving the request. */
export interface GateRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** `authenticate` for an endpoint of your own, and what is known of a request that it let in. */
export interface RequestGate {
  /** The endpoint's hook: the principal, or a refusal. DPoP needs its option `origin` here, since a head has no host. */
  readonly authenticate: (head: RequestHead) => Promise<string | GateRefusal>;
  /** How the request with this very head was admitted: scopes, expiry, and headers its answer should carry. */
  admissionOf(head: object): Admission | undefined;
}

/** An authenticator as the option `authenticate` of other HTTP servers: a name, or a refusal with its challenge. */
export function requestGate(authenticator: Authenticator): RequestGate {
  const admissions = new WeakMap<object, Admission>();
  return {
    async authenticate(head) {
      const outcome = await authenticator.authenticate(authRequest(head));
      checkVerdict("authenticate", outcome);
      if (outcome.ok) {
        admissions.set(head, outcome);
        return outcome.identity.principal;
      }
      return gateRefusal(outcome);
    },
    admissionOf: (head) => admissions.get(head),
  };
}

/** A refusal as an endpoint answers it. */
export function gateRefusal({ status, challenge, headers, message }: Refusal): GateRefusal {
  const all: Record<string, string> = { "cache-control": "no-store", ...headers };
  // One of somebody's own may have left it out.
  if ((challenge ?? "") !== "") all["www-authenticate"] = challenge;
  return { status, headers: all, text: message };
}

/** The head of a request as authenticators want it. */
export function authRequest(head: RequestHead): AuthRequest {
  const url = head.query === "" ? head.path : `${head.path}?${head.query}`;
  return { method: head.method, url, header: (name) => head.header(name) };
}

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
  if (!Array.isArray((Object(resource) as Partial<ProtectedResource>).paths)) {
    const what = "wellKnown(resource, options) takes what protectedResource({ resource, authorizationServers }) gives";
    throw new LocalError("BAD_OPTIONS", `${what}, not ${typeof resource === "string" ? "a URL" : typeof resource}`);
  }
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
