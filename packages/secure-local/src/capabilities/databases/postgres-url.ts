// Reads the URL of a PostgreSQL database. What is wrong with it is told without any part of it: it holds a password.

export type Encryption = "none" | "if-offered" | "unverified" | "verified";

export interface PostgresUrl {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly encryption: Encryption;
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
  const mode = url.searchParams.get("sslmode");
  const encryption = mode === null ? (LOOPBACK.test(host) ? "none" : "verified") : MODES.get(mode);
  if (encryption === undefined) return "its sslmode is unknown";
  for (const name of url.searchParams.keys()) if (name !== "sslmode") return "it has options other than sslmode";
  try {
    const user = decodeURIComponent(url.username);
    const database = decodeURIComponent(url.pathname.slice(1)) || user;
    if (user === "" || `${user}${database}`.includes("\0")) return "it names no user";
    const port = url.port === "" ? 5_432 : Number(url.port);
    return { host, port, user, password: decodeURIComponent(url.password), database, encryption };
  } catch {
    return "it has a % that is no escape";
  }
}

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}
