// Writes a policy out as a policy file: every default filled in, every variable expanded, ready to be edited.
import type { EndpointRule } from "./host-matcher.js";
import type { NamesPolicy, NetworkPolicy, PerTool, Policy, ToolsPolicy } from "./policy.js";
import type { PatternRule } from "./rule.js";

type Value = string | number | boolean | undefined | readonly Value[] | { readonly [key: string]: Value };

/** The policy as YAML. Reading it again gives the same decisions. */
export function describePolicy(policy: Policy): string {
  const origin = policy.file === undefined ? "the built-in policy" : policy.file;
  const value: Value = {
    version: policy.version,
    network: network(policy.network),
    filesystem: {
      allowed_paths: patterns(policy.filesystem.allowed.rules),
      denied_paths: patterns(policy.filesystem.denied.rules),
    },
    commands: { blocked: patterns(policy.commands.blocked) },
    tools: tools(policy.tools),
    resources: names(policy.resources),
    prompts: {
      ...names(policy.prompts),
      analyze_logs:
        policy.prompts.analyzeLogsFile === undefined ? undefined : { log_file: policy.prompts.analyzeLogsFile },
    },
    audit: { log_file: policy.audit.logFile, log_level: policy.audit.level, include: [...policy.audit.include] },
  };
  return `# ${JSON.stringify(origin)}, sha-256 ${policy.hash}\n${lines(value, "").join("\n")}\n`;
}

function network(policy: NetworkPolicy): Value {
  return {
    allowed_endpoints: policy.allowedEndpoints.rules.map(endpoint),
    denied_endpoints: policy.deniedEndpoints.rules.map(endpoint),
    allowed_ranges: patterns(policy.allowedRanges.rules),
    blocked_ports: [...policy.blockedPorts.keys()],
    allow_dns: policy.dnsRefused === undefined,
    dns_allowlist: policy.dnsNames && patterns(policy.dnsNames.rules),
  };
}

function endpoint({ pattern, ports, description }: EndpointRule): Value {
  return { host: pattern, ports: ports && [...ports], description };
}

function tools(policy: ToolsPolicy): Value {
  return {
    ...names(policy),
    rate_limits: perTool(policy.rateLimits, 1),
    timeouts: perTool(policy.timeoutsMs, 1_000),
    max_output_bytes: policy.maxOutputBytes,
    web_search: { ...policy.webSearch },
  };
}

function names(policy: NamesPolicy): { readonly [key: string]: Value } {
  return { allowed: patterns(policy.allowed.rules), denied: patterns(policy.denied.rules) };
}

function perTool(values: PerTool, unit: number): Value {
  return {
    default: values.default / unit,
    ...Object.fromEntries([...values.byName].map(([name, value]) => [name, value / unit])),
  };
}

function patterns(rules: readonly PatternRule[]): string[] {
  return rules.map(({ pattern }) => pattern);
}

function lines(value: { readonly [key: string]: Value }, indent: string): string[] {
  return Object.entries(value).flatMap(([key, child]) => {
    const name = /^\w+$/.test(key) ? key : JSON.stringify(key);
    if (child === undefined) return [];
    if (isList(child)) return list(`${indent}${name}:`, child, indent);
    if (typeof child === "object") return [`${indent}${name}:`, ...lines(child, `${indent}  `)];
    return [`${indent}${name}: ${JSON.stringify(child)}`];
  });
}

function list(head: string, items: readonly Value[], indent: string): string[] {
  if (items.length === 0) return [`${head} []`];
  return [head, ...items.map((item) => `${indent}  - ${inline(item)}`)];
}

function inline(value: Value): string {
  if (value === undefined || typeof value !== "object") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(inline).join(", ")}]`;
  const parts = Object.entries(value).filter(([, child]) => child !== undefined);
  return `{ ${parts.map(([key, child]) => `${key}: ${inline(child)}`).join(", ")} }`;
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}
