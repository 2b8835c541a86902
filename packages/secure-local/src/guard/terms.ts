// What one policy means for every call, worked out once when it comes into force.
import { type Decision, decide } from "../policy/decide.js";
import type { AuditField, Policy } from "../policy/policy.js";
import { noticeCleaner } from "./clean-notices.js";
import type { CleanLimits } from "./cleaning/clean-text.js";
import type { Time } from "./deadline.js";
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
  /** Cleans the params of what a call sends before its answer. */
  readonly cleanNotice: (params: object) => object;
  readonly records: Readonly<Record<"id" | "tool" | "arguments" | "outcome" | "duration" | "decision", boolean>>;
  time(subject: Subject): Time;
  /** What the policy says of something that exists. */
  decide(subject: Subject): Decision;
}

export function termsOf(policy: Policy): Terms {
  const { maxBytes, hiddenUnicode: hidden, redactSecrets: secrets } = policy.output;
  const cleaning: CleanLimits = { textBytes: maxBytes, resultBytes: maxBytes, hidden, secrets };
  const has = (field: AuditField): boolean => policy.audit.include.has(field);
  return {
    policy,
    label: policy.hash.slice(0, LABEL_DIGITS),
    rates: ratesOf(policy),
    cleaning,
    cleanNotice: noticeCleaner(cleaning),
    records: {
      id: has("request_id"),
      tool: has("tool_name"),
      arguments: has("arguments"),
      outcome: has("result_status"),
      duration: has("execution_time"),
      decision: has("security_events"),
    },
    decide: decider(policy),
    time: timer(policy),
  };
}

/** One object for each tool, since there is a call of one every few microseconds. */
function timer({ tools: { timeoutsMs, taskTimeoutMs: taskMs } }: Policy): (subject: Subject) => Time {
  const usual: Time = { callMs: timeoutsMs.default, taskMs };
  const own = new Map([...timeoutsMs.byName].map(([name, callMs]): [string, Time] => [name, { callMs, taskMs }]));
  return ({ kind, name }) => (kind === "tool" ? (own.get(name) ?? usual) : usual);
}

/** Tools are called again and again, and there are few of them, so each is decided once. */
function decider(policy: Policy): (subject: Subject) => Decision {
  const tools = new Map<string, Decision>();
  return ({ kind, name }) => {
    if (kind === "resource") return decide(policy, { kind, uri: name });
    if (kind === "prompt") return decide(policy, { kind, name });
    const known = tools.get(name);
    if (known !== undefined) return known;
    const decision = decide(policy, { kind, name });
    tools.set(name, decision);
    return decision;
  };
}
