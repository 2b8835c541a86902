// Finds out where a server's tokens come from: its own metadata (RFC 9728), then the authorization server's (RFC 8414, OpenID).
import { LocalError } from "../../jsonrpc/errors.js";
import { type AuthHttp, type AuthReply, type Reach, shown } from "./auth-http.js";

interface DiscoveryRequest {
  readonly serverUrl: string;
  /** Where a challenge said the resource's metadata is. */
  readonly resourceMetadata?: string | undefined;
  /** Issuers to prefer where the server names several, best first. */
  readonly prefer?: readonly string[];
}

/** Where tokens for a server come from. */
export interface AuthorizationPlace {
  /** Identifier of the resource, byte for byte as its metadata spells it. */
  readonly resource: string;
  readonly server: ServerMetadata;
  /** Scopes the resource's metadata lists. */
  readonly scopes: readonly string[] | undefined;
  /** Whether the resource takes tokens bound to a key only. */
  readonly dpopOnly: boolean;
  /** False for a server without metadata of its own, which is then its own authorization server. */
  readonly published: boolean;
}

type Document = Readonly<Record<string, unknown>>;

/** Rejects with `AUTH_DISCOVERY`, `AUTH_RESOURCE` (metadata of another resource) or `AUTH_ISSUER` (of another issuer). */
export async function discoverPlace(http: AuthHttp, request: DiscoveryRequest): Promise<AuthorizationPlace> {
  const found = await resourceDocument(http, request);
  if (found === undefined) return ownServer(http, request.serverUrl);
  const resource = found["resource"];
  checkResource(resource, request.serverUrl);
  const issuers = stringList(found["authorization_servers"]) ?? [];
  const issuer = request.prefer?.find((one) => issuers.includes(one)) ?? issuers[0];
  if (issuer === undefined) {
    throw stopped(`the metadata of ${shown(resource)} names no authorization server; its operator must add one`);
  }
  return {
    resource,
    server: await fetchServer(http, issuer),
    scopes: stringList(found["scopes_supported"]),
    dpopOnly: found["dpop_bound_access_tokens_required"] === true,
    published: true,
  };
}

/** The resource's metadata, from where the challenge says or the well-known places; undefined when it publishes none. */
async function resourceDocument(http: AuthHttp, request: DiscoveryRequest): Promise<Document | undefined> {
  const what = "The metadata of the protected resource";
  if (request.resourceMetadata !== undefined) {
    http.reach.checkAt(request.serverUrl, request.resourceMetadata, what);
    const reply = await http.get(request.resourceMetadata, what);
    if (reply.status === 200 && reply.json !== undefined) return reply.json;
    throw stopped(`${what} at ${shown(request.resourceMetadata)} answers ${reply.status} without a JSON object`);
  }
  const { origin, pathname, search } = new URL(request.serverUrl);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const inserted = root + (pathname === "/" ? "" : pathname) + search;
  return firstOf(http, inserted === root ? [root] : [inserted, root], what);
}

/** A server that publishes nothing is its own authorization server, with metadata or with the endpoints of old. */
async function ownServer(http: AuthHttp, serverUrl: string): Promise<AuthorizationPlace> {
  const { origin } = new URL(serverUrl);
  const what = "The metadata of the authorization server";
  const document = await firstOf(http, [`${origin}/.well-known/oauth-authorization-server`], what);
  const rest = { resource: withoutFragment(serverUrl), scopes: undefined, dpopOnly: false, published: false };
  if (document === undefined) {
    http.reach.check(origin, "The server");
    return { ...rest, server: assumedMetadata(origin) };
  }
  const issuer = document["issuer"];
  // The identifier was made from the server's URL, which has this one slash or not.
  if (issuer !== origin && issuer !== `${origin}/`) throw otherIssuer(issuer, origin);
  return { ...rest, server: readServerMetadata(document, issuer, http.reach) };
}

/**
 * The metadata of `issuer`, in the order RFC 8414 §3.1, RFC 8414 §5, OpenID Connect Discovery §4.
 * A document that names another issuer ends it: its endpoints would get the user's secrets.
 */
async function fetchServer(http: AuthHttp, issuer: string): Promise<ServerMetadata> {
  const url = http.reach.check(issuer, "The issuer");
  if (url.search !== "") throw stopped(`the issuer ${shown(issuer)} has a query`);
  const path = url.pathname.replace(/\/$/, "");
  const places = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${url.origin}/.well-known/${name}${path}`,
  );
  if (path !== "") places.push(`${url.origin}${path}/.well-known/openid-configuration`);
  const document = await firstOf(http, places, "The metadata of the authorization server");
  if (document === undefined) {
    throw stopped(`the authorization server ${shown(issuer)} has no metadata at ${places.join(", ")}`);
  }
  if (document["issuer"] !== issuer) throw otherIssuer(document["issuer"], issuer);
  return readServerMetadata(document, issuer, http.reach);
}

/** The first document there is. A place that fails in another way than by having none ends it: nobody may force us on. */
async function firstOf(http: AuthHttp, urls: readonly string[], what: string): Promise<Document | undefined> {
  for (const url of urls) {
    const reply = await http.get(url, what);
    if (isMissing(reply)) continue;
    if (reply.status === 200) return reply.json;
    throw stopped(`${what} at ${shown(url)} answers with status ${reply.status}; try again later`);
  }
  return undefined;
}

/** Pages answered with status 200 in place of 404 are common where there is a web application. */
function isMissing({ status, json }: AuthReply): boolean {
  return (status >= 400 && status < 500 && status !== 429) || (status === 200 && json === undefined);
}

/** The resource must be the server or, in the same origin, a parent of its path. */
function checkResource(resource: unknown, serverUrl: string): asserts resource is string {
  if (typeof resource === "string" && URL.canParse(resource) && !resource.includes("#")) {
    const asked = new URL(serverUrl);
    const named = new URL(resource);
    const path = named.pathname.replace(/\/$/, "");
    const above = asked.pathname === named.pathname || asked.pathname === path || asked.pathname.startsWith(`${path}/`);
    const plain =
      named.username === "" && named.password === "" && (named.search === "" || named.search === asked.search);
    if (named.origin === asked.origin && above && plain) return;
  }
  throw new LocalError(
    "AUTH_RESOURCE",
    `Authorization stopped: the metadata is of the resource ${shown(resource)}, not of ${shown(serverUrl)}; no token was asked for`,
  );
}

function withoutFragment(url: string): string {
  return url.replace(/#.*$/s, "");
}

function otherIssuer(named: unknown, issuer: string): LocalError {
  return new LocalError(
    "AUTH_ISSUER",
    `Authorization stopped: the metadata of the issuer ${shown(issuer)} names ${shown(named)} as issuer; nothing was sent there`,
  );
}

function stopped(text: string): LocalError {
  return new LocalError("AUTH_DISCOVERY", `Authorization stopped: ${text}`);
}

// What an authorization server says about itself, as far as a client needs it (RFC 8414, RFC 9207, RFC 9449).

/** What an authorization server says of itself (RFC 8414). */
export interface ServerMetadata {
  /** Exactly as the server spells it. */
  readonly issuer: string;
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  readonly scopes: readonly string[] | undefined;
  /** Undefined where the server says nothing. */
  readonly codeChallengeMethods: readonly string[] | undefined;
  readonly tokenAuthMethods: readonly string[] | undefined;
  readonly dpopAlgorithms: readonly string[] | undefined;
  /** Whether every answer of its authorization endpoint names the issuer. */
  readonly namesItself: boolean;
  /** Whether it takes the URL of a document as a client id. */
  readonly takesClientUrls: boolean;
}

/** Longest list taken from a document, and longest entry. */
const LIST_LENGTH = 500;
const ENTRY_LENGTH = 500;

/** Throws `AUTH_DISCOVERY` for endpoints that must not be used: see `Reach`. `issuer` has been compared before. */
function readServerMetadata(document: Readonly<Record<string, unknown>>, issuer: string, reach: Reach): ServerMetadata {
  const endpoint = (name: string): string | undefined =>
    document[name] === undefined
      ? undefined
      : reach.checkAt(issuer, document[name], `${name} of the authorization server ${shown(issuer)}`) &&
        (document[name] as string);
  const tokenEndpoint = endpoint("token_endpoint");
  if (tokenEndpoint === undefined) {
    throw new LocalError(
      "AUTH_DISCOVERY",
      `Authorization stopped: the metadata of ${shown(issuer)} has no token_endpoint`,
    );
  }
  return {
    issuer,
    authorizationEndpoint: endpoint("authorization_endpoint"),
    tokenEndpoint,
    registrationEndpoint: endpoint("registration_endpoint"),
    scopes: stringList(document["scopes_supported"]),
    codeChallengeMethods: stringList(document["code_challenge_methods_supported"]),
    tokenAuthMethods: stringList(document["token_endpoint_auth_methods_supported"]),
    dpopAlgorithms: stringList(document["dpop_signing_alg_values_supported"]),
    namesItself: document["authorization_response_iss_parameter_supported"] === true,
    takesClientUrls: document["client_id_metadata_document_supported"] === true,
  };
}

/** The endpoints a server of 2025-03 has that publishes nothing about itself. */
function assumedMetadata(origin: string): ServerMetadata {
  return {
    issuer: origin,
    authorizationEndpoint: `${origin}/authorize`,
    tokenEndpoint: `${origin}/token`,
    registrationEndpoint: `${origin}/register`,
    scopes: undefined,
    // PKCE was demanded of every such server, with no place to say so.
    codeChallengeMethods: ["S256"],
    tokenAuthMethods: undefined,
    dpopAlgorithms: undefined,
    namesItself: false,
    takesClientUrls: false,
  };
}

/** The strings of a list; undefined for anything else. */
export function stringList(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > LIST_LENGTH) return undefined;
  const texts = value.filter((one) => typeof one === "string");
  return texts.length === value.length && texts.every((one) => one.length <= ENTRY_LENGTH) ? texts : undefined;
}
