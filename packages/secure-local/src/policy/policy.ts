// Describes a policy as the program uses it: every default filled in, every pattern compiled.
//
// Keys of the file are given in the comments. Keys marked (ours) are optional additions to the format of
// mcp-secure-server; a file without them keeps its meaning.
import type { HostMatcher, NameMatcher, RangeMatcher, ValuesByName } from "./host-matcher.js";
import type { PatternRule, Rule } from "./faults.js";
import type { PathMatcher } from "./path-matcher.js";

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
  readonly byName: ReadonlyMap<string, number> & Pick<ValuesByName, "keyOf">;
  /** The lines of those that a file says, "default" among them. */
  readonly lines?: ReadonlyMap<string, number>;
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
  /** `results` (ours): whether records say what a call was answered with, cleaned and cut. Default: they do not. */
  readonly results: boolean;
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
  /** Section `servers` (ours), by name. */
  readonly servers: ReadonlyMap<string, ServerGrant>;
  /** Section `profiles` (ours), by name. */
  readonly profiles: ReadonlyMap<string, ProfilePolicy>;
  /** The profile that this policy was narrowed to; undefined for the whole policy. */
  readonly profile: ProfilePolicy | undefined;
  /** `menu` (ours). */
  readonly menu: MenuPolicy;
  readonly sandbox: SandboxPolicy;
  readonly output: OutputPolicy;
  /** Of a part of a policy: what the whole of it starts. */
  readonly started?: readonly StartedFile[];
  /** Of a part of a policy: the whole of it. */
  readonly whole?: Policy;
  /** Where places of the program's own are named: the lines of their keys. */
  readonly lines?: ReadonlyMap<string, number>;
}

/** Something that is started as it is by then, without a hash: whoever writes it runs what they like. */
export interface StartedFile {
  /** A file, or a folder with all that lies in it. */
  readonly path: string;
  /** What in it is data, and not started: a plugin's grants in its own folder. */
  readonly except: PathMatcher | undefined;
  /** The working folder it is started in, where one is known: an interpreter may be named from there. */
  readonly from?: string | undefined;
  /** Only where it is a file already: an argument may be something else. */
  readonly existing?: boolean;
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

// Describes the section `approvals`: which calls need a person's consent, and whose.

/** Who may answer: the client's user through elicitation, or the person at a terminal of this machine. */
export type Approver = "client" | "terminal";

/**
 * How long one consent lasts: `none` for the one call it was asked for, `session` until the client has gone, `minutes` for
 * so many. A remembered consent holds for the same tool with the same arguments only.
 */
export type Remember =
  | { readonly kind: "none" }
  | { readonly kind: "session" }
  | { readonly kind: "minutes"; readonly minutes: number };

/** One condition of `when`. */
export interface ArgumentCondition {
  /** The argument's name; dots lead into objects, as in `options.path`. */
  readonly argument: string;
  /** As written: a path pattern when it begins with `/` or `~` or two stars, any other text with `*` and `?`, a number or a yes or no. */
  readonly pattern: string | number | boolean;
  readonly isPath: boolean;
}

/** One item of `approvals`. A call needs consent when any item fits it. */
export interface ApprovalRule {
  readonly rule: Rule;
  /**
   * `approve`: `destructive` (tools that say they destroy or do not say they do not), `tainted` (tools that can send something out, once
   * the session has read private data and texts of strangers), `all`, or names and prefixes of tools.
   */
  readonly approve: "destructive" | "tainted" | "all" | NameMatcher;
  /** `when`: every condition has to fit; without it every call of those tools is meant. */
  readonly when: readonly ArgumentCondition[];
  /** `timeout` in seconds, default 120, at most 300. Here in milliseconds. No answer in time is a refusal. */
  readonly timeoutMs: number;
  /** `remember`: `none` (default), `session`, or minutes from 1 to 60. */
  readonly remember: Remember;
  /** `answer_by`: default both. */
  readonly answerBy: ReadonlySet<Approver>;
}

// Describes the section `commands`: what may be run, with which arguments, and what never is.

/** What one argument may be. */
export type ArgumentGrammar =
  /** `fixed`: this very text. */
  | { readonly kind: "fixed"; readonly text: string }
  /** `enum`: one of these texts. */
  | { readonly kind: "enum"; readonly values: readonly string[] }
  /** `pattern`: a regular expression (RE2: linear time, no look-around) that the whole text fits. */
  | { readonly kind: "pattern"; readonly source: string; readonly fits: (text: string) => boolean }
  /** `path`: a path that the filesystem section allows to be read, or written. */
  | { readonly kind: "path"; readonly access: "read" | "write" }
  /** `integer`: a whole number between two bounds, both included. */
  | { readonly kind: "integer"; readonly min: number; readonly max: number };

/** One item of `arguments`: what stands at a position. */
export interface PositionRule {
  readonly rule: Rule;
  readonly grammar: ArgumentGrammar;
  /** `optional`: it may be missing; so may then everything behind it. Default false. */
  readonly optional: boolean;
  /** `repeat`: the most times it may stand there, default 1; more than 1 only at the last position. */
  readonly repeat: number;
}

/** One item of `flags`: an option that may stand anywhere behind the `fixed` arguments that begin the list, at most once. */
export interface FlagRule {
  readonly rule: Rule;
  /** `flag`: with its dashes, as in `--max-count`. */
  readonly flag: string;
  /** The grammar of its value, which follows as the next argument or after `=`; undefined for a switch. */
  readonly value: ArgumentGrammar | undefined;
}

/** One item of `commands.allowed`. */
export interface AllowedCommand {
  /** `name`: what `run_command` and plugins call it. */
  readonly name: string;
  readonly rule: Rule;
  /** `executable`: absolute path; `~` and `${NAME}` expanded. */
  readonly executable: string;
  /** `sha256` of the executable's bytes in lower-case hexadecimal; without it any content runs. */
  readonly sha256: string | undefined;
  /** `arguments`: what may stand at each position, in order; an absent list allows no operand. */
  readonly positions: readonly PositionRule[];
  /** `flags`. */
  readonly flags: readonly FlagRule[];
  /** `env`: the whole environment of the process; nothing is inherited. */
  readonly env: ReadonlyMap<string, string>;
  /** `working_directory`: absolute; undefined means an empty folder of its own. */
  readonly workingDirectory: string | undefined;
  /** `timeout` in seconds, default 30. Here in milliseconds. */
  readonly timeoutMs: number;
  /** `network`: the same keys as the section of that name; absent: no network at all. */
  readonly network: NetworkPolicy;
}

/** Section `commands`. */
export interface CommandsPolicy {
  /** `blocked`: commands that are never run, by the last part of their path; stronger than `allowed`. */
  readonly blocked: readonly PatternRule[];
  /** `allowed` (ours): nothing else is run. By name. */
  readonly allowed: ReadonlyMap<string, AllowedCommand>;
}

// Describes the sections `secrets` and `databases`: values and stores that are known by a name.

/** One entry of `secrets` (ours): a value that nobody but its own hosts gets to see. */
export interface SecretPolicy {
  readonly name: string;
  readonly rule: Rule;
  /** `from`: `env:NAME` or `file:PATH` (absolute; `~` and `${NAME}` expanded). It is read when it is needed. */
  readonly from: { readonly kind: "env"; readonly name: string } | { readonly kind: "file"; readonly path: string };
  /** `hosts`: the only ones it is sent to; a text (port 443) or `host` and `ports`. Of a database's secret: the server of its URL. */
  readonly hosts: HostMatcher;
  /** `header`: lower case; when given, the only header it is put in. Without it, `query` and `body` it may be any. */
  readonly header: string | undefined;
  /** `query`: the parameter of a URL it is put in. */
  readonly query: string | undefined;
  /** `body`: the field of a JSON or form body it is put in; `*`: any, and a body of plain text. */
  readonly body: string | undefined;
}

/** One entry of `databases` (ours). It is itself the permission: what it names is reached by the tools for databases and by no other. */
export interface DatabasePolicy {
  readonly name: string;
  readonly rule: Rule;
  /** `file`: an SQLite file; or `secret`: the name of the secret that holds a `postgresql://` URL. */
  readonly store:
    | { readonly kind: "sqlite"; readonly file: string }
    | { readonly kind: "postgresql"; readonly secret: string };
  /** `read_only`: default true; `import_csv` needs false. */
  readonly readOnly: boolean;
  /** `row_limit`: most rows of one answer, default 1,000. */
  readonly rowLimit: number;
  /** `timeout` in seconds for one statement, default 10. Here in milliseconds. */
  readonly timeoutMs: number;
  /** `functions`: those that PostgreSQL statements may call beside the ones that are known to only read. */
  readonly functions: FunctionNames;
  /** `superuser`: whether the role may be one, or may run programs or reach files of the server. Default false. */
  readonly superuser: boolean;
}

/** Functions of a database as `name`, `schema.name`, or the beginning of either and `*`. Capitals count, as in quoted names. */
export class FunctionNames {
  readonly rules: readonly PatternRule[];

  constructor(rules: readonly PatternRule[]) {
    this.rules = rules;
  }

  /** Whether it is named. One of PostgreSQL's own has to be named whole: `pg_*` is half of what a server can do. */
  names({ schema, name }: { readonly schema: string; readonly name: string }): boolean {
    const full = `${schema}.${name}`;
    return this.rules.some(({ pattern }) => {
      if (!pattern.endsWith("*")) return pattern === name || pattern === full;
      const start = pattern.slice(0, -1);
      return schema !== "pg_catalog" && (start.includes(".") ? full : name).startsWith(start);
    });
  }

  /** Whether some rule could mean it. The schema is empty where it is not known yet. */
  mayName({ schema, name }: { readonly schema: string; readonly name: string }): boolean {
    if (schema !== "") return this.names({ schema, name });
    return this.rules.some(({ pattern }) => {
      const dot = pattern.indexOf(".");
      return this.names({ schema: dot < 0 ? "" : pattern.slice(0, dot), name });
    });
  }
}

// Describes the section `plugins`: which plugins are started, and what each may reach.

/** One item of `plugins.load`. */
export interface PluginGrant {
  /** `name`: the plugin's own name must be the same. */
  readonly name: string;
  readonly rule: Rule;
  /** `path`: absolute, the plugin's folder or file; without it `folder` and the name together. */
  readonly path: string;
  /** `sha256` of the plugin's content, of which a copy is started; without it any content runs. */
  readonly sha256: string | undefined;
  /** `enabled`: default true. */
  readonly enabled: boolean;
  /** `network`: the same keys as the section of that name; absent: no network. The section's own denials hold as well. */
  readonly network: NetworkPolicy;
  /** `filesystem`: the same keys as the section of that name; absent: no files. The section's own denials hold as well. */
  readonly filesystem: FilesystemPolicy;
  /** `commands`: names from `commands.allowed` that it may run. */
  readonly commands: readonly string[];
  /** `secrets`: names from `secrets` that it may use. */
  readonly secrets: readonly string[];
  /** `accept`: rules of the inspection whose findings in this plugin a person has looked at; they no longer count. */
  readonly accept: readonly string[];
  /** `storage_kb`: KiB it may keep between its starts, default 0: nothing. Here in bytes. */
  readonly storageBytes: number;
}

/** Section `plugins` (ours). */
export interface PluginsPolicy {
  /** `folder`: where plugins are that have no `path`; one found there and not in `load` is listed and not started. */
  readonly folder: string | undefined;
  /** `load`, by name. */
  readonly load: ReadonlyMap<string, PluginGrant>;
}

// Describes the section `servers`: other MCP servers that are offered behind this policy.

/** What a server asks back: input of a person, an answer of the client's model, the client's folders. */
export type ServerQuestion = "elicitation" | "sampling" | "roots";

/** One entry of `servers` (ours). */
export interface ServerGrant {
  readonly name: string;
  readonly rule: Rule;
  /** `command`: a program and its arguments; or `url`. */
  readonly launch:
    | { readonly kind: "command"; readonly command: readonly string[] }
    | { readonly kind: "url"; readonly url: string };
  /** `enabled`: default true. */
  readonly enabled: boolean;
  /** `working_directory` of a command: absolute; undefined means an empty folder of its own. */
  readonly workingDirectory: string | undefined;
  /** `env`: variables of a command beside PATH and the like; `${secret:NAME}` stands for a secret's value. */
  readonly env: ReadonlyMap<string, string>;
  /** `headers`: sent to a URL; `${secret:NAME}` as in `env`. */
  readonly headers: ReadonlyMap<string, string>;
  /** `login: oauth`: a URL is reached with the tokens that `servers login` was given for it. */
  readonly login: "oauth" | undefined;
  /** `network`: the same keys as the section of that name; absent: a command has no network. The section's own denials hold as well. */
  readonly network: NetworkPolicy;
  /** `filesystem`: the same keys as the section of that name; absent: a command sees no files. The section's own denials hold as well. */
  readonly filesystem: FilesystemPolicy;
  /** `tools.denied`: the server's own names, or prefixes ending in `*`, that are not offered. */
  readonly deniedTools: NameMatcher;
  /** `accept`: rules of the inspection whose findings in this server a person has looked at; they no longer count. */
  readonly accept: readonly string[];
  /** `may_ask`: what it may ask of the caller in a call; default `elicitation` alone. */
  readonly mayAsk: ReadonlySet<ServerQuestion>;
  /** `idle`: minutes after which a server that nobody calls is stopped, default 15. Here in milliseconds. */
  readonly idleMs: number;
}

// Describes the sections `profiles` and `menu`: what of it all some clients get, and how long their list of tools may be.

/** One entry of `profiles` (ours): a part of the policy, for clients that ask for it by path or option. */
export interface ProfilePolicy {
  readonly name: string;
  readonly rule: Rule;
  /** `servers`: those it has; undefined: all of them. */
  readonly servers: readonly string[] | undefined;
  /** `tools.allowed`: those it has of the tools that the policy allows; undefined: all of them. */
  readonly allowedTools: NameMatcher | undefined;
  /** `tools.denied`: stronger than `tools.allowed`. */
  readonly deniedTools: NameMatcher;
  /** Taken out of the policy while it was served: it allows nothing any more. */
  readonly gone?: true;
}

/** `menu` (ours): every tool in the list, or two that find and call the others. */
export interface MenuPolicy {
  readonly mode: "full" | "search" | "auto";
  /** Absent where the file says nothing. */
  readonly rule: Rule | undefined;
}

// The values that hold where a policy says nothing.

/** The tool that calls another one by its name. */
export const CALLING_TOOL = "call_tool";
/** The two tools of a menu that stand for all others. */
export const MENU_TOOLS: readonly string[] = ["search_tools", CALLING_TOOL];
/** Why a rule that names `call_tool` is a fault: it would hold for no call. */
export const NO_CALL_OF_ITS_OWN: string = `names ${CALLING_TOOL}, and a call through it is the call of the tool that it names; name that tool`;
/** Nobody is surprised: what the policy allows is listed. */
export const DEFAULT_MENU: MenuPolicy = Object.freeze({ mode: "full", rule: undefined });

/** Longest policy: a thousand rules with a comment each. What is longer is not a policy a person can judge. */
export const MAX_POLICY_BYTES: number = 256 * 1024;
/** Calls a minute, as in mcp-secure-server. */
export const DEFAULT_RATE = 60;
/** Seconds a call may take, as in mcp-secure-server. */
export const DEFAULT_TIMEOUT_S = 30;
/** Seconds a call that became a task may run: nobody waits for it, so it may be a long piece of work, but not for ever. */
export const DEFAULT_TASK_TIMEOUT_S = 3_600;
/** The longest that a policy may give a task, in seconds: as long as the library keeps one for a client that asks for it. */
export const MAX_TASK_TIMEOUT_S = 86_400;
/** Bytes of one result: far beyond what a model reads well. */
export const DEFAULT_OUTPUT_BYTES: number = 1024 * 1024;
/** Every part of a record, in the order mcp-secure-server names them. */
export const AUDIT_FIELDS: readonly AuditField[] = [
  "timestamp",
  "request_id",
  "tool_name",
  "arguments",
  "result_status",
  "execution_time",
  "security_events",
];
/** MiB of one log file: some hundred thousand records, still opened by any editor. */
export const DEFAULT_ROTATE_MB = 64;
/** What a process inside the sandbox may use: room for a package manager, none for a machine that others need. */
export const DEFAULT_SANDBOX: SandboxPolicy = {
  mode: "required",
  rule: undefined,
  processes: 64,
  memoryMb: 1_024,
  cpuSeconds: 60,
  fileMb: 64,
  readOnlyPaths: [],
  homes: undefined,
  git: false,
};

// Describes the sections `network` and `filesystem`, which plugins and commands have as well.

/** Section `network`. */
export interface NetworkPolicy {
  /** `offline: true` (ours) refuses every host and address, whatever else is allowed. */
  readonly offline: Rule | undefined;
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
  /** `allowed_paths`: absolute patterns with `*`, `**` and `?`; what fits may be read, listed, written and deleted. */
  readonly allowed: PathMatcher;
  /** `readable_paths` (ours): what fits may be read and listed. */
  readonly readable: PathMatcher;
  /** `denied_paths`: stronger; compared without regard to case; a folder is denied with all that lies in it. */
  readonly denied: PathMatcher;
  /** `denied_write_paths` (ours): never written or deleted; compared like denials, folders with all that lies in them. */
  readonly unwritable: PathMatcher;
  /** `read_only: true` (ours) refuses every write and deletion. */
  readonly readOnly: Rule | undefined;
}

// Describes the sections `sandbox` and `output`.

/** Section `sandbox` (ours): the wall around plugins and commands. `sandbox: none` is short for `mode: none`. */
export interface SandboxPolicy {
  /** `mode`: `required` (default: what cannot be walled in is not started) or `none`. */
  readonly mode: "required" | "none";
  /** The rule behind `none`, for the audit log. */
  readonly rule: Rule | undefined;
  /** `processes`: most at a time in one sandbox, default 64. */
  readonly processes: number;
  /** `memory_mb`: for each process, in MiB, default 1,024. */
  readonly memoryMb: number;
  /** `cpu_seconds`: for each process, default 60. */
  readonly cpuSeconds: number;
  /** `file_mb`: longest file it may write, in MiB, default 64. */
  readonly fileMb: number;
  /** `read_only_paths`: absolute paths seen inside beside the system's own; no patterns. Not in a folder that a program may write. */
  readonly readOnlyPaths: readonly string[];
  /** `homes`: an absolute folder in which each command and plugin has a home of its own, kept from start to start; absent: homes vanish. */
  readonly homes: string | undefined;
  /** `git`: whether programs may work with git in the folders they were granted, default false. */
  readonly git: boolean;
}

/** What becomes of characters that people do not see. */
export type HiddenUnicode = "strip" | "show" | "refuse";

/** Section `output` (ours): what is done to every text before a model reads it. */
export interface OutputPolicy {
  /** `max_bytes` of one result, default 1 MiB; the same as `tools.max_output_bytes`. */
  readonly maxBytes: number;
  /** `mark_untrusted`: texts from outside are wrapped in a marker that says so. Default false: answers read as their tools wrote them. */
  readonly markUntrusted: boolean;
  /** `redact_secrets`: what looks like a key or password is taken out, default true. */
  readonly redactSecrets: boolean;
  /** `hidden_unicode`: `strip` (default), `show` as escapes, or `refuse` the result. */
  readonly hiddenUnicode: HiddenUnicode;
}
