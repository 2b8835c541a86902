// Reads the URL of a PostgreSQL database. What is wrong with it is told without any part of it: it holds a password.
import { isAbsolute } from "node:path";

export type Encryption = "none" | "if-offered" | "unverified" | "verified";

export interface PostgresUrl {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly encryption: Encryption;
  /** `sslrootcert`: the file with the certificates that are trusted instead of the system's. */
  readonly authorities: string | undefined;
  /** `channel_binding`: whether the authentication has to be bound to the encryption; by default it is where it can be. */
  readonly binding: "disable" | "prefer" | "require";
}

const MODES: ReadonlyMap<string, Encryption> = new Map([
  ["disable", "none"],
  ["allow", "if-offered"],
  ["prefer", "if-offered"],
  ["require", "unverified"],
  ["verify-ca", "verified"],
  ["verify-full", "verified"],
]);
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

const BINDINGS = ["disable", "prefer", "require"] as const;
const OPTIONS: ReadonlySet<string> = new Set(["sslmode", "sslrootcert", "channel_binding"]);

/** A sentence about what is wrong, or the parts. Without `sslmode`: verified, and none for this machine. */
export function parsePostgresUrl(text: string): PostgresUrl | string {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    return "it is no URL";
  }
  if (!["postgresql:", "postgres:"].includes(url.protocol)) return "it does not begin with postgresql://";
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname.toLowerCase();
  if (host === "") return "it names no host";
  const options = optionsOf(url.searchParams, host);
  if (typeof options === "string") return options;
  try {
    const user = decodeURIComponent(url.username);
    const database = decodeURIComponent(url.pathname.slice(1)) || user;
    if (user === "" || `${user}${database}`.includes("\0")) return "it names no user";
    const port = url.port === "" ? 5_432 : Number(url.port);
    return { host, port, user, password: decodeURIComponent(url.password), database, ...options };
  } catch {
    return "it has a % that is no escape";
  }
}

function optionsOf(
  given: URLSearchParams,
  host: string,
): Pick<PostgresUrl, "encryption" | "authorities" | "binding"> | string {
  for (const name of given.keys())
    if (!OPTIONS.has(name)) return `it has options other than ${[...OPTIONS].join(", ")}`;
  const mode = given.get("sslmode");
  const authorities = given.get("sslrootcert") ?? undefined;
  const implied = LOOPBACK.test(host) && authorities === undefined ? "none" : "verified";
  // As elsewhere: who names certificates wants them to be looked at.
  const named = mode === "require" && authorities !== undefined ? "verified" : MODES.get(mode ?? "");
  const encryption = mode === null ? implied : named;
  if (encryption === undefined) return "its sslmode is unknown";
  if (authorities !== undefined && !isAbsolute(authorities)) return "its sslrootcert is no absolute path";
  const asked = given.get("channel_binding") ?? "prefer";
  const binding = BINDINGS.find((one) => one === asked);
  return binding === undefined ? "its channel_binding is unknown" : { encryption, authorities, binding };
}

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host);
}
