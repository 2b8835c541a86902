// The values that hold where a policy says nothing.
import type { AuditField } from "./policy.js";
import type { SandboxPolicy } from "./sandbox-policy.js";

/** Longest policy: a thousand rules with a comment each. What is longer is not a policy a person can judge. */
export const MAX_POLICY_BYTES: number = 256 * 1024;
/** Calls a minute, as in mcp-secure-server. */
export const DEFAULT_RATE = 60;
/** Seconds a call may take, as in mcp-secure-server. */
export const DEFAULT_TIMEOUT_S = 30;
/** Seconds a call that became a task may run: nobody waits for it, so it may be a long piece of work, but not for ever. */
export const DEFAULT_TASK_TIMEOUT_S = 3_600;
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
};
