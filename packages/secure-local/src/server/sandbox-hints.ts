// What to do about a server that fails because its sandbox lets it reach no host, or write nowhere it wants to: its own
// words rarely say so.
import { basename, posix } from "node:path";
import { protectionOf } from "../capabilities/files/protection-of.js";
import { isOwnPlace } from "../policy/own-places.js";
import type { SandboxPolicy, ServerGrant } from "../policy/policy.js";
import { keptPackages } from "./pinned-package.js";

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
  const isOld = startedByOldNode(launch.command) && hosts.length > 0;
  const old = isOld ? ` ${oldNodeHint(name, /\bfetch failed\b/i.test(said))}` : "";
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

/** What an owner does about it. Words of a fetch may be those of Node's own, which is led there, or of a package's. */
function oldNodeHint(name: string, byFetch: boolean): string {
  const [major = "0"] = process.versions.node.split(".");
  const start = `tart this server with Node ${HEEDS_PROXY} or later, by naming that program in servers.${name}.command, as in [/opt/node-${HEEDS_PROXY}/bin/npx, ...].`;
  if (!LEADS_FETCH)
    return `In Node ${major} fetch does not use the proxy of the sandbox, so it reaches no host: s${start}`;
  if (byFetch)
    return `In Node ${major} the global fetch alone uses the proxy of the sandbox. If the host is one of these, and this server fetches by a package, s${start}`;
  return `In Node ${major} node:http does not use the proxy of the sandbox, as fetch does, so it reaches no host: s${start}`;
}

// What to do about a server that may not write where it wants to: the system says "read-only" or "no such file", and not who made it so.

/** How programs say that a file system is read-only: Node, Python, Go, Rust, and the system itself. */
const READ_ONLY = /\bEROFS\b|\bread-only file ?system\b|\[Errno 30\]|\(os error 30\)/i;
/** What they say in a folder that the sandbox does not show at all, as of a file that nobody made yet. */
const MISSING = /\bENOENT\b|\bno such file or directory\b|\[Errno 2\]|\(os error 2\)/i;
const CLOSED = /\b(?:EACCES|EPERM)\b|\bpermission denied\b|\[Errno 13?\]|\(os error 13?\)/i;
/** The file, where the words name one: behind what was tried, in quotes, or before the reason. */
const PATH = /(?:'|"|`)(\/[^'"`\n]{1,400})(?:'|"|`)|\b(?:open|mkdir|rename|unlink|create) (\/[^\s:'"]{1,400})/;
/** Seen in every sandbox, or its own: what is missing there is missing. */
const EVERYWHERE = /^\/(?:usr|bin|sbin|lib\w*|nix\/store|etc|proc|sys|dev|tmp)\//;
/** A name that no file has: a folder is granted where this is granted in it. */
const ANY_NAME = "\u0001";

/** Undefined for words that tell of something else, and for a server that was not started here or has no wall around it. */
export function filesHint(
  grant: ServerGrant,
  said: string,
  mode: SandboxPolicy["mode"] = "required",
): string | undefined {
  if (grant.launch.kind === "url" || mode === "none") return undefined;
  const [, quoted, plain] = PATH.exec(said) ?? [];
  const path = quoted ?? plain;
  const readOnly = READ_ONLY.test(said);
  if (path !== undefined && (readOnly || MISSING.test(said) || CLOSED.test(said)) && isOwnPlace(path))
    return isIn(keptPackages(), path)
      ? `${grant.name} would keep that in its own package, which stays as it was approved. Its owner has it kept elsewhere, by a variable (servers.${grant.name}.env) or an argument that its documentation names, and adds that folder, as FOLDER/**, to servers.${grant.name}.filesystem.allowed_paths.`
      : `${path} is this program's own: no server is let near it, and no grant opens it.`;
  const protection = path === undefined || !(readOnly || CLOSED.test(said)) ? undefined : protectionOf(path);
  if (protection !== undefined)
    return `The name of ${path} is protected (${protection.rule}), and no policy lets a server ${protection.from === "write" ? "change" : "read or change"} it.`;
  if (!readOnly && (path === undefined || !isShutOut(grant, said, path))) return undefined;
  const allowed = grant.filesystem.allowed.rules.map(({ pattern }) => pattern);
  const changes = allowed.length === 0 ? "no file" : `no file but those of ${allowed.join(", ")}`;
  const named =
    path === undefined ? undefined : allowed.find((each) => each.replace(/\/$/, "") === posix.dirname(path));
  if (named !== undefined)
    return `servers.${grant.name}.filesystem.allowed_paths names the folder ${named} only, and nothing in it: write ${named.replace(/\/$/, "")}/** for all that lies in it.`;
  const what = path === undefined ? "the folder that it writes in" : `the folder of ${path}`;
  const wish = readOnly ? "If it is to" : "If it is to write there";
  return `The sandbox of ${grant.name} lets it change ${changes}. ${wish}, its owner adds ${what} to servers.${grant.name}.filesystem.allowed_paths.`;
}

function isIn(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`);
}

/**
 * Whether it is the sandbox that hides a path, or keeps it closed: the folder counts, since programs write beside a file and then rename.
 * Nothing is looked up here: a server could ask by its words what there is on this machine.
 */
function isShutOut({ filesystem }: ServerGrant, said: string, path: string): boolean {
  if (EVERYWHERE.test(path)) return false;
  const inFolder = posix.join(posix.dirname(path), ANY_NAME);
  if (filesystem.allowed.find(inFolder)) return false;
  if (CLOSED.test(said)) return true;
  return MISSING.test(said) && !filesystem.readable.find(inFolder);
}
