// Writes a policy out as a policy file: every default filled in, every variable expanded, ready to be edited.
import { approvals, commands, databases, plugins, sandbox, secrets } from "./describe-grants.js";
import { filesystem, network, patterns, type Value } from "./describe-reach.js";
import type { AuditPolicy, NamesPolicy, PerTool, Policy, ToolsPolicy } from "./policy.js";

/** The policy as YAML. Reading it again gives the same decisions. */
export function describePolicy(policy: Policy): string {
  const origin = policy.file === undefined ? "the built-in policy" : policy.file;
  const value: Value = {
    version: policy.version,
    network: network(policy.network),
    filesystem: filesystem(policy.filesystem),
    commands: commands(policy.commands),
    tools: tools(policy.tools),
    resources: names(policy.resources),
    prompts: {
      ...names(policy.prompts),
      analyze_logs:
        policy.prompts.analyzeLogsFile === undefined ? undefined : { log_file: policy.prompts.analyzeLogsFile },
    },
    approvals: approvals(policy.approvals),
    secrets: secrets(policy.secrets),
    databases: databases(policy.databases),
    plugins: plugins(policy.plugins),
    sandbox: sandbox(policy.sandbox),
    output: {
      max_bytes: policy.output.maxBytes,
      mark_untrusted: policy.output.markUntrusted,
      redact_secrets: policy.output.redactSecrets,
      hidden_unicode: policy.output.hiddenUnicode,
    },
    audit: audit(policy.audit),
  };
  const presets = policy.presets.length === 0 ? "" : `, with the presets ${policy.presets.join(", ")} written out`;
  return `# ${JSON.stringify(origin)}, sha-256 ${policy.hash}${presets}\n${lines(value, "").join("\n")}\n`;
}

function tools(policy: ToolsPolicy): Value {
  return {
    ...names(policy),
    rate_limits: perTool(policy.rateLimits, 1),
    timeouts: perTool(policy.timeoutsMs, 1_000),
    task_timeout: policy.taskTimeoutMs / 1_000,
    web_search: { ...policy.webSearch },
  };
}

function audit(policy: AuditPolicy): Value {
  const { file, everyRecords, everyMs } = policy.checkpoints ?? {};
  return {
    log_file: policy.logFile,
    log_level: policy.level,
    include: [...policy.include],
    rotate_mb: policy.rotateBytes / (1024 * 1024),
    checkpoints:
      policy.checkpoints === undefined
        ? undefined
        : { file, every_records: everyRecords, every_seconds: everyMs === undefined ? undefined : everyMs / 1_000 },
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

function lines(value: { readonly [key: string]: Value }, indent: string): string[] {
  return Object.entries(value).flatMap(([key, child]) => {
    const name = keyText(key);
    if (child === undefined) return [];
    if (isList(child)) return list(`${indent}${name}:`, child, indent);
    if (typeof child === "object") {
      const inner = lines(child, `${indent}  `);
      return inner.length === 0 ? [`${indent}${name}: {}`] : [`${indent}${name}:`, ...inner];
    }
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
  return `{ ${parts.map(([key, child]) => `${keyText(key)}: ${inline(child)}`).join(", ")} }`;
}

function keyText(key: string): string {
  return /^\w+$/.test(key) ? key : JSON.stringify(key);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}
