// Writes the sections network and filesystem out as they stand in a policy file.
import type { EndpointRule } from "./host-matcher.js";
import type { FilesystemPolicy, NetworkPolicy } from "./reach-policy.js";
import type { PatternRule } from "./rule.js";

/** What a policy file can hold; undefined is left out. */
export type Value = string | number | boolean | undefined | readonly Value[] | { readonly [key: string]: Value };

export function network(policy: NetworkPolicy): Value {
  return {
    offline: policy.offline && true,
    allowed_endpoints: endpoints(policy.allowedEndpoints.rules),
    denied_endpoints: endpoints(policy.deniedEndpoints.rules),
    allowed_ranges: patterns(policy.allowedRanges.rules),
    blocked_ports: [...policy.blockedPorts.keys()],
    allow_dns: policy.dnsRefused === undefined,
    dns_allowlist: policy.dnsNames && patterns(policy.dnsNames.rules),
  };
}

export function endpoints(rules: readonly EndpointRule[]): Value[] {
  return rules.map(({ pattern, ports, description }) => ({ host: pattern, ports: ports && [...ports], description }));
}

export function filesystem(policy: FilesystemPolicy): Value {
  return {
    allowed_paths: patterns(policy.allowed.rules),
    readable_paths: patterns(policy.readable.rules),
    denied_paths: patterns(policy.denied.rules),
    denied_write_paths: patterns(policy.unwritable.rules),
    read_only: policy.readOnly && true,
  };
}

export function patterns(rules: readonly PatternRule[]): string[] {
  return rules.map(({ pattern }) => pattern);
}
