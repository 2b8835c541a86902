// How a user is taken to an authorization server and how its answer comes back.
import { LocalError } from "../../jsonrpc/local-error.js";
import type { FetchLike } from "../fetch-json.js";
import { shown } from "./reach.js";

/** A way for one authorization, from the moment its redirect URI is known. */
export interface OpenRedirect {
  /** Sent to the authorization server, and registered there. */
  readonly uri: string;
  /**
   * Shows the URL to the user and resolves to the URL that the authorization server sent them back to. The caller checks
   * whose answer it is. Rejects with a LocalError: `TIMEOUT`, `CANCELLED`.
   */
  authorize(url: string): Promise<string>;
  close(): Promise<void>;
}

export interface Redirect {
  /** `preferred`: the redirect URI registered before; another one means another registration. */
  open(preferred?: string): Promise<OpenRedirect>;
}

/** A fixed redirect URI, and a function that takes the user to a URL and brings back the one they returned to. */
export function redirectTo(uri: string, authorize: (url: string) => Promise<string>): Redirect {
  const open: OpenRedirect = { uri, authorize, close: () => Promise.resolve() };
  return { open: () => Promise.resolve(open) };
}

/**
 * For authorization servers that need no user: asks for the URL itself and takes the answer from the redirect's
 * `Location`, which is not followed. Default of `uri`: "http://localhost:3000/callback", where nobody has to listen.
 */
export function headlessRedirect(options: { readonly uri?: string; readonly fetch?: FetchLike } = {}): Redirect {
  const { uri = "http://localhost:3000/callback", fetch = globalThis.fetch } = options;
  return redirectTo(uri, async (url) => {
    const response = await fetch(url, { method: "GET", redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (location !== null && URL.canParse(location, url)) return new URL(location, url).href;
    throw new LocalError(
      "AUTH_DENIED",
      `The authorization server ${shown(new URL(url).origin)} answered with status ${response.status} and no redirect: it wants a user, use a browser`,
    );
  });
}

/** Longest wait for the redirect of a server that needs no user. */
const TIMEOUT_MS = 10_000;
