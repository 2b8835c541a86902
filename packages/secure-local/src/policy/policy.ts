// Describes a policy as the program uses it: every default filled in, every pattern compiled.
//
// Keys of the file are given in the comments. Keys marked (ours) are optional additions to the format of
// mcp-secure-server; a file without them keeps its meaning.
import type { RangeMatcher } from "./address-range.js";
import type { HostMatcher } from "./host-matcher.js";
import type { NameMatcher } from "./name-matcher.js";
import type { PathMatcher } from "./path-matcher.js";
import type { PatternRule, Rule } from "./rule.js";

/** What may be reached by name. A name that neither list knows is denied; a name in both is denied. */
export interface NamesPolicy {
  /** `allowed`: names, or prefixes ending in `*`. */
  readonly allowed: NameMatcher;
  /** `denied` (ours): stronger than `allowed`. */
  readonly denied: NameMatcher;
}

/** Section `network`. */
export interface NetworkPolicy {
  /** `allowed_endpoints`: `host` (`*.example.com` for every host below it), `ports` (443 when absent), `description`. */
  readonly allowedEndpoints: HostMatcher;
  /** `denied_endpoints` (ours): the same shape, every port when `ports` is absent; stronger than every permission. */
  readonly deniedEndpoints: HostMatcher;
  /** `allowed_ranges`: addresses that may be reached at any port that is not blocked. */
  readonly allowedRanges: RangeMatcher;
  /** `blocked_ports`: never reached, whatever else is allowed. */
  readonly blockedPorts: ReadonlyMap<number, Rule>;
  /** `allow_dns: false` refuses every name; addresses may still be reached. Default true: allowed names are looked up. */
  readonly dnsRefused: Rule | undefined;
  /** `dns_allowlist`: when present, only these names are looked up. A name here that is no endpoint may lead into `allowed_ranges`. */
  readonly dnsNames: HostMatcher | undefined;
}

/** Section `filesystem`. Path values expand a leading `~` and `${NAME}`. */
export interface FilesystemPolicy {
  /** `allowed_paths`: absolute patterns with `*`, `**` and `?`. */
  readonly allowed: PathMatcher;
  /** `denied_paths`: stronger; compared without regard to case. */
  readonly denied: PathMatcher;
}

/** Section `commands`. */
export interface CommandsPolicy {
  /** `blocked`: commands that are never run. */
  readonly blocked: readonly PatternRule[];
}

/** A number for every tool, and others for some. */
export interface PerTool {
  readonly default: number;
  readonly byName: ReadonlyMap<string, number>;
}

/** `tools.web_search` (ours): which page answers a search. */
export interface WebSearchPolicy {
  /** `provider`: `duckduckgo` (default) or `searxng`. */
  readonly provider: "duckduckgo" | "searxng";
  /** `endpoint`: an http(s) URL in place of the provider's own; SearXNG has none of its own. The network section must allow it. */
  readonly endpoint: string | undefined;
}

/** Section `tools`. Without `allowed`, the tools that `rate_limits` names are allowed, as in mcp-secure-server's files. */
export interface ToolsPolicy extends NamesPolicy {
  /** `rate_limits`: calls a minute, `default` (60) and by name. */
  readonly rateLimits: PerTool;
  /** `timeout` in seconds (default 30), and `timeouts` (ours): seconds by name. Here in milliseconds. */
  readonly timeoutsMs: PerTool;
  /** `max_output_bytes` (ours): longest result of one call, default 1 MiB. */
  readonly maxOutputBytes: number;
  readonly webSearch: WebSearchPolicy;
}

/** Section `prompts` (ours). */
export interface PromptsPolicy extends NamesPolicy {
  /** `analyze_logs.log_file`: the log that the prompt `analyze_logs` embeds. */
  readonly analyzeLogsFile: string | undefined;
}

/** How much of what is not a call, a denial or a fault is recorded; those always are. */
export type AuditLevel = "DEBUG" | "INFO" | "WARN" | "ERROR";

/** Parts of a record that can be left out. */
export type AuditField =
  | "timestamp"
  | "request_id"
  | "tool_name"
  | "arguments"
  | "result_status"
  | "execution_time"
  | "security_events";

/** Section `audit`. */
export interface AuditPolicy {
  /** `log_file`: absolute path, `~` and `${NAME}` expanded; undefined means the program's own place. */
  readonly logFile: string | undefined;
  /** `log_level`: default `INFO`. */
  readonly level: AuditLevel;
  /** `include`: default all. */
  readonly include: ReadonlySet<AuditField>;
}

export interface Policy {
  readonly version: "1.0";
  /** The file it was read from; undefined for the built-in policy. */
  readonly file: string | undefined;
  /** SHA-256 of the file's bytes (of the built-in policy's text), in hexadecimal. */
  readonly hash: string;
  /** Counts the policies this process has made, from 1: a later one has a higher number. */
  readonly revision: number;
  readonly network: NetworkPolicy;
  readonly filesystem: FilesystemPolicy;
  readonly commands: CommandsPolicy;
  readonly tools: ToolsPolicy;
  /** Section `resources` (ours): URIs, or prefixes ending in `*`. */
  readonly resources: NamesPolicy;
  readonly prompts: PromptsPolicy;
  readonly audit: AuditPolicy;
}

/** The value for one tool. */
export function forTool(values: PerTool, name: string): number {
  return values.byName.get(name) ?? values.default;
}

let revisions = 0;

/** The number of the next policy. */
export function nextRevision(): number {
  return ++revisions;
}
