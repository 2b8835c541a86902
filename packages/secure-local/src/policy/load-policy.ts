// Loads the policy file a person named, after making sure that nobody else can have written it.
import * as fs from "node:fs";
import { hash } from "node:crypto";
import {
  AUDIT_FIELDS,
  type AuditPolicy,
  DEFAULT_MENU,
  DEFAULT_OUTPUT_BYTES,
  DEFAULT_RATE,
  DEFAULT_ROTATE_MB,
  DEFAULT_SANDBOX,
  DEFAULT_TASK_TIMEOUT_S,
  DEFAULT_TIMEOUT_S,
  type FilesystemPolicy,
  MAX_POLICY_BYTES,
  type NamesPolicy,
  type NetworkPolicy,
  nextRevision,
  type Policy,
} from "./policy.js";
import { PolicyError, patternRule } from "./faults.js";
import { HostMatcher, NameMatcher, RangeMatcher, ValuesByName } from "./host-matcher.js";
import { PathMatcher } from "./path-matcher.js";

/** Bits of a file's mode that let its group or everyone write to it. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * The policy of a file, or the built-in one when no file is named; with a profile the part of it that this has.
 *
 * @throws PolicyError when the file is missing, unreadable, not a regular file, writable by others than its owner, owned
 *   by somebody else than this user or root, too long, not UTF-8, or not a policy, and when it has no such profile.
 */
export async function loadPolicy(file?: string, profile?: string): Promise<Policy> {
  const policy = await wholePolicy(file);
  return profile === undefined ? policy : (await import("./read-names.js")).profiledPolicy(policy, profile);
}

async function wholePolicy(file: string | undefined): Promise<Policy> {
  if (file === undefined) return builtInPolicy();
  const { parsePolicy } = await import("./parse-policy.js"); // the readers of every section: most starts need none
  return await parsePolicy(readPolicyText(file), { file });
}

function readPolicyText(file: string): string {
  // A pipe or device under this name must not block the program; judging the open file leaves no time to swap it.
  const flags = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);
  let fd: number | undefined;
  try {
    fd = fs.openSync(file, flags);
    const wrong = statusFault(fs.fstatSync(fd));
    if (wrong !== undefined) throw fault(file, wrong);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readBounded(fd));
  } catch (error) {
    throw error instanceof PolicyError ? error : fault(file, systemFault(error));
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

function statusFault(status: fs.Stats): string | undefined {
  if (status.isDirectory()) return "this is a folder; name the policy file in it";
  if (!status.isFile()) return "this is not a regular file; name one";
  if (process.platform === "win32") return undefined;
  const user = process.getuid?.();
  if (user !== undefined && status.uid !== user && status.uid !== 0) {
    return `the file belongs to user ${status.uid}, who could change what is allowed; make it yours (chown)`;
  }
  if ((status.mode & WRITABLE_BY_OTHERS) !== 0)
    return "others than its owner can write to the file; run chmod go-w on it";
  return undefined;
}

function readBounded(fd: number): Buffer {
  // One byte more than is allowed tells a file that is too long from one that just fits.
  // Not filled: most of it is never written, and nothing but what was is read.
  const buffer = Buffer.allocUnsafe(MAX_POLICY_BYTES + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < buffer.length; length += read) {
    read = fs.readSync(fd, buffer, length, buffer.length - length, null);
  }
  return buffer.subarray(0, length);
}

function systemFault(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT") return "there is no such file; check the path";
  if (code === "EACCES" || code === "EPERM") return "the file cannot be read; allow yourself to (chmod u+r)";
  // So the system says that it is a socket.
  if (code === "ENXIO") return "this is not a regular file; name one";
  if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return "the file is not UTF-8 text; save it as UTF-8";
  return `the file cannot be read (${error instanceof Error ? error.message : String(error)}); check the path`;
}

function fault(file: string, message: string): PolicyError {
  return new PolicyError([{ file, line: 1, column: 1, message }]);
}

// The policy that holds when no file is named: a web search, a calculator, a clock, and nothing else.

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
      rateLimits: { default: DEFAULT_RATE, byName: new ValuesByName(BUILT_IN.rates) },
      timeoutsMs: { default: DEFAULT_TIMEOUT_S * 1_000, byName: new ValuesByName() },
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
    servers: new Map(),
    profiles: new Map(),
    profile: undefined,
    menu: DEFAULT_MENU,
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
    results: false,
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
