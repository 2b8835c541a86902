// What is the same for all programs that may use the network: where they find the proxy, the certificates, and Node.
import { realpathSync } from "node:fs";
import type { Reach } from "./wall.js";

/** Where a company's own authority is made known to programs; seen inside when it lies with the system's certificates. */
const CERTIFICATES = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE"];
const CERTIFICATE_FOLDERS = /^\/(?:etc\/ssl\/certs|etc\/pki|usr\/share)\//;

/** The very Node this program runs on, wherever it was installed. */
export function nodeReach(): Reach {
  return { path: realpathSync(process.execPath), access: "read" };
}

/** By what programs find the proxy. Nothing goes past it: `NO_PROXY` is empty. */
export function proxyEnvironment(place: string): Record<string, string> {
  const env: Record<string, string> = { NO_PROXY: "", no_proxy: "", NODE_USE_ENV_PROXY: "1" };
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"])
    env[name] = env[name.toLowerCase()] = `http://${place}`;
  return env;
}

/** For programs that speak SOCKS alone. Not in ALL_PROXY: some HTTP clients give up at a kind of proxy they were installed without. */
export function socksEnvironment(place: string): Record<string, string> {
  return { SOCKS_PROXY: `socks5h://${place}`, socks_proxy: `socks5h://${place}` };
}

/** This process's own settings for certificates, as far as they name files that are seen inside. */
export function certificateEnvironment(): Record<string, string> {
  const set = CERTIFICATES.map((name) => [name, process.env[name] ?? ""] as const);
  return Object.fromEntries(set.filter(([, path]) => CERTIFICATE_FOLDERS.test(path) && !path.includes("/..")));
}
