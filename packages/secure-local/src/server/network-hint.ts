// What to do about a server that fails because its sandbox lets it reach no host, or none but some: its own words rarely say so.
import { basename } from "node:path";
import type { ServerGrant } from "../policy/policy.js";

/** How programs say that they reached nobody: Node, Python, Go, curl and the system itself. */
const UNREACHED =
  /\b(?:fetch failed|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|getaddrinfo|name or service not known|temporary failure in name resolution|(?:could not|couldn't) resolve|no such host|network is unreachable|max retries exceeded|all connection attempts failed|error sending request)\b/i;
/** From here on `fetch` heeds the variables that name a proxy. */
const HEEDS_PROXY = 24;
const NODE = /^(?:node|npx)(?:\.\w+)?$/;

/** Undefined for words that tell of something else, and for a server that was not started here. */
export function networkHint({ name, launch, network }: ServerGrant, said: string): string | undefined {
  if (launch.kind === "url" || !UNREACHED.test(said)) return undefined;
  const hosts = network.allowedEndpoints.rules.map(({ pattern }) => pattern);
  const reached = hosts.length === 0 ? "no host" : `no host but ${hosts.join(", ")}`;
  const grant = `If it needs another, its owner adds it to servers.${name}.network.allowed_endpoints`;
  const [major = "0"] = process.versions.node.split(".");
  const isOld = NODE.test(basename(launch.command[0] ?? "")) && Number(major) < HEEDS_PROXY;
  const old = `; and starts it with Node ${HEEDS_PROXY}, since fetch in Node ${major} goes past the proxy of its sandbox and reaches nobody`;
  return `The sandbox of ${name} lets it reach ${reached}. ${grant}${isOld ? old : ""}.`;
}
