// Authorizes requests in the name of the user at this machine, with what a program on Node usually wants.
import type { AuthorizationCodeOptions } from "../auth/client/authorization-code.js";
import { oauth } from "../auth/client/oauth.js";
import type { Redirect } from "../auth/client/redirect.js";
import type { AuthorizerOptions, TokenAuthorizer } from "../auth/client/token-authorizer.js";
import { guardedFetch } from "./guarded-fetch.js";
import { tokenFile } from "./token-file.js";
import { browserRedirect } from "./user-redirect.js";

export interface UserAuthorizationOptions extends AuthorizerOptions, Omit<AuthorizationCodeOptions, "redirect"> {
  /** Where tokens are kept between runs: see `tokenFile`. Default: `store`, or nowhere. */
  readonly file?: string;
  /** Default: `browserRedirect()`. */
  readonly redirect?: Redirect;
}

/** `oauth` with `guardedFetch`, a `tokenFile` and the browser. Throws RangeError for options that can lead nowhere. */
export function userAuthorization(options: UserAuthorizationOptions): TokenAuthorizer {
  const { serverUrl, allowHosts = [], preRegistered, file, redirect = browserRedirect() } = options;
  const trusted = preRegistered === undefined ? [serverUrl] : [serverUrl, preRegistered.issuer];
  const store = file === undefined ? {} : { store: tokenFile(file) };
  return oauth({ fetch: guardedFetch({ trusted, allowHosts }), ...store, ...options, redirect });
}
