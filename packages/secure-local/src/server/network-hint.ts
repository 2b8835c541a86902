// What to do about a server that fails because its sandbox lets it reach no host, or none but some: its own words rarely say so.
import { basename } from "node:path";
import type { ServerGrant } from "../policy/policy.js";

/** How programs say that they reached nobody: Node, Python, Go, curl and the system itself. */
const UNREACHED =
  /\b(?:fetch failed|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|getaddrinfo|name or service not known|temporary failure in name resolution|(?:could not|couldn't) resolve|no such host|network is unreachable|max retries exceeded|all connection attempts failed|error sending request)\b/i;
/** From here on Node heeds the variables that name a proxy. Before it, `fetch` is led there on Linux, and `node:http` nowhere. */
const HEEDS_PROXY = 24;
/** As resolvers and programs name it: `getaddrinfo ENOTFOUND api.example.com`, `host: api.example.com`. */
const HOST =
  /\b(?:ENOTFOUND|EAI_AGAIN) ([a-z0-9-]+(?:\.[a-z0-9-]+)+)|\bhttps?:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)+)|\b(?:resolve host|host)[:=]? ?'?([a-z0-9-]+(?:\.[a-z0-9-]+)+)/i;
const LEADS_FETCH = process.platform === "linux";
const NODE = /^(?:node|npx)(?:\.\w+)?$/;

/** Undefined for words that tell of something else, and for a server that was not started here. */
export function networkHint({ name, launch, network }: ServerGrant, said: string): string | undefined {
  if (launch.kind === "url" || !UNREACHED.test(said)) return undefined;
  const hosts = network.allowedEndpoints.rules.map(({ pattern }) => pattern);
  const host = hostIn(said);
  const reached = hosts.length === 0 ? "no host" : hosts.join(", ");
  const key = `servers.${name}.network.allowed_endpoints`;
  const allowed = host !== undefined && network.allowedEndpoints.rules.some(({ pattern }) => pattern === host);
  const wish = host === undefined ? "a host that it needs" : `${host}, which it names,`;
  const grant = allowed ? "" : ` Its owner allows ${wish} by adding it to ${key}.`;
  const [major = "0"] = process.versions.node.split(".");
  const isOld = startedByOldNode(launch.command) && !(LEADS_FETCH && /\bfetch failed\b/i.test(said));
  const old = isOld && hosts.length > 0 ? ` ${oldNodeHint(name, major)}` : "";
  return `The sandbox of ${name} lets it reach ${hosts.length === 0 ? reached : `these hosts and no other: ${reached}`}.${grant}${old}`;
}

/** The host that a server did not reach, where its words name one. */
function hostIn(said: string): string | undefined {
  return HOST.exec(said)?.slice(1).find(Boolean)?.toLowerCase();
}

/** A server that Node starts, one too old to find the proxy of its sandbox by itself. */
function startedByOldNode(command: readonly string[] = []): boolean {
  const [major = "0"] = process.versions.node.split(".");
  return NODE.test(basename(command[0] ?? "")) && Number(major) < HEEDS_PROXY;
}

/** What an owner does about it. */
function oldNodeHint(name: string, major: string = process.versions.node.split(".")[0] ?? ""): string {
  const what = LEADS_FETCH
    ? "node:http does not use the proxy of the sandbox, as fetch does"
    : "fetch does not use the proxy of the sandbox";
  return `In Node ${major} ${what}, so it reaches no host: start this server with Node ${HEEDS_PROXY} or later, by naming that program in servers.${name}.command, as in [/opt/node-${HEEDS_PROXY}/bin/npx, ...].`;
}
