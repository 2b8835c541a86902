// The two doors to a server's tokens: `oauth` gets them in the name of a user, `discoverAuthorization` only tells
// where they come from.

import { AuthorizationCode, type AuthorizationCodeOptions } from "./authorization-code.js";
import { checkClientMetadataUrl } from "./registration.js";
import { type AuthorizerOptions, type TokenAuthorizer, tokenAuthorizer } from "./token-authorizer.js";
import { AuthHttp, Reach } from "./auth-http.js";
import { type AuthorizationPlace, discoverPlace } from "./discovery.js";

/** Where to look for the authorization server of a resource, and within which bounds. */
export interface DiscoverOptions extends Pick<AuthorizerOptions, "serverUrl" | "fetch" | "allowHosts" | "timeoutMs"> {
  /** Where a challenge said the resource's metadata is. Default: the well-known places. */
  readonly resourceMetadata?: string;
}

/** Rejects with a LocalError of code `AUTH_DISCOVERY`, `AUTH_RESOURCE` or `AUTH_ISSUER`. */
export function discoverAuthorization(options: DiscoverOptions): Promise<AuthorizationPlace> {
  const serverUrl = String(options.serverUrl);
  const reach = new Reach([serverUrl], options.allowHosts);
  const http = new AuthHttp(options.fetch ?? globalThis.fetch, reach, options.timeoutMs);
  return discoverPlace(http, { serverUrl, resourceMetadata: options.resourceMetadata });
}

/** Options of `oauth`: the server, the user's consent, and where tokens are kept. */
export interface OAuthOptions extends AuthorizerOptions, AuthorizationCodeOptions {}

/**
 * The authorization code flow with PKCE. Who the client is: `preRegistered`, else `clientMetadataUrl` where the
 * authorization server takes such, else it registers itself. Throws RangeError for options that can lead nowhere.
 */
export function oauth(options: OAuthOptions): TokenAuthorizer {
  checkClientMetadataUrl(options.clientMetadataUrl);
  const { preRegistered } = options;
  return tokenAuthorizer(
    new AuthorizationCode(options),
    options,
    preRegistered === undefined ? [] : [preRegistered.issuer],
  );
}
