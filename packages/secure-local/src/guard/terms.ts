// What one policy means for every call, worked out once when it comes into force.
import type { AuditField, Policy } from "../policy/policy.js";
import { forTool } from "../policy/policy.js";
import type { CleanLimits } from "./cleaning/clean-text.js";
import { type Rates, ratesOf } from "./rate-limits.js";
import type { Subject } from "./subject.js";

/** Digits of the policy's hash that name it in the log: enough to tell versions apart, short enough to read. */
const LABEL_DIGITS = 12;

/** One version of the policy. A call keeps the terms it was admitted under. */
export interface Terms {
  readonly policy: Policy;
  /** Names the version in the audit log. */
  readonly label: string;
  readonly rates: Rates;
  readonly cleaning: CleanLimits;
  readonly records: Readonly<Record<"id" | "tool" | "arguments" | "outcome" | "duration" | "decision", boolean>>;
  timeoutMs(subject: Subject): number;
}

export function termsOf(policy: Policy): Terms {
  const { maxOutputBytes, timeoutsMs } = policy.tools;
  const has = (field: AuditField): boolean => policy.audit.include.has(field);
  return {
    policy,
    label: policy.hash.slice(0, LABEL_DIGITS),
    rates: ratesOf(policy),
    cleaning: { textBytes: maxOutputBytes, resultBytes: maxOutputBytes },
    records: {
      id: has("request_id"),
      tool: has("tool_name"),
      arguments: has("arguments"),
      outcome: has("result_status"),
      duration: has("execution_time"),
      decision: has("security_events"),
    },
    timeoutMs: ({ kind, name }) => (kind === "tool" ? forTool(timeoutsMs, name) : timeoutsMs.default),
  };
}
