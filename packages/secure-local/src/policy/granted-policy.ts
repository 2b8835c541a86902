// Makes the policy that one plugin or command lives under: its own permissions, everybody's denials.
import { HostMatcher } from "./host-matcher.js";
import { PathMatcher } from "./path-matcher.js";
import type { FilesystemPolicy, NetworkPolicy, Policy } from "./policy.js";
import { startedFiles } from "./started-files.js";

/** What a plugin or command was granted; what is absent it gets nothing of. */
export interface Grant {
  readonly network: NetworkPolicy;
  readonly filesystem?: FilesystemPolicy;
  /** Names from `commands.allowed`. */
  readonly commands?: readonly string[];
  /** Names from `secrets`. */
  readonly secrets?: readonly string[];
}

/** `policy` with what was granted in place of its own permissions. Whatever `policy` denies stays denied. */
export function grantedPolicy(policy: Policy, grant: Grant): Policy {
  return {
    ...policy,
    whole: policy.whole ?? policy,
    started: startedFiles(policy),
    network: grantedNetwork(policy.network, grant.network),
    filesystem: grantedFiles(policy.filesystem, grant.filesystem),
    commands: { ...policy.commands, allowed: named(policy.commands.allowed, grant.commands) },
    secrets: named(policy.secrets, grant.secrets),
    databases: new Map(),
  };
}

function named<T>(all: ReadonlyMap<string, T>, names: readonly string[] | undefined): ReadonlyMap<string, T> {
  return new Map([...all].filter(([name]) => names?.includes(name)));
}

function grantedNetwork(all: NetworkPolicy, own: NetworkPolicy): NetworkPolicy {
  return {
    offline: all.offline ?? own.offline,
    allowedEndpoints: own.allowedEndpoints,
    deniedEndpoints: new HostMatcher([...all.deniedEndpoints.rules, ...own.deniedEndpoints.rules]),
    allowedRanges: own.allowedRanges,
    blockedPorts: new Map([...own.blockedPorts, ...all.blockedPorts]),
    dnsRefused: all.dnsRefused ?? own.dnsRefused,
    dnsNames: commonNames(all.dnsNames, own.dnsNames),
  };
}

/** The names both lists let be looked up; a pattern stays when the other list covers all of it. */
function commonNames(all: HostMatcher | undefined, own: HostMatcher | undefined): HostMatcher | undefined {
  if (all === undefined || own === undefined) return own ?? all;
  const covered = (by: HostMatcher) => (rule: HostMatcher["rules"][number]) => by.find(rule.pattern, 443) !== undefined;
  return new HostMatcher([...own.rules.filter(covered(all)), ...all.rules.filter(covered(own))]);
}

function grantedFiles(all: FilesystemPolicy, own: FilesystemPolicy | undefined): FilesystemPolicy {
  return {
    allowed: own?.allowed ?? new PathMatcher([], false),
    readable: own?.readable ?? new PathMatcher([], false),
    denied: new PathMatcher([...all.denied.rules, ...(own?.denied.rules ?? [])], true),
    unwritable: new PathMatcher([...all.unwritable.rules, ...(own?.unwritable.rules ?? [])], true),
    readOnly: all.readOnly ?? own?.readOnly,
  };
}

/** The files that secrets come from: nobody's, whoever was granted the secret. */
export function secretFiles(secrets: Policy["secrets"]): string[] {
  return [...secrets.values()].flatMap(({ from }) => (from.kind === "file" ? [from.path] : []));
}

// What a part of a policy says, to be compared with what it said before.

/** Where a rule stands is no part of what it says. */
const PLACES: ReadonlySet<string> = new Set(["line", "column"]);

/** Of maps, sets and matchers JSON would say nothing: as lists, and their rules. */
export function plainTerms(value: unknown): unknown {
  if (value instanceof Map) return [...value].map(([key, item]) => [plainTerms(key), plainTerms(item)]);
  if (value instanceof Set) return [...value].map(plainTerms);
  if (Array.isArray(value)) return value.map(plainTerms);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([key]) => !PLACES.has(key));
  return Object.fromEntries(members.map(([key, item]) => [key, plainTerms(item)]));
}

/** All that a command of ours may reach, as text: the same for policies that differ in other things alone. */
export function commandTerms({ filesystem, network, sandbox, commands, secrets }: Policy, name: string): string {
  const { blocked, allowed } = commands;
  return JSON.stringify(plainTerms({ filesystem, network, sandbox, secrets, blocked, own: allowed.get(name) }));
}
