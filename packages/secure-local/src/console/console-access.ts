// Who may use the console: a one-time code from the terminal becomes a cookie and a key, and every request is looked at first.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Milliseconds a code may be used for: a person clicks at once, or asks for another. */
const CODE_MS = 10 * 60_000;
/** Milliseconds a browser stays signed in. */
const SESSION_MS = 12 * 60 * 60_000;
/** Browsers signed in at once; a person has two or three. The oldest one gives way. */
const MAX_SESSIONS = 16;
/** Codes that count at once: a person opens one, and asks for another when the first went to another browser. */
const MAX_CODES = 4;
/**
 * Bytes of a code: 128 bits are not guessed in ten minutes by whoever tries as often as this machine can. So wrong codes are not
 * counted: another user of this machine, who can reach the port, would void those of the owner by them.
 */
const CODE_BYTES = 16;
const COOKIE = "mcp-secure-local-console";
/** Set by the page's own script on each request: no form, image or link of another page can. */
export const KEY_HEADER = "x-console-key";

/** A refusal: the status, what happened, and what to do. */
export interface Refused {
  readonly status: number;
  readonly error: string;
  readonly advice: string;
}

const SIGN_IN: Refused = {
  status: 401,
  error: "This page is not signed in, or the console was started again.",
  advice: "Press Enter in the terminal where mcp-secure-local console runs, and open the address it prints.",
};

interface Session {
  readonly key: Buffer;
  readonly ends: number;
}

/**
 * A browser needs two things: the cookie, which no script can read, and the key, which pages of other ports, to whom the
 * browser sends the same cookie, do not have. Both are void when the console ends.
 */
export class ConsoleAccess {
  readonly #host: string;
  readonly #now: () => number;
  /** By the digest of the cookie. */
  readonly #sessions = new Map<string, Session>();
  readonly #cookie: string;
  /** The newest last. */
  #codes: readonly { readonly digest: Buffer; readonly ends: number }[] = [];

  /** @param host `127.0.0.1:PORT`, the only `Host` that is answered. */
  constructor(host: string, now: () => number = Date.now) {
    this.#host = host;
    // Cookies know no ports: without one in its name, two consoles would sign each other's browser out.
    this.#cookie = `${COOKIE}-${host.slice(host.lastIndexOf(":") + 1)}`;
    this.#now = now;
  }

  /** A new code, for one sign-in within ten minutes. Of those given out before the newest three still count. */
  newCode(): string {
    const code = randomBytes(CODE_BYTES).toString("base64url");
    this.#codes = [...this.#codes.slice(1 - MAX_CODES), { digest: digest(code), ends: this.#now() + CODE_MS }];
    return code;
  }

  /** Why a request is not looked at any further; undefined when it comes from our page, or asks for the page itself. */
  objection({ headers, rawHeaders, method, url }: IncomingMessage): Refused | undefined {
    // Of two hosts Node tells the first; whoever sends two hopes that somebody reads the other.
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
    if (headers.host !== this.#host || hosts !== 1)
      return { status: 421, error: "This address is not the console's.", advice: `Open http://${this.#host}/ itself.` };
    const site = headers["sec-fetch-site"];
    // A link may lead a person here, as `console --open` does: the page by itself holds nothing, and nobody frames it.
    const { "sec-fetch-mode": mode, "sec-fetch-dest": destination } = headers;
    const led = method === "GET" && url === "/" && mode === "navigate" && destination === "document";
    const foreign = site !== undefined && site !== "same-origin" && site !== "none" && !led;
    const origin = headers.origin;
    const other = origin !== undefined && origin !== `http://${this.#host}`;
    const reads = method === "GET" || method === "HEAD";
    if (other || foreign || (!reads && origin === undefined))
      return {
        status: 403,
        error: "Pages of other origins may not use the console.",
        advice: "Use the console's own page.",
      };
    return undefined;
  }

  /** Takes a code once. Undefined when it is none of the newest, was used, or is too old: then the others count as before. */
  signIn(code: string): { readonly cookie: string; readonly key: string } | undefined {
    const given = digest(code);
    const open = this.#codes.filter(({ ends }) => ends >= this.#now());
    this.#codes = open.filter((each) => !timingSafeEqual(each.digest, given));
    if (this.#codes.length === open.length) return undefined;
    const cookie = randomBytes(32).toString("base64url");
    const key = randomBytes(32).toString("base64url");
    const oldest = this.#sessions.keys().next().value;
    if (this.#sessions.size >= MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    this.#sessions.set(digest(cookie).toString("hex"), { key: digest(key), ends: this.#now() + SESSION_MS });
    const seconds = SESSION_MS / 1_000;
    return { cookie: `${this.#cookie}=${cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}`, key };
  }

  /** Why a request may not see or do anything; undefined for a browser that is signed in. */
  refusal({ headers }: IncomingMessage): Refused | undefined {
    const cookie = cookieOf(headers.cookie ?? "", this.#cookie);
    const session = cookie === undefined ? undefined : this.#sessions.get(digest(cookie).toString("hex"));
    const key = headers[KEY_HEADER];
    if (session === undefined || session.ends < this.#now() || typeof key !== "string") return SIGN_IN;
    return timingSafeEqual(session.key, digest(key)) ? undefined : SIGN_IN;
  }
}

/** Of several cookies of the name none counts: somebody else has set one. */
function cookieOf(header: string, name: string): string | undefined {
  const found = header.split(/; */).filter((pair) => pair.startsWith(`${name}=`));
  return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
