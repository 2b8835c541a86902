// The public surface of what authorization needs of Node: a browser, a file for tokens, a fetch that keeps off private addresses.
export type { FileLockOptions } from "../node/token-file.js";
export type { CredentialStore } from "./auth-client.js";
export { guardedFetch, type GuardedFetchOptions } from "../node/guarded-fetch.js";
export { openBrowser, type OpenBrowserOptions } from "../node/user-authorization.js";
export { tokenFile } from "../node/token-file.js";
export { userAuthorization, type UserAuthorizationOptions } from "../node/user-authorization.js";
export {
  browserRedirect,
  type BrowserRedirectOptions,
  pastedRedirect,
  type PastedRedirectOptions,
} from "../node/user-authorization.js";
