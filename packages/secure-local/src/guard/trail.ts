// Writes the audit records of guarded requests: what was meant, how it ended, what was refused.
import type { Call } from "@secure-local/mcp/server";
import type { AuditSink } from "../audit/audit-event.js";
import type { Fault } from "./fault-book.js";
import type { Refusal } from "./refusal.js";
import type { Subject } from "./subject.js";
import type { Terms } from "./terms.js";

/** A request and the terms it is judged by. */
export interface Guarded {
  readonly call: Call;
  readonly subject: Subject;
  readonly terms: Terms;
}

/** How a request ended, as the log names it. */
export interface Result {
  readonly outcome: "ok" | "error" | "timeout" | "cancelled" | "input_required";
  readonly durationMs: number;
  readonly fault: Fault | undefined;
  /** What else there is to say: why it was cancelled, which error code it got. */
  readonly detail: Readonly<Record<string, unknown>> | undefined;
}

/** Every method resolves when its record is safe, and rejects when it is not. */
export class Trail {
  readonly #audit: AuditSink;

  constructor(audit: AuditSink) {
    this.#audit = audit;
  }

  intent({ call, subject, terms }: Guarded, rule: string): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "call.intent",
      id: records.id ? call.id : undefined,
      principal: call.carrier.principal,
      method: call.method,
      tool: records.tool ? subject.name : undefined,
      arguments: records.arguments ? argumentsOf(call) : undefined,
      decision: records.decision ? { allowed: true, rule } : undefined,
      policy: terms.label,
    });
  }

  result({ call, subject, terms }: Guarded, { outcome, durationMs, fault, detail }: Result): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "call.result",
      id: records.id ? call.id : undefined,
      principal: call.carrier.principal,
      method: call.method,
      tool: records.tool ? subject.name : undefined,
      duration_ms: records.duration ? Math.round(durationMs * 1_000) / 1_000 : undefined,
      outcome: records.outcome ? outcome : undefined,
      error_id: fault?.id,
      error: fault?.text,
      policy: terms.label,
      detail,
    });
  }

  refused({ call, subject, terms }: Guarded, { outcome, rule }: Refusal): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "denied",
      id: records.id ? call.id : undefined,
      principal: call.carrier.principal,
      method: call.method,
      tool: records.tool ? subject.name : undefined,
      arguments: records.arguments ? argumentsOf(call) : undefined,
      decision: records.decision ? { allowed: false, rule } : undefined,
      outcome: records.outcome ? outcome : undefined,
      policy: terms.label,
    });
  }
}

/** What was asked with: arguments of tools and prompts, the argument being completed. */
function argumentsOf({ params }: Call): unknown {
  return params["arguments"] ?? params["argument"];
}
