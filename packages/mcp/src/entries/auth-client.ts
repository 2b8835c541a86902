// The public surface of authorization for clients: how requests to a protected server get their tokens.
export type { AuthorizationCodeOptions } from "../auth/client/authorization-code.js";
export type { AuthorizationPlace } from "../auth/client/discovery.js";
export {
  clientCredentials,
  type ClientCredentialsOptions,
  type ClientKeyOptions,
  type ClientSecretOptions,
  enterpriseManaged,
  type EnterpriseManagedOptions,
  type IdentityProvider,
  workloadIdentity,
  type WorkloadIdentityOptions,
} from "../auth/client/machine-grants.js";
export type { SigningKey, TokenAuthMethod } from "../auth/client/client-identity.js";
export {
  type Credentials,
  type CredentialStore,
  type HeldCredentials,
  memoryStore,
  type StoredClient,
  type StoredTokens,
} from "../auth/client/credential-store.js";
export {
  discoverAuthorization,
  type DiscoverOptions,
  oauth,
  type OAuthOptions,
  headlessRedirect,
  type OpenRedirect,
  type Redirect,
  redirectTo,
} from "../auth/client/authorization-code.js";
export type { PreRegistered, ClientRegistration } from "../auth/client/registration.js";
export type { DpopUse } from "../auth/client/token-authorizer.js";
export type { ServerMetadata } from "../auth/client/discovery.js";
export type { AuthorizerOptions, TokenAuthorizer } from "../auth/client/token-authorizer.js";
export type { FetchLike } from "../auth/fetch-json.js";
export type { AuthorizedRequest, AuthorizedResponse, HttpAuthorizer } from "../jsonrpc/transport.js";
export { LocalError } from "../jsonrpc/errors.js";
