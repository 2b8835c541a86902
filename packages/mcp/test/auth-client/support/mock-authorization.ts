// An authorization server and a protected MCP server for tests, on one or two origins, honest unless told otherwise.
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeJwt, decodeProtectedHeader, type JWK } from "jose";
import { onTestFinished } from "vitest";

export type Json = Record<string, unknown>;

/** A request as it came, body read. */
export interface Seen {
  readonly server: "as" | "rs" | "as2";
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly form: URLSearchParams;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json | string;
}

export interface MockOptions {
  /** Path of the issuer, "/tenant1". Default: none. */
  readonly tenant?: string;
  /** Where the authorization server's metadata is. Default: the first place of RFC 8414. */
  readonly metadataPath?: string | null;
  readonly metadata?: Json;
  /** Where the resource's metadata is; null: nowhere. */
  readonly prmPath?: string | null;
  readonly prm?: Json;
  /** Leaves resource_metadata out of the challenge. */
  readonly silent?: boolean;
  readonly challengeScope?: string;
  readonly scheme?: "Bearer" | "DPoP";
  /** Both servers at one origin, with the endpoints below a prefix. */
  readonly together?: string;
  /** Wants nonces in proofs. */
  readonly nonces?: boolean;
  /** Added to, or changed in, the answer of the authorization endpoint; null leaves one out. */
  readonly callback?: Record<string, string | null>;
  /** Scopes that a call needs, beside a token. */
  readonly needs?: (method: string) => string | undefined;
  readonly tokenAnswer?: (seen: Seen) => Answer | undefined;
  readonly lifeSeconds?: number;
  /** Answers before anything else does. */
  readonly intercept?: (seen: Seen) => Answer | undefined;
}

export interface Grant {
  readonly clientId: string;
  readonly challenge: string;
  readonly redirectUri: string;
  readonly resource: string | null;
  readonly scope: string | null;
}

export interface Mock {
  readonly as: string;
  readonly rs: string;
  readonly serverUrl: string;
  readonly issuer: string;
  readonly seen: Seen[];
  /** Requests to a path, in order. */
  to(path: string): Seen[];
  /** Tokens that the MCP server takes, with their scopes and what they are bound to. */
  readonly tokens: Map<string, { readonly scope: string; readonly jkt?: string }>;
  /** Refresh tokens not used yet, with their scopes. */
  readonly refreshTokens: Map<string, string>;
  /** Clients that registered themselves. */
  readonly clients: Map<string, Json>;
  options: MockOptions;
}

const AS = "/.well-known/oauth-authorization-server";
const OLD_ENDPOINTS = new Set(["/authorize", "/token", "/register"]);
const PRM = "/.well-known/oauth-protected-resource";

/** What is sent for a request. */
export interface Sent {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/** Puts a server where it can be asked until the test ends, and gives its origin. */
export type Listen = (answer: (seen: Seen) => Sent, name: Seen["server"]) => Promise<string>;

/** Started on ports of the system's choice, closed with the test. */
export async function mockAuthorization(options: MockOptions = {}, listen: Listen = onPort): Promise<Mock> {
  const mock: { -readonly [K in keyof Mock]: Mock[K] } = {
    as: "",
    rs: "",
    serverUrl: "",
    issuer: "",
    seen: [],
    to: (path) => mock.seen.filter((one) => one.path === path),
    tokens: new Map(),
    refreshTokens: new Map(),
    clients: new Map(),
    options,
  };
  const codes = new Map<string, Grant>();
  const authorizationServer = (seen: Seen): Answer => authorize(mock, seen, codes);
  const resourceServerOf = (seen: Seen): Answer => resourceServer(mock, seen);
  const together = options.together;
  const isOwn = (path: string): boolean =>
    path === AS || (together === "" ? OLD_ENDPOINTS.has(path) : path.startsWith(`${together}/`));
  const own = together === undefined ? () => false : isOwn;
  const noting = (answer: (seen: Seen) => Answer) => (seen: Seen) => {
    mock.seen.push(seen);
    return sentOf(mock.options.intercept?.(seen) ?? answer(seen));
  };
  mock.rs = await listen(
    noting((seen) => (own(seen.path) ? authorizationServer : resourceServerOf)(seen)),
    "rs",
  );
  mock.as = options.together === undefined ? await listen(noting(authorizationServer), "as") : mock.rs;
  mock.issuer = mock.as + (options.tenant ?? "");
  mock.serverUrl = `${mock.rs}/mcp`;
  return mock;
}

const onPort: Listen = async (answer, name) => {
  const server: Server = createServer((request, response) => {
    void readAll(request, name).then((seen) => {
      const { status, headers, text } = answer(seen);
      response.writeHead(status, headers).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

async function readAll(request: IncomingMessage, server: Seen["server"]): Promise<Seen> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk as string;
  const { method = "", url = "/" } = request;
  return seenOf(server, { method, url, headers: request.headers as Record<string, string>, text });
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export function seenOf(server: Seen["server"], { method, url, headers, text }: Asked): Seen {
  const { pathname: path, searchParams: query } = new URL(url, "http://mock");
  return { server, method, path, query, headers, text, form: new URLSearchParams(text) };
}

function sentOf({ status, headers, body }: Answer): Sent {
  const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
  return { status, headers: { "content-type": "application/json", ...headers }, text };
}

function metadataOf(mock: Mock): Json {
  const base = mock.as + (mock.options.together ?? "");
  return {
    issuer: mock.issuer,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    registration_endpoint: `${base}/register`,
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
    ...(mock.options.scheme === "DPoP" || mock.options.nonces ? { dpop_signing_alg_values_supported: ["ES256"] } : {}),
    ...mock.options.metadata,
  };
}

function authorize(mock: Mock, seen: Seen, codes: Map<string, Grant>): Answer {
  const { tenant = "", metadataPath = AS + tenant, together = "" } = mock.options;
  if (seen.path === metadataPath) return { status: 200, body: metadataOf(mock) };
  if (seen.path === `${together}/register`) return register(mock, seen);
  if (seen.path === `${together}/authorize`) return giveCode(mock, seen, codes);
  if (seen.path === `${together}/token`) return giveToken(mock, seen, codes);
  return { status: 404 };
}

function register(mock: Mock, { text }: Seen): Answer {
  const asked = JSON.parse(text) as Json;
  const client: Json = { ...asked, client_id: `client-${randomUUID()}` };
  if (asked["token_endpoint_auth_method"] !== "none") client["client_secret"] = `s%cret+${randomUUID()}`;
  mock.clients.set(client["client_id"] as string, client);
  return { status: 201, body: client };
}

function giveCode(mock: Mock, { query }: Seen, codes: Map<string, Grant>): Answer {
  const code = randomUUID();
  codes.set(code, {
    clientId: query.get("client_id") ?? "",
    challenge: query.get("code_challenge") ?? "",
    redirectUri: query.get("redirect_uri") ?? "",
    resource: query.get("resource"),
    scope: query.get("scope"),
  });
  const url = new URL(query.get("redirect_uri") ?? "");
  const state = query.get("state") ?? "";
  const iss = metadataOf(mock)["authorization_response_iss_parameter_supported"] === true ? mock.issuer : null;
  for (const [name, value] of Object.entries({ code, state, iss, ...mock.options.callback })) {
    if (value !== null) url.searchParams.set(name, value);
  }
  return { status: 302, headers: { location: url.href } };
}

function giveToken(mock: Mock, seen: Seen, codes: Map<string, Grant>): Answer {
  const { form, headers } = seen;
  const proof = headers["dpop"];
  if (mock.options.nonces === true && (proof === undefined || decodeJwt(proof)["nonce"] !== "as-nonce")) {
    return { status: 400, headers: { "dpop-nonce": "as-nonce" }, body: { error: "use_dpop_nonce" } };
  }
  const special = mock.options.tokenAnswer?.(seen);
  if (special !== undefined) return special;
  const asked = grantOf(mock, form, codes);
  if (asked === undefined) return { status: 400, body: { error: "invalid_grant", error_description: "no such grant" } };
  const accessToken = `access-${randomUUID()}`;
  const refreshToken = `refresh-${randomUUID()}`;
  mock.tokens.set(accessToken, { scope: asked.scope, ...(proof === undefined ? {} : { jkt: keyOf(proof) }) });
  mock.refreshTokens.set(refreshToken, asked.scope);
  const type = proof === undefined ? "Bearer" : "DPoP";
  const expiry = mock.options.lifeSeconds === undefined ? {} : { expires_in: mock.options.lifeSeconds };
  const body = {
    access_token: accessToken,
    token_type: type,
    refresh_token: refreshToken,
    scope: asked.scope,
    ...expiry,
  };
  return { status: 200, body };
}

function grantOf(mock: Mock, form: URLSearchParams, codes: Map<string, Grant>): { scope: string } | undefined {
  const scope = form.get("scope") ?? "";
  switch (form.get("grant_type")) {
    case "authorization_code": {
      const grant = codes.get(form.get("code") ?? "");
      codes.delete(form.get("code") ?? "");
      const verified = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      const good = grant?.challenge === verified && grant.redirectUri === form.get("redirect_uri");
      return good && grant.resource === form.get("resource") ? { scope: grant.scope ?? "" } : undefined;
    }
    case "refresh_token": {
      const kept = mock.refreshTokens.get(form.get("refresh_token") ?? "");
      mock.refreshTokens.delete(form.get("refresh_token") ?? "");
      return kept === undefined ? undefined : { scope: kept };
    }
    default:
      return { scope };
  }
}

/** Thumbprint of the key of a proof (RFC 7638). */
function keyOf(proof: string): string {
  const { crv, kty, x, y } = decodeProtectedHeader(proof).jwk as JWK;
  return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

function resourceServer(mock: Mock, seen: Seen): Answer {
  const { prmPath = `${PRM}/mcp`, prm } = mock.options;
  if (seen.path === prmPath) {
    return { status: 200, body: { resource: mock.serverUrl, authorization_servers: [mock.issuer], ...prm } };
  }
  if (seen.path !== "/mcp") return { status: 404 };
  return protect(mock, seen) ?? { status: 200, body: { jsonrpc: "2.0", id: 1, result: {} } };
}

function protect(mock: Mock, seen: Seen): Answer | undefined {
  const { scheme = "Bearer", challengeScope, needs, nonces } = mock.options;
  const [used, sent = ""] = (seen.headers["authorization"] ?? "").split(" ");
  const held = mock.tokens.get(sent);
  const wrong = used !== scheme || held === undefined;
  if (wrong) return challenge(mock, 401, challengeScope === undefined ? [] : [`scope="${challengeScope}"`]);
  if (scheme === "DPoP") {
    const proof = seen.headers["dpop"] ?? "";
    if (keyOf(proof) !== held.jkt) return challenge(mock, 401, ['error="invalid_dpop_proof"']);
    if (nonces === true && decodeJwt(proof)["nonce"] !== "rs-nonce") {
      const refused = challenge(mock, 401, ['error="use_dpop_nonce"']);
      return { ...refused, headers: { ...refused.headers, "dpop-nonce": "rs-nonce" } };
    }
  }
  const missing = needs?.((JSON.parse(seen.text || "{}") as { method?: string }).method ?? "");
  if (missing === undefined || held.scope.split(" ").includes(missing)) return undefined;
  return challenge(mock, 403, ['error="insufficient_scope"', `scope="${missing}"`]);
}

function challenge(mock: Mock, status: number, more: readonly string[]): Answer {
  const { silent, scheme = "Bearer", prmPath = `${PRM}/mcp` } = mock.options;
  const where = silent === true || prmPath === null ? [] : [`resource_metadata="${mock.rs}${prmPath}"`];
  return { status, headers: { "www-authenticate": `${scheme} realm="mock", ${[...where, ...more].join(", ")}` } };
}
