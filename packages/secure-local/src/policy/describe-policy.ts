// Writes a policy out as a policy file, every default filled in, every variable expanded, ready to be edited, and says
// where its rules stand.
import type { PatternRule } from "./faults.js";
import type { EndpointRule } from "./host-matcher.js";
import type {
  AllowedCommand,
  ApprovalRule,
  ArgumentGrammar,
  AuditPolicy,
  CommandsPolicy,
  DatabasePolicy,
  FilesystemPolicy,
  NamesPolicy,
  NetworkPolicy,
  PerTool,
  PluginsPolicy,
  Policy,
  ProfilePolicy,
  SandboxPolicy,
  SecretPolicy,
  ServerGrant,
  ToolsPolicy,
} from "./policy.js";

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
    servers: mapped(policy.servers, server),
    profiles: mapped(policy.profiles, profile),
    menu: policy.menu.mode,
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
  const { checkpoints } = policy;
  return {
    log_file: policy.logFile,
    log_level: policy.level,
    include: [...policy.include],
    results: policy.results,
    rotate_mb: policy.rotateBytes / (1024 * 1024),
    checkpoints: checkpoints && {
      file: checkpoints.file,
      every_records: checkpoints.everyRecords,
      every_seconds: checkpoints.everyMs / 1_000,
    },
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

// Writes the sections approvals, secrets, databases, commands, plugins and sandbox out as they stand in a policy file.

export function approvals(rules: readonly ApprovalRule[]): Value {
  return rules.map(({ approve, when, timeoutMs, remember, answerBy }) => ({
    approve: typeof approve === "string" ? approve : patterns(approve.rules),
    when: when.length === 0 ? undefined : Object.fromEntries(when.map(({ argument, pattern }) => [argument, pattern])),
    timeout: timeoutMs / 1_000,
    remember: remember.kind === "minutes" ? remember.minutes : remember.kind,
    answer_by: [...answerBy],
  }));
}

export function secrets(entries: ReadonlyMap<string, SecretPolicy>): Value {
  return mapped(entries, ({ from, hosts, header, query, body }) => ({
    from: from.kind === "env" ? `env:${from.name}` : `file:${from.path}`,
    hosts: endpoints(hosts.rules),
    header,
    query,
    body,
  }));
}

export function databases(entries: ReadonlyMap<string, DatabasePolicy>): Value {
  return mapped(entries, ({ store, readOnly, rowLimit, timeoutMs, functions, superuser }) => ({
    ...(store.kind === "sqlite"
      ? { file: store.file }
      : { secret: store.secret, functions: patterns(functions.rules), superuser }),
    read_only: readOnly,
    row_limit: rowLimit,
    timeout: timeoutMs / 1_000,
  }));
}

export function commands({ blocked, allowed }: CommandsPolicy): Value {
  return { blocked: patterns(blocked), allowed: [...allowed.values()].map(command) };
}

function command(given: AllowedCommand): Value {
  return {
    name: given.name,
    executable: given.executable,
    sha256: given.sha256,
    arguments: given.positions.map((position) => ({
      ...grammar(position.grammar),
      optional: position.optional,
      repeat: position.repeat,
    })),
    flags: given.flags.map(({ flag, value }) => (value === undefined ? flag : { flag, ...grammar(value) })),
    env: Object.fromEntries(given.env),
    working_directory: given.workingDirectory,
    timeout: given.timeoutMs / 1_000,
    network: network(given.network),
  };
}

function grammar(given: ArgumentGrammar): { readonly [key: string]: Value } {
  switch (given.kind) {
    case "fixed":
      return { fixed: given.text };
    case "enum":
      return { enum: given.values };
    case "pattern":
      return { pattern: given.source };
    case "path":
      return { path: given.access };
    case "integer":
      return { integer: [given.min, given.max] };
  }
}

export function plugins({ folder, load }: PluginsPolicy): Value {
  const loaded = [...load.values()].map((plugin) => ({
    name: plugin.name,
    path: plugin.path,
    sha256: plugin.sha256,
    enabled: plugin.enabled,
    network: network(plugin.network),
    filesystem: filesystem(plugin.filesystem),
    commands: plugin.commands,
    secrets: plugin.secrets,
    accept: plugin.accept.length === 0 ? undefined : plugin.accept,
    storage_kb: plugin.storageBytes === 0 ? undefined : plugin.storageBytes / 1_024,
  }));
  return { folder, load: loaded };
}

function server({ launch, ...grant }: ServerGrant): Value {
  const { enabled, workingDirectory, env, headers, login, deniedTools, accept, mayAsk, idleMs } = grant;
  const denied = patterns(deniedTools.rules);
  const some = { enabled, tools: { denied }, accept, may_ask: [...mayAsk], idle: idleMs / 60_000 };
  if (launch.kind === "url") return { url: launch.url, headers: Object.fromEntries(headers), login, ...some };
  return {
    command: launch.command,
    working_directory: workingDirectory,
    env: Object.fromEntries(env),
    network: network(grant.network),
    filesystem: filesystem(grant.filesystem),
    ...some,
  };
}

function profile({ servers, allowedTools, deniedTools }: ProfilePolicy): Value {
  return {
    servers,
    tools: { allowed: allowedTools && patterns(allowedTools.rules), denied: patterns(deniedTools.rules) },
  };
}

export function sandbox(policy: SandboxPolicy): Value {
  return {
    mode: policy.mode,
    processes: policy.processes,
    memory_mb: policy.memoryMb,
    cpu_seconds: policy.cpuSeconds,
    file_mb: policy.fileMb,
    read_only_paths: policy.readOnlyPaths,
    homes: policy.homes,
    git: policy.git,
  };
}

function mapped<T>(entries: ReadonlyMap<string, T>, write: (entry: T) => Value): Value {
  return Object.fromEntries([...entries].map(([name, entry]) => [name, write(entry)]));
}

// Writes the sections network and filesystem out as they stand in a policy file.

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

function endpoints(rules: readonly EndpointRule[]): Value[] {
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

function patterns(rules: readonly PatternRule[]): string[] {
  // A preset and the file may name the same.
  return [...new Set(rules.map(({ pattern }) => pattern))];
}

// Where the rules of a policy stand in its file, by what records say of them.

/** What a record names of the rule that decided. */
export interface NamedRule {
  readonly rule: string;
  readonly method: string;
  /** The tool, prompt or resource. */
  readonly name: string;
}

/** Rules inside one another: a server's grants in its entry, positions of a command's arguments. */
const MAX_DEPTH = 12;
const LIMIT = /^rate limit: (\d{1,9}) a minute$/;

/** Finds the line of a rule as it is written in this policy; undefined where no line of it says that. */
export function ruleLines(policy: Policy): (of: NamedRule) => number | undefined {
  const lines = new Map<string, number>();
  note(policy, lines, 0);
  const { byName, default: usual, lines: limitLines } = policy.tools.rateLimits;
  return ({ rule, method, name }) => {
    const [, limit] = LIMIT.exec(rule) ?? [];
    if (limit === undefined) return lines.get(rule);
    if (method !== "tools/call" || Number(limit) !== (byName.get(name) ?? usual)) return undefined;
    return limitLines?.get(byName.has(name) ? name : "default");
  };
}

/** Of equal texts the first one is kept: it is the one that decides. */
function note(value: unknown, lines: Map<string, number>, depth: number): void {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return;
  if (value instanceof Map || value instanceof Set || Array.isArray(value)) {
    for (const each of value.values()) note(each, lines, depth + 1);
    return;
  }
  const { text, line } = value as { readonly text?: unknown; readonly line?: unknown };
  if (typeof text === "string" && typeof line === "number" && !lines.has(text)) lines.set(text, line);
  for (const each of Object.values(value)) note(each, lines, depth + 1);
}
