// Writes the audit records of guarded requests: what was meant, how it ended, what was refused.
import type { Call } from "@secure-local/mcp/server";
import type { AuditSink } from "../audit/audit-event.js";
import type { Rule } from "../policy/rule.js";
import { Connections } from "./connections.js";
import type { Fault } from "./fault-book.js";
import type { Refusal } from "./refusal.js";
import type { Subject } from "./subject.js";
import type { Terms } from "./terms.js";

/** A request and the terms it is judged by. */
export interface Guarded {
  readonly call: Call;
  readonly subject: Subject;
  readonly terms: Terms;
  /** The number of its session, or its own where it belongs to none. */
  readonly connection: number;
}

/** How a request ended, as the log names it. */
export interface Result {
  readonly outcome: "ok" | "error" | "denied" | "timeout" | "cancelled" | "input_required";
  readonly durationMs: number;
  readonly fault: Fault | undefined;
  /** What else there is to say: why it was cancelled, which error code it got. */
  readonly detail: Readonly<Record<string, unknown>> | undefined;
}

/** Every method but `begin` resolves when its record is safe, and rejects when it is not. */
export class Trail {
  readonly #audit: AuditSink;
  readonly #connections = new Connections();

  constructor(audit: AuditSink) {
    this.#audit = audit;
  }

  /** To be called once for each request. */
  begin(call: Call, subject: Subject, terms: Terms): Guarded {
    return { call, subject, terms, connection: this.#connections.numberOf(call) };
  }

  intent({ call, subject, terms, connection }: Guarded, { text, line }: Rule): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "call.intent",
      id: records.id ? call.id : undefined,
      connection: records.id ? connection : undefined,
      principal: call.carrier.principal,
      method: call.method,
      tool: records.tool ? subject.name : undefined,
      arguments: records.arguments ? argumentsOf(call) : undefined,
      decision: records.decision ? { allowed: true, rule: text, line } : undefined,
      policy: terms.label,
    });
  }

  result({ call, subject, terms, connection }: Guarded, { outcome, durationMs, fault, detail }: Result): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "call.result",
      id: records.id ? call.id : undefined,
      connection: records.id ? connection : undefined,
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

  /** What became of a question to a person. */
  approval(
    { call, subject, terms, connection }: Guarded,
    kind: "approval.asked" | "approval.given" | "approval.denied",
    { rule: { text, line }, detail }: { readonly rule: Rule; readonly detail: Readonly<Record<string, unknown>> },
  ): Promise<void> {
    const { records } = terms;
    const allowed = kind === "approval.given";
    return this.#audit.record({
      kind,
      id: records.id ? call.id : undefined,
      connection: records.id ? connection : undefined,
      principal: call.carrier.principal,
      method: call.method,
      tool: records.tool ? subject.name : undefined,
      arguments: records.arguments && kind === "approval.asked" ? argumentsOf(call) : undefined,
      decision: records.decision && kind !== "approval.asked" ? { allowed, rule: text, line } : undefined,
      policy: terms.label,
      detail,
    });
  }

  refused({ call, subject, terms, connection }: Guarded, { outcome, rule, line }: Refusal): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "denied",
      id: records.id ? call.id : undefined,
      connection: records.id ? connection : undefined,
      principal: call.carrier.principal,
      method: call.method,
      tool: records.tool ? subject.name : undefined,
      arguments: records.arguments ? argumentsOf(call) : undefined,
      decision: records.decision ? { allowed: false, rule, line } : undefined,
      outcome: records.outcome ? outcome : undefined,
      policy: terms.label,
    });
  }
}

/** What was asked with: arguments of tools and prompts, the argument being completed. */
function argumentsOf({ params }: Call): unknown {
  return params["arguments"] ?? params["argument"];
}
