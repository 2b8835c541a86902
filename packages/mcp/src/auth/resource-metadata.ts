// Describes this server as a protected resource, so that clients find out where to get tokens (RFC 9728).
import { checkServerUrl } from "./fetch-json.js";
import { checkScopeNames } from "./scopes.js";
import type { Admission, Authenticator, AuthRequest, Refusal } from "./authenticator.js";

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
  const { resource, authorizationServers } = options;
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
  if (challenge !== "") all["www-authenticate"] = challenge;
  return { status, headers: all, text: message };
}

/** The head of a request as authenticators want it. */
export function authRequest(head: RequestHead): AuthRequest {
  const url = head.query === "" ? head.path : `${head.path}?${head.query}`;
  return { method: head.method, url, header: (name) => head.header(name) };
}
