// Decides whether the policy allows a request, and names the rule. Pure: nothing is looked up, opened or remembered.
import { isIP } from "node:net";
import { deniedAddress, otherNames, plainHost } from "./host-matcher.js";
import {
  type FilesystemPolicy,
  MENU_TOOLS,
  type NamesPolicy,
  type NetworkPolicy,
  type Policy,
  type ProfilePolicy,
  type ServerGrant,
} from "./policy.js";
import { segments } from "./path-matcher.js";
import { namedUri, type UriReader } from "./same-uri.js";
import type { Rule } from "./faults.js";

export type FileOperation = "read" | "write" | "list" | "delete";

/** What somebody wants to do. */
export type PolicyRequest =
  | { readonly kind: "tool"; readonly name: string }
  | { readonly kind: "prompt"; readonly name: string }
  /** The URI of a resource, or the template of many. */
  | { readonly kind: "resource"; readonly uri: string }
  /** Completion of an argument is allowed where its prompt or resource template is. */
  | { readonly kind: "completion"; readonly of: "prompt" | "resource"; readonly name: string }
  /** `address` is what the host's name was found to stand for; without it only the name itself is judged. */
  | { readonly kind: "network"; readonly host: string; readonly port: number; readonly address?: string }
  /** The path must be absolute, normalised and free of links: where it leads must have been found out before. */
  | { readonly kind: "file"; readonly path: string; readonly op: FileOperation };

export interface Decision {
  readonly allowed: boolean;
  /** The rule that decided. */
  readonly rule: Rule;
  /** A sentence for people and models; it names no file of this machine that the request did not name. */
  readonly reason: string;
  /** Why the thing itself is withheld, whatever the policy allows: its server is stopped, or is not as it was approved. */
  readonly withheld?: string | undefined;
}

const DEFAULT_DENY: Rule = Object.freeze({ text: "default deny" });
const NOT_A_HOST: Rule = Object.freeze({ text: "built-in rule: only plain host names, addresses and ports" });
const NOT_A_PATH: Rule = Object.freeze({ text: "built-in rule: only absolute, normalised paths" });
const NOT_A_URI: Rule = Object.freeze({ text: "built-in rule: no dot segments where a prefix decides" });
const TOO_MANY_MEMBERS: Rule = Object.freeze({ text: "built-in rule: few members where denials decide" });
/** `..` as a path segment, plain or percent-encoded, in a URI. */
const DOT_SEGMENT = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/\\?#]|%2f|%5c)/i;

/** Whether no rule is about it: it is refused for that alone. */
export function isDefault({ rule }: Decision): boolean {
  return rule === DEFAULT_DENY;
}

export function decide(policy: Policy, request: PolicyRequest): Decision {
  if (policy.profile?.gone === true) return refusal(policy.profile.rule, goneWords(policy.profile));
  switch (request.kind) {
    case "tool":
      return decideTool(policy, request.name);
    case "prompt":
      return decideName(policy.prompts, request.name, "prompt");
    case "resource":
      return decideOwnResource(policy, request.uri);
    case "completion":
      return request.of === "prompt"
        ? decideName(policy.prompts, request.name, "prompt")
        : decideOwnResource(policy, request.name);
    case "network":
      return decideNetwork(policy.network, request);
    case "file":
      return decideFile(policy.filesystem, request.path, request.op);
  }
}

/** No line of the policy is to blame: what is to be mended is the profile itself, or what the client connects to. */
export function goneWords({ name }: ProfilePolicy): string {
  const advice = `put profiles.${name} back, or connect the client to another profile or the whole policy`;
  return `The profile ${name} is not in the policy any more; ${advice}.`;
}

/** What the policy allows and its profile leaves out is refused by the profile's own line. */
function decideTool({ tools, profile, menu }: Policy, name: string): Decision {
  const decision = decideName(tools, name, "tool");
  const isMenu = menu.mode !== "full" && MENU_TOOLS.includes(name);
  return (decision.allowed ? leftOut(profile, name, isMenu) : undefined) ?? decision;
}

/** Why a profile leaves a tool out; undefined where it does not. `isKept`: it has it without naming it. */
function leftOut(profile: ProfilePolicy | undefined, name: string, isKept = false): Decision | undefined {
  if (profile === undefined) return undefined;
  const denied = profile.deniedTools.find(name);
  if (denied) return refusal(denied, `The profile ${profile.name} denies the tool "${name}".`);
  if (isKept || (profile.allowedTools?.findAllowing(name) ?? !profile.allowedTools)) return undefined;
  const advice = `add it to profiles.${profile.name}.tools.allowed to allow it`;
  return refusal(profile.rule, `The profile ${profile.name} does not name the tool "${name}"; ${advice}.`);
}

/** The tools that read a file or folder, and a table, as a resource: which of the two it is, is known when it is opened. */
export const FILE_READERS: readonly [string, ...string[]] = ["read_file", "list_directory"];
export const TABLE_READERS: readonly [string, ...string[]] = ["query_database"];

/** By our own schemes, the tool first that reads the most. */
const READERS: ReadonlyMap<string, readonly [string, ...string[]]> = new Map([
  ["file", FILE_READERS],
  ["git", FILE_READERS],
  ["db", TABLE_READERS],
]);

/** A profile that leaves out the tool which reads a thing leaves out the thing: a resource is no second door to it. */
function decideOwnResource({ resources, profile }: Policy, uri: string): Decision {
  const decision = decideResource(resources, uri, "ours");
  const readers = READERS.get(uri.slice(0, Math.max(0, uri.indexOf(":"))).toLowerCase());
  if (profile === undefined || readers === undefined || !decision.allowed) return decision;
  const [reader, ...others] = readers;
  const denied = others.find((name) => profile.deniedTools.find(name) !== undefined);
  return leftOut(profile, denied ?? reader) ?? decision;
}

function decideName(names: NamesPolicy, name: string, what: "tool" | "prompt" | "resource"): Decision {
  const denied = names.denied.find(name);
  if (denied) return refusal(denied, `The policy denies the ${what} "${name}".`);
  const allowed = names.allowed.findAllowing(name);
  if (allowed) return permission(allowed, `The policy allows the ${what} "${name}".`);
  return refusal(
    DEFAULT_DENY,
    `The policy does not name the ${what} "${name}"; add it to ${what}s.allowed to allow it.`,
  );
}

function decideResource(names: NamesPolicy, given: string, reader: UriReader): Decision {
  const colon = given.indexOf(":");
  const uri = colon > 0 ? given.slice(0, colon).toLowerCase() + given.slice(colon) : given;
  const denied = namedUri(names.denied, uri, reader);
  if (denied === "too many")
    return refusal(
      TOO_MANY_MEMBERS,
      `The resource "${given}" has more members in its query than denials are compared with.`,
    );
  if (denied !== undefined) return refusal(denied, `The policy denies the resource "${given}".`);
  const decision = decideName(names, uri, "resource");
  if (decision.allowed && names.allowed.findExact(uri) === undefined && DOT_SEGMENT.test(uri)) {
    return refusal(NOT_A_URI, `The resource "${given}" has dot segments; ask for it by its plain URI.`);
  }
  return decision;
}

/** The decision about a resource of a server that has several URIs: denied by one is denied, allowed by one is allowed. */
export function decideAnyName(policy: Policy, uris: readonly string[]): Decision {
  const decisions = uris.map((uri) => decideResource(policy.resources, uri, "server"));
  const denied = decisions.find(({ allowed, rule }) => !allowed && rule !== DEFAULT_DENY);
  return denied ?? decisions.find(({ allowed }) => allowed) ?? (decisions[0] as Decision);
}

/**
 * The refusal of what a URI leads to, when the policy denies that under another name: `others` are the URIs of the same thing.
 * Undefined when none of them is denied.
 */
export function deniedElsewhere(policy: Policy, uri: string, others: readonly string[]): Decision | undefined {
  for (const other of others) {
    const rule = namedUri(policy.resources.denied, other, "ours");
    if (rule === "too many")
      return refusal(TOO_MANY_MEMBERS, `What the resource "${uri}" leads to cannot be compared.`);
    if (rule !== undefined) return refusal(rule, `The policy denies what the resource "${uri}" leads to.`);
  }
  return undefined;
}

/**
 * What the section `network` denies of an endpoint that something else allows, as the entry of a server does its URL. Undefined when it
 * denies nothing. `address` is what the name stands for.
 */
export function deniedEndpoint(
  network: NetworkPolicy,
  endpoint: { readonly host: string; readonly port: number; readonly address?: string },
): Decision | undefined {
  const { port, address } = endpoint;
  const host = plainHost(endpoint.host);
  if (host === undefined) return refusal(NOT_A_HOST, `"${endpoint.host}" is not a plain host name or address.`);
  const denied =
    network.offline ??
    network.blockedPorts.get(port) ??
    deniedAddress(network.deniedEndpoints, host, port) ??
    (address === undefined ? undefined : deniedAddress(network.deniedEndpoints, address, port)) ??
    (isIP(host) === 0 ? network.dnsRefused : undefined);
  return denied && refusal(denied, `The policy denies ${host} port ${port}.`);
}

function decideNetwork(network: NetworkPolicy, request: PolicyRequest & { kind: "network" }): Decision {
  const { port } = request;
  const host = plainHost(request.host);
  if (host === undefined || !Number.isInteger(port) || port < 1 || port > 65_535) {
    return refusal(NOT_A_HOST, `"${request.host}" port ${port} is not a plain host name or address with a port.`);
  }
  const denied =
    network.offline ??
    network.blockedPorts.get(port) ??
    deniedAddress(network.deniedEndpoints, host, port) ??
    (request.address === undefined ? undefined : deniedAddress(network.deniedEndpoints, request.address, port));
  if (denied) return refusal(denied, `The policy denies ${host} port ${port}.`);
  const allowed = isIP(host) === 0 ? namedHost(network, request, host) : addressRule(network, host, port);
  if (!allowed) {
    const advice = otherPorts(network, host, port) ?? unnamedAdvice(host);
    return refusal(DEFAULT_DENY, `The policy does not allow ${host} port ${port}; ${advice}`);
  }
  if (isIP(host) === 0 && network.dnsRefused)
    return refusal(network.dnsRefused, `The policy looks up no host names, so ${host} cannot be reached.`);
  return permission(allowed, `The policy allows ${host} port ${port}.`);
}

/** Where cloud providers hand out a machine's own credentials to whoever asks from it. */
const METADATA: ReadonlySet<string> = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "100.100.100.200",
  "fd00:ec2::254",
  "metadata.google.internal",
  "metadata.goog",
]);

/** Whether a host gives the credentials of a cloud machine to whoever asks. */
export function isMetadataHost(host: string): boolean {
  return METADATA.has(host);
}

/** What to do about a host that is allowed, at other ports than this. */
export function otherPorts({ allowedEndpoints }: NetworkPolicy, host: string, port: number): string | undefined {
  const ports = allowedEndpoints.portsOf(host);
  if (ports.length === 0 || allowedEndpoints.find(host, port) !== undefined) return undefined;
  const named = `${ports.length === 1 ? "port" : "ports"} ${ports.join(", ")}`;
  const wish = `ports: [${[...ports, port].join(", ")}]`;
  return `it names ${host} at ${named} only: for port ${port}, write ${wish} beside it in network.allowed_endpoints.`;
}

function unnamedAdvice(host: string): string {
  return isMetadataHost(host)
    ? "leave it so: cloud machines get their credentials from there."
    : "add it to network.allowed_endpoints.";
}

/** The rule for a host name: its endpoint, or the range its address lies in when it may be looked up. */
function namedHost(
  network: NetworkPolicy,
  request: PolicyRequest & { kind: "network" },
  host: string,
): Rule | undefined {
  const { port, address } = request;
  if (network.dnsNames && !network.dnsNames.find(host, port)) return undefined;
  const endpoint = network.allowedEndpoints.find(host, port);
  if (endpoint || !network.dnsNames || address === undefined) return endpoint;
  return network.allowedRanges.find(address);
}

function addressRule(network: NetworkPolicy, address: string, port: number): Rule | undefined {
  return network.allowedEndpoints.find(address, port) ?? network.allowedRanges.find(address);
}

function decideFile(files: FilesystemPolicy, given: string, op: FileOperation): Decision {
  const path = process.platform === "win32" ? given.replaceAll("\\", "/") : given;
  if (!isNormalised(path)) return refusal(NOT_A_PATH, `"${given}" is not an absolute, normalised path.`);
  const changes = op === "write" || op === "delete";
  // What lies in a denied folder is denied with it.
  const denied = files.denied.findAround(path);
  if (denied) return refusal(denied, `The policy denies every ${op} of "${given}".`);
  const kept = changes ? (files.readOnly ?? files.unwritable.findAround(path)) : undefined;
  if (kept) return refusal(kept, `The policy denies this ${op} of "${given}".`);
  const allowed = files.allowed.find(path) ?? (changes ? undefined : files.readable.find(path));
  if (allowed) return permission(allowed, `The policy allows this ${op} of "${given}".`);
  const lists = changes ? "filesystem.allowed_paths" : "filesystem.allowed_paths or readable_paths";
  const but = changes && files.readable.find(path) ? "allows only reading it" : "does not name it";
  return refusal(
    DEFAULT_DENY,
    `The policy denies this ${op} of "${given}": it ${but}; add it to ${lists} to allow it.`,
  );
}

function isNormalised(path: string): boolean {
  if (path.includes("\0") || !/^(?:\/|[A-Za-z]:\/)/.test(path) || path.includes("//")) return false;
  return !segments(path).some((segment) => segment === "." || segment === "..");
}

function permission(rule: Rule, reason: string): Decision {
  return { allowed: true, rule, reason };
}

function refusal(rule: Rule, reason: string): Decision {
  return { allowed: false, rule, reason };
}

/** All that a tool may be called in the entry of its server: as the server has it, and as it is called outside, whole and cut. */
export function ownNames(server: string, own: string): readonly string[] {
  const before = `${server}__`;
  const outside = [before + own, ...otherNames(before + own)];
  return [own, ...outside, ...outside.map((each) => each.slice(before.length))];
}

/** What the entry of a server says of one of its tools. */
export function deniedByEntry(grant: ServerGrant, own: string): Decision | undefined {
  if (grant.deniedTools.rules.length === 0) return undefined;
  const [rule] = ownNames(grant.name, own).flatMap((each) => grant.deniedTools.find(each) ?? []);
  if (rule === undefined) return undefined;
  return { allowed: false, rule, reason: `The entry of the server ${grant.name} denies its tool "${own}".` };
}
