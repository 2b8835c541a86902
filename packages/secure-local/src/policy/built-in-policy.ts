// The policy that holds when no file is named: a web search, a calculator, a clock, and nothing else.
import { hash } from "node:crypto";
import { RangeMatcher } from "./address-range.js";
import { HostMatcher } from "./host-matcher.js";
import { NameMatcher } from "./name-matcher.js";
import { PathMatcher } from "./path-matcher.js";
import { type AuditPolicy, nextRevision, type NamesPolicy, type Policy } from "./policy.js";
import {
  AUDIT_FIELDS,
  DEFAULT_OUTPUT_BYTES,
  DEFAULT_RATE,
  DEFAULT_ROTATE_MB,
  DEFAULT_SANDBOX,
  DEFAULT_TASK_TIMEOUT_S,
  DEFAULT_TIMEOUT_S,
} from "./policy-defaults.js";
import type { FilesystemPolicy, NetworkPolicy } from "./reach-policy.js";
import { patternRule } from "./rule.js";

const BUILT_IN = {
  hosts: ["html.duckduckgo.com", "lite.duckduckgo.com", "duckduckgo.com"],
  tools: ["web_search", "calculate", "get_timestamp"],
  resources: ["server://info"],
  prompts: ["code_review", "analyze_logs"],
  rates: [["web_search", 20]],
} as const;

/** The built-in policy. It reads nothing and needs no YAML. */
export function builtInPolicy(): Policy {
  return {
    version: "1.0",
    file: undefined,
    hash: hash("sha256", JSON.stringify(BUILT_IN)),
    revision: nextRevision(),
    presets: [],
    network: searchPages(),
    filesystem: noFiles(),
    commands: { blocked: [], allowed: new Map() },
    tools: {
      ...names("tools", BUILT_IN.tools),
      rateLimits: { default: DEFAULT_RATE, byName: new Map(BUILT_IN.rates) },
      timeoutsMs: { default: DEFAULT_TIMEOUT_S * 1_000, byName: new Map() },
      taskTimeoutMs: DEFAULT_TASK_TIMEOUT_S * 1_000,
      maxOutputBytes: DEFAULT_OUTPUT_BYTES,
      webSearch: { provider: "duckduckgo", endpoint: undefined },
    },
    resources: names("resources", BUILT_IN.resources),
    prompts: { ...names("prompts", BUILT_IN.prompts), analyzeLogsFile: undefined },
    audit: fullAudit(),
    approvals: [],
    secrets: new Map(),
    databases: new Map(),
    plugins: { folder: undefined, load: new Map() },
    sandbox: DEFAULT_SANDBOX,
    output: { maxBytes: DEFAULT_OUTPUT_BYTES, markUntrusted: false, redactSecrets: true, hiddenUnicode: "strip" },
  };
}

function searchPages(): NetworkPolicy {
  const rules = BUILT_IN.hosts.map((host) => ({
    ...patternRule("built-in network.allowed_endpoints", host),
    ports: new Set([443]),
  }));
  return {
    offline: undefined,
    allowedEndpoints: new HostMatcher(rules),
    deniedEndpoints: new HostMatcher([]),
    allowedRanges: new RangeMatcher([]),
    blockedPorts: new Map(),
    dnsRefused: undefined,
    dnsNames: undefined,
  };
}

function noFiles(): FilesystemPolicy {
  return {
    allowed: new PathMatcher([], false),
    readable: new PathMatcher([], false),
    denied: new PathMatcher([], true),
    unwritable: new PathMatcher([], true),
    readOnly: undefined,
  };
}

function fullAudit(): AuditPolicy {
  return {
    logFile: undefined,
    level: "INFO",
    include: new Set(AUDIT_FIELDS),
    rotateBytes: DEFAULT_ROTATE_MB * 1024 * 1024,
    checkpoints: undefined,
  };
}

function names(section: string, allowed: readonly string[]): NamesPolicy {
  return {
    allowed: new NameMatcher(allowed.map((name) => patternRule(`built-in ${section}.allowed`, name))),
    denied: new NameMatcher([]),
  };
}
