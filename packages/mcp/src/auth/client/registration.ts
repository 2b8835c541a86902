// Gets the client an identity at an authorization server: registered before, by the URL of its document, or dynamically.
import { LocalError } from "../../jsonrpc/errors.js";
import { type AuthHttp, isLoopbackHost, shown } from "./auth-http.js";
import { chooseMethod, type TokenAuthMethod } from "./client-identity.js";
import type { StoredClient } from "./credential-store.js";
import type { ServerMetadata } from "./discovery.js";
import { errorCode, errorDescription } from "./token-endpoint.js";

/** A client that an operator registered by hand, at one authorization server. */
export interface PreRegistered {
  /** The only authorization server these credentials are shown to, exactly as it spells itself. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
}

/** Who the client is at an authorization server: registered by itself, by a metadata document, or beforehand. */
export interface ClientRegistration {
  readonly clientName: string;
  readonly clientUri?: string | undefined;
  /** https URL, with a path, of the client's metadata document. */
  readonly clientMetadataUrl?: string | undefined;
  readonly preRegistered?: PreRegistered | undefined;
}

const SECRET_METHODS: readonly TokenAuthMethod[] = ["client_secret_basic", "client_secret_post"];
/** A program on the user's machine cannot keep a secret: it asks for none where it may. */
const DYNAMIC_METHODS: readonly TokenAuthMethod[] = ["none", ...SECRET_METHODS];
const TEXT = /^[\x20-\x7e]{1,4096}$/;

/** Throws RangeError for a document's URL that no authorization server would take. */
export function checkClientMetadataUrl(text: string | undefined): void {
  if (text === undefined) return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const good = url?.protocol === "https:" && url.pathname !== "/" && url.hash === "" && url.username === "";
  if (!good) throw new RangeError(`clientMetadataUrl ${shown(text)} must be an https URL with a path`);
}

/** The client to be at `server`. `kept` is what this server gave us before. Rejects with `AUTH_REGISTRATION` or `AUTH_ISSUER`. */
export async function identifyClient(
  http: AuthHttp,
  server: ServerMetadata,
  ask: ClientRegistration & {
    readonly redirectUri: string;
    readonly kept: StoredClient | undefined;
    readonly now: number;
  },
): Promise<StoredClient> {
  const { preRegistered, clientMetadataUrl, kept, redirectUri } = ask;
  if (preRegistered !== undefined) return registeredBefore(server, preRegistered);
  if (clientMetadataUrl !== undefined && server.takesClientUrls) return { clientId: clientMetadataUrl, method: "none" };
  const usable = kept?.redirectUri === redirectUri && (kept.expiresAt === undefined || kept.expiresAt > ask.now);
  if (usable) return kept;
  if (server.registrationEndpoint !== undefined) return register(http, server, ask);
  throw new LocalError(
    "AUTH_REGISTRATION",
    `The authorization server ${shown(server.issuer)} registers no clients by itself: register one there with the redirect URI ${redirectUri} and give it as preRegistered`,
  );
}

export function registeredBefore(server: ServerMetadata, client: PreRegistered): StoredClient {
  if (client.issuer !== server.issuer) {
    throw new LocalError(
      "AUTH_ISSUER",
      `The client ${shown(client.clientId)} is registered at ${shown(client.issuer)}, but the server wants tokens of ${shown(server.issuer)}; nothing was sent there. If the server has moved, register a client at the new one`,
    );
  }
  const { clientId, clientSecret } = client;
  if (clientSecret === undefined) return { clientId, method: "none" };
  return { clientId, clientSecret, method: chooseMethod(server.tokenAuthMethods, SECRET_METHODS) };
}

async function register(
  http: AuthHttp,
  server: ServerMetadata,
  ask: ClientRegistration & { readonly redirectUri: string },
): Promise<StoredClient> {
  const { clientName, clientUri, redirectUri } = ask;
  const method = chooseMethod(server.tokenAuthMethods, DYNAMIC_METHODS);
  const request = {
    client_name: clientName,
    ...(clientUri === undefined ? {} : { client_uri: clientUri }),
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: method,
    application_type: applicationType(redirectUri),
  };
  const what = "The registration endpoint";
  const endpoint = server.registrationEndpoint as string;
  const { status, json } = await http.post(endpoint, { what, body: JSON.stringify(request), type: "json" });
  if ((status === 201 || status === 200) && json !== undefined) return readClient(json, { redirectUri, method });
  const words = errorCode(json?.["error"]) + errorDescription(json?.["error_description"], []);
  throw new LocalError(
    "AUTH_REGISTRATION",
    `${what} ${shown(endpoint)} refused the client with status ${status}, ${words}. Register one by hand and give it as preRegistered`,
  );
}

function readClient(
  json: Readonly<Record<string, unknown>>,
  asked: { readonly redirectUri: string; readonly method: TokenAuthMethod },
): StoredClient {
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: expiry } = json;
  const clientSecret = typeof secret === "string" && secret !== "" ? secret : undefined;
  const named = json["token_endpoint_auth_method"];
  const known = DYNAMIC_METHODS.find((one) => one === named);
  const method = known ?? (named === undefined ? asked.method : undefined);
  const good =
    typeof clientId === "string" && TEXT.test(clientId) && (clientSecret === undefined || TEXT.test(clientSecret));
  if (!good || method === undefined) {
    throw new LocalError("AUTH_REGISTRATION", "The authorization server registered the client in a way it cannot use");
  }
  return {
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    method: clientSecret === undefined ? "none" : method,
    redirectUri: asked.redirectUri,
    ...(typeof expiry === "number" && expiry > 0 ? { expiresAt: expiry * 1000 } : {}),
  };
}

/** Programs on the user's own machine are "native": their redirects go to it, or to a scheme of their own. */
function applicationType(redirectUri: string): "native" | "web" {
  const url = new URL(redirectUri);
  return url.protocol === "https:" && !isLoopbackHost(url.hostname) ? "web" : "native";
}
