// Authorizes requests in the name of a user.
import { AuthorizationCode, type AuthorizationCodeOptions } from "./authorization-code.js";
import { checkClientMetadataUrl } from "./registration.js";
import { type AuthorizerOptions, type TokenAuthorizer, tokenAuthorizer } from "./token-authorizer.js";

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
