// Tells a program where a server's tokens come from, without asking for any.
import { AuthHttp } from "./auth-http.js";
import { type AuthorizationPlace, discoverPlace } from "./discovery.js";
import { Reach } from "./reach.js";
import type { AuthorizerOptions } from "./token-authorizer.js";

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
