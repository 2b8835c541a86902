// Takes the user to the authorization server by their browser, or by an address they open and an answer they paste.
import type { OpenRedirect, Redirect } from "../auth/client/redirect.js";
import { LocalError } from "../jsonrpc/local-error.js";
import { openBrowser } from "./open-browser.js";
import { listenForRedirect } from "./redirect-listener.js";

export interface BrowserRedirectOptions {
  /** Opens the page. Default: `openBrowser`. */
  readonly open?: (url: string) => Promise<void>;
  /** Told of the URL when no browser can be opened, so that the user can open it. Default: the authorization fails then. */
  readonly show?: (url: string) => void;
  /** Longest wait for the user, in milliseconds. Default: 5 minutes. */
  readonly timeoutMs?: number;
  /** Path of the redirect URI. Default: "/callback". */
  readonly path?: string;
}

export interface PastedRedirectOptions {
  /** Shows the user the URL to open anywhere. */
  readonly show: (url: string) => void;
  /** What the user pastes: the address their browser ended at, or its query. */
  readonly read: () => Promise<string>;
  /** Where the browser ends, though nobody listens. Default: "http://127.0.0.1:33418/callback". */
  readonly uri?: string;
  /** Longest wait for the user, in milliseconds. Default: 5 minutes. */
  readonly timeoutMs?: number;
}

const USER_MS = 5 * 60_000;
const PASTED_URI = "http://127.0.0.1:33418/callback";

/** For a user at this machine: listens on the loopback interface while their browser is away. */
export function browserRedirect(options: BrowserRedirectOptions = {}): Redirect {
  const { open = openBrowser, show, timeoutMs = USER_MS, path } = options;
  return {
    async open(preferred) {
      const listener = await listenForRedirect({
        ...(path === undefined ? {} : { path }),
        preferredPort: portOf(preferred),
      });
      return {
        uri: listener.uri,
        close: () => listener.close(),
        async authorize(url) {
          const answer = listener.answer(new URL(url).searchParams.get("state") ?? "", timeoutMs);
          // Whoever fails to open the page has no answer to wait for.
          answer.catch(() => undefined);
          await open(url).catch((error: unknown) => {
            if (show === undefined) throw error;
            show(url);
          });
          return answer;
        },
      };
    },
  };
}

/** For a user whose browser is on another machine. */
export function pastedRedirect(options: PastedRedirectOptions): Redirect {
  const { show, read, uri = PASTED_URI, timeoutMs = USER_MS } = options;
  const opened: OpenRedirect = {
    uri,
    close: () => Promise.resolve(),
    async authorize(url) {
      show(url);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        const error = new LocalError("TIMEOUT", `Nothing was pasted within ${timeoutMs} ms: start again`);
        timer = setTimeout(() => reject(error), timeoutMs);
      });
      try {
        return await Promise.race([read(), late]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
  return { open: () => Promise.resolve(opened) };
}

/** The port to have again, where the client registered with one of this machine. */
function portOf(uri: string | undefined): number {
  if (uri === undefined || !URL.canParse(uri)) return 0;
  const { hostname, port } = new URL(uri);
  return hostname === "127.0.0.1" && port !== "" ? Number(port) : 0;
}
