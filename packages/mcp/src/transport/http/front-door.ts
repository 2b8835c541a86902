// The front door: who may come in, judged by the head of a request before anything is parsed.
import type { HttpRequestHead } from "./exchange.js";

export interface FrontDoorOptions {
  /** Values of Host that are ours, port included; undefined: any one host. */
  readonly hosts: readonly string[] | undefined;
  /** Origins of web pages that may call; a request without Origin is no web page. */
  readonly origins: readonly string[];
  /** Where a person names further origins, for the refusal. Default: allowedOrigins, the option of this library. */
  readonly originOption?: string | undefined;
}

export interface Refusal {
  readonly status: number;
  readonly text: string;
}

const NOT_ORIGIN_FORM: Refusal = { status: 400, text: "The request target must be a path" };
const ONE_HOST: Refusal = { status: 400, text: "Send exactly one Host header" };
const FOREIGN_HOST: Refusal = { status: 403, text: "This Host is not served here: add it to allowedHosts" };
const NOT_JSON: Refusal = { status: 415, text: "Send Content-Type: application/json" };
const PACKED: Refusal = { status: 415, text: "Send the body without Content-Encoding" };
const TOO_LONG: Refusal = { status: 413, text: "The body is too long" };

/** Lists are exact: no patterns, no ports left out, no suffixes. */
export class FrontDoor {
  readonly #hosts: ReadonlySet<string> | undefined;
  readonly #origins: ReadonlySet<string>;
  readonly #foreignOrigin: Refusal;

  constructor({ hosts, origins, originOption = "allowedOrigins" }: FrontDoorOptions) {
    this.#foreignOrigin = { status: 403, text: `This Origin may not call: add it to ${originOption}` };
    this.#hosts = hosts && new Set(hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(origins.map((origin) => origin.toLowerCase()));
  }

  admitsOrigin(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }

  /** Why a request may not come in; undefined when it may. */
  refusal(head: HttpRequestHead): Refusal | undefined {
    if (head.path.charCodeAt(0) !== 0x2f) return NOT_ORIGIN_FORM;
    const host = head.header("host");
    if (host === undefined || host === "" || host.includes(",")) return ONE_HOST;
    if (this.#hosts !== undefined && !this.#hosts.has(host.toLowerCase())) return FOREIGN_HOST;
    const origin = head.header("origin");
    if (origin !== undefined) return this.admitsOrigin(origin) ? undefined : this.#foreignOrigin;
    // Browsers leave Origin out where no script may read the answer; they still say where a request comes from.
    const site = head.header("sec-fetch-site");
    return site === "cross-site" || site === "same-site" ? this.#foreignOrigin : undefined;
  }

  /** Why the body of a POST may not be read; undefined when it may. */
  bodyRefusal(head: HttpRequestHead, limit: number): Refusal | undefined {
    const type = head.header("content-type");
    if (type !== "application/json" && !isJson(type)) return NOT_JSON;
    const encoding = head.header("content-encoding");
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") return PACKED;
    return Number(head.header("content-length") ?? 0) > limit ? TOO_LONG : undefined;
  }
}

// Only what a web page cannot send without asking first (CORS) counts as JSON; parameters may follow.
function isJson(type: string | undefined): boolean {
  if (type === undefined) return false;
  const end = type.indexOf(";");
  if (/charset/i.test(type) && !/;\s*charset\s*=\s*"?utf-8"?\s*(?:;|$)/i.test(type)) return false;
  return !type.includes(",") && (end < 0 ? type : type.slice(0, end)).trim().toLowerCase() === "application/json";
}

/** Hosts under which a listener on a loopback address is reached. */
export function loopbackHosts(port: number, defaultPort: number): readonly string[] {
  const names = ["localhost", "127.0.0.1", "[::1]"];
  const hosts = names.map((name) => `${name}:${port}`);
  return port === defaultPort ? [...hosts, ...names] : hosts;
}
