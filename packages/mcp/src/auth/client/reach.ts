// Decides which of the URLs a server names may be fetched, sent secrets to, or shown to a browser.
import { LocalError } from "../../jsonrpc/errors.js";

/** Longest URL taken from a document: those in use stay under 300 characters. */
const URL_LENGTH = 2_048;
/** How much of a foreign text an error repeats. */
const SHOWN_LENGTH = 120;

/** Foreign text as an error may show it: short, on one line. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : String(value);
  return JSON.stringify(text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);
}

/** Whether a host, as `URL` spells it, is this machine's own. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/\.$/, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127(?:\.\d+){3}$/.test(name);
}

/**
 * Whoever runs the server, or answers for it, chooses what its metadata says. So everything named there is https on a host
 * with a name. Only what the user gave leads elsewhere: the host of a URL given, and other ports of this machine where
 * a URL given is of this machine. What names resolve to is for the `fetch` to check.
 */
export class Reach {
  readonly #hosts: ReadonlySet<string>;
  readonly #allowed: ReadonlySet<string>;
  readonly #loopback: boolean;

  /** `given`: URLs the user wrote. `allowHosts`: further host names the user trusts. Throws RangeError for what is no URL. */
  constructor(given: readonly string[], allowHosts: readonly string[] = []) {
    const urls = given.map((text) => {
      if (URL.canParse(text)) return new URL(text);
      throw new RangeError(`${shown(text)} is no URL: give an absolute one, "https://mcp.example.com/mcp"`);
    });
    this.#hosts = new Set(urls.map((url) => url.hostname));
    this.#allowed = new Set(allowHosts);
    this.#loopback = urls.some((url) => isLoopbackHost(url.hostname));
  }

  /** The URL, or a LocalError of code `AUTH_DISCOVERY` that begins with `what`. */
  check(text: unknown, what: string): URL {
    if (typeof text !== "string" || text.length > URL_LENGTH || !URL.canParse(text)) {
      throw refused(`${what} is ${shown(text)}, which is no URL`);
    }
    const url = new URL(text);
    const fault = this.#fault(url);
    if (fault !== undefined) throw refused(`${what} is ${shown(text)}, and ${fault}`);
    return url;
  }

  /** As `check`, and of the origin of `home`, unless the user allowed its host. */
  checkAt(home: string, text: unknown, what: string): URL {
    const url = this.check(text, what);
    const { origin } = new URL(home);
    if (url.origin === origin || this.#allowed.has(url.hostname)) return url;
    throw refused(
      `${what} is ${shown(text)}, which is not at ${origin}; if you trust it, name ${shown(url.hostname)} in allowHosts`,
    );
  }

  #fault(url: URL): string | undefined {
    const loopback = isLoopbackHost(url.hostname);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) return "only https may be used";
    if (url.username !== "" || url.password !== "") return "it names a user";
    if (url.hash !== "") return "it has a fragment";
    if (this.#hosts.has(url.hostname) || this.#allowed.has(url.hostname)) return undefined;
    if (loopback) return this.#loopback ? undefined : "a server elsewhere must not lead to this machine";
    return /^\[|^\d+(?:\.\d+){3}$/.test(url.hostname) ? "an address in place of a name is not trusted" : undefined;
  }
}

function refused(text: string): LocalError {
  return new LocalError("AUTH_DISCOVERY", `Authorization stopped: ${text}`);
}
