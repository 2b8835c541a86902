// The public surface of authorization: who may call a server over HTTP.
export type { Admission, Authenticator, AuthOutcome, AuthRequest, Refusal } from "./types.js";
export type { Claims, JsonWebKeySet } from "../auth/access-tokens.js";
export { type DpopOptions, type DpopVerifier, dpopVerifier, type ProofOutcome } from "../auth/dpop.js";
export type { NonceSource } from "../auth/dpop.js";
export type { FetchLike, FetchOptions } from "../auth/fetch-json.js";
export {
  introspectionAuthenticator,
  type IntrospectionOptions,
  jwtAuthenticator,
  type JwtOptions,
} from "../auth/access-tokens.js";
export { refusalReply, type RefusalReason, type RefusalReply, type Scheme } from "../auth/authenticator.js";
export { memoryReplayStore, type ReplayStore, type ReplayVerdict } from "../auth/dpop.js";
export { type GateRefusal, requestGate, type RequestGate, type RequestHead } from "../auth/resource-metadata.js";
export {
  type ProtectedResource,
  protectedResource,
  type ProtectedResourceMetadata,
  type ResourceOptions,
} from "../auth/resource-metadata.js";
export {
  requireScopes,
  type ScopeHierarchy,
  type ScopeOptions,
  type ScopeRules,
  scopeRules,
  type ScopeTable,
} from "../auth/scopes.js";
export {
  anyOf,
  type StaticToken,
  staticTokenAuthenticator,
  tokenAuthenticator,
  type TokenOptions,
  type TokenVerdict,
  type TokenVerifier,
} from "../auth/token-authenticator.js";
export type { Identity } from "../jsonrpc/transport.js";
export {
  type WellKnown,
  wellKnown,
  type WellKnownOptions,
  type WellKnownPage,
  type WellKnownReply,
} from "../auth/resource-metadata.js";
