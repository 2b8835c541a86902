// Describes a policy as the program uses it: every default filled in, every pattern compiled.
//
// Keys of the file are given in the comments. Keys marked (ours) are optional additions to the format of
// mcp-secure-server; a file without them keeps its meaning.
import type { ApprovalRule } from "./approvals-policy.js";
import type { CommandsPolicy } from "./commands-policy.js";
import type { DatabasePolicy, SecretPolicy } from "./data-policy.js";
import type { NameMatcher } from "./name-matcher.js";
import type { PluginsPolicy } from "./plugins-policy.js";
import type { FilesystemPolicy, NetworkPolicy } from "./reach-policy.js";
import type { OutputPolicy, SandboxPolicy } from "./sandbox-policy.js";

/** What may be reached by name. A name that neither list knows is denied; a name in both is denied. */
export interface NamesPolicy {
  /** `allowed`: names, or prefixes ending in `*`. */
  readonly allowed: NameMatcher;
  /** `denied` (ours): stronger than `allowed`. */
  readonly denied: NameMatcher;
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
  /** `task_timeout` (ours): seconds a call that became a task may run, default an hour. Here in milliseconds. */
  readonly taskTimeoutMs: number;
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
  /** `rotate_mb` (ours): a log file longer than this many MiB is closed and a new one begun, default 64. Here in bytes. */
  readonly rotateBytes: number;
  /** `checkpoints` (ours): signed heads of the chain in a second place; undefined: none. */
  readonly checkpoints: CheckpointPolicy | undefined;
}

/** `audit.checkpoints` (ours). */
export interface CheckpointPolicy {
  /** `file`: absolute path, best on another disk or of another owner. */
  readonly file: string;
  /** `every_records`: default 1,000. */
  readonly everyRecords: number;
  /** `every_seconds`: default 60. Here in milliseconds. */
  readonly everyMs: number;
}

export interface Policy {
  readonly version: "1.0";
  /** The file it was read from; undefined for the built-in policy. */
  readonly file: string | undefined;
  /** SHA-256 of the file's bytes (of the built-in policy's text), in hexadecimal. */
  readonly hash: string;
  /** Counts the policies this process has made, from 1: a later one has a higher number. */
  readonly revision: number;
  /** `extends` (ours): the presets this policy builds on. Their rules are in the sections already. */
  readonly presets: readonly string[];
  readonly network: NetworkPolicy;
  readonly filesystem: FilesystemPolicy;
  readonly commands: CommandsPolicy;
  readonly tools: ToolsPolicy;
  /** Section `resources` (ours): URIs, or prefixes ending in `*`. */
  readonly resources: NamesPolicy;
  readonly prompts: PromptsPolicy;
  readonly audit: AuditPolicy;
  /** Section `approvals` (ours). */
  readonly approvals: readonly ApprovalRule[];
  /** Section `secrets` (ours), by name. */
  readonly secrets: ReadonlyMap<string, SecretPolicy>;
  /** Section `databases` (ours), by name. */
  readonly databases: ReadonlyMap<string, DatabasePolicy>;
  readonly plugins: PluginsPolicy;
  readonly sandbox: SandboxPolicy;
  readonly output: OutputPolicy;
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
