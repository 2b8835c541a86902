// Sends the user to the authorization server and checks the answer before anything of it is used (RFC 6749 §4.1, 7636, 8707, 9207).
import { LocalError } from "../../jsonrpc/local-error.js";
import { toBase64url } from "../base64url.js";
import { sha256 } from "./dpop-prover.js";
import { shown } from "./reach.js";
import type { ServerMetadata } from "./server-metadata.js";
import { errorCode, errorDescription } from "./token-endpoint.js";

export interface AuthorizationAsk {
  readonly server: ServerMetadata;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly resource: string;
  /** Empty: none is asked for. */
  readonly scopes: readonly string[];
}

export interface AuthorizationRequest {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
}

/** Bits of PKCE verifiers and states. */
const SECRET_BYTES = 32;

/** Throws `AUTH_PKCE` at servers that do not promise to check the proof: a stolen code would be enough for them. */
export async function authorizationRequest(ask: AuthorizationAsk): Promise<AuthorizationRequest> {
  const { server, clientId, redirectUri, resource, scopes } = ask;
  checkPkce(server);
  const verifier = randomText();
  const state = randomText();
  const url = new URL(endpointOf(server));
  const params: Record<string, string> = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await sha256(verifier),
    code_challenge_method: "S256",
    resource,
  };
  if (scopes.length > 0) params["scope"] = scopes.join(" ");
  // OpenID Connect Core §11: offline access is given only where the user is asked.
  if (scopes.includes("offline_access")) params["prompt"] = "consent";
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return { url: url.href, verifier, state };
}

/**
 * The code in the URL the user came back to, or in its query alone. Throws `AUTH_STATE` for an answer to another request,
 * `AUTH_ISSUER` for one of another server, `AUTH_DENIED` for a refusal; a refusal nobody vouches for is not repeated.
 */
export function readAnswer(answer: string, ask: AuthorizationAsk, request: AuthorizationRequest): string {
  const params = answerParams(answer.trim(), ask.redirectUri);
  const once = (name: string): string | undefined => {
    const values = params.getAll(name);
    if (values.length > 1) throw new LocalError("AUTH_STATE", `The authorization answer has ${name} more than once`);
    return values[0];
  };
  if (once("state") !== request.state) {
    throw new LocalError(
      "AUTH_STATE",
      "The authorization answer does not belong to the request that was made (state differs): it was not used, start again",
    );
  }
  checkIssuer(once("iss"), ask.server);
  const error = once("error");
  if (error !== undefined) {
    const words = errorCode(error) + errorDescription(once("error_description"), [request.state, request.verifier]);
    throw new LocalError("AUTH_DENIED", `The authorization server ${shown(ask.server.issuer)} refused: ${words}`);
  }
  const code = once("code");
  if (code !== undefined && code !== "") return code;
  throw new LocalError("AUTH_DENIED", "The authorization answer has no code");
}

function checkPkce({ issuer, codeChallengeMethods }: ServerMetadata): void {
  if (codeChallengeMethods?.includes("S256") === true) return;
  const offer = codeChallengeMethods === undefined ? "does not say that it" : "does not list S256 when it says how it";
  throw new LocalError(
    "AUTH_PKCE",
    `The authorization server ${shown(issuer)} ${offer} checks PKCE (code_challenge_methods_supported): no authorization was asked for. Its operator must enable S256`,
  );
}

function endpointOf({ authorizationEndpoint, issuer }: ServerMetadata): string {
  if (authorizationEndpoint !== undefined) return authorizationEndpoint;
  throw new LocalError("AUTH_DISCOVERY", `The authorization server ${shown(issuer)} has no authorization_endpoint`);
}

/** RFC 9207 §2.4, without any normalisation. */
function checkIssuer(iss: string | undefined, { issuer, namesItself }: ServerMetadata): void {
  if (iss === issuer || (iss === undefined && !namesItself)) return;
  throw new LocalError(
    "AUTH_ISSUER",
    iss === undefined
      ? `The authorization answer does not name its issuer, though ${shown(issuer)} promises to: it was not used`
      : `The authorization answer is of ${shown(iss)}, not of ${shown(issuer)}: it was not used`,
  );
}

function answerParams(answer: string, redirectUri: string): URLSearchParams {
  if (!URL.canParse(answer)) {
    if (/^\??(?:code|state|iss|error)=/.test(answer)) return new URLSearchParams(answer.replace(/^\?/, ""));
    throw new LocalError("AUTH_STATE", "What came back is no redirect: give the whole address the browser ended at");
  }
  const url = new URL(answer);
  const expected = new URL(redirectUri);
  if (url.protocol === expected.protocol && url.host === expected.host && url.pathname === expected.pathname) {
    return url.searchParams;
  }
  throw new LocalError("AUTH_STATE", `The authorization answer went to another place than ${redirectUri}`);
}

function randomText(): string {
  return toBase64url(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
}
