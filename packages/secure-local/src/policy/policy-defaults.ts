// The values that hold where a policy says nothing.
import type { AuditField } from "./policy.js";

/** Calls a minute, as in mcp-secure-server. */
export const DEFAULT_RATE = 60;
/** Seconds a call may take, as in mcp-secure-server. */
export const DEFAULT_TIMEOUT_S = 30;
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
