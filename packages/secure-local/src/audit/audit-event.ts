// Names what the audit log records: the kinds of event, their fields, and the interface every sink has.

/** What happened. One JSON line is written for each. */
export type AuditKind =
  | "start"
  | "stop"
  | "policy.loaded"
  | "policy.rejected"
  | "lock.loaded"
  | "lock.rejected"
  | "call.intent"
  | "call.result"
  | "denied"
  | "plugins.changed"
  | "plugins.quarantined"
  | "plugin.runs"
  | "approval.asked"
  | "approval.given"
  | "approval.denied"
  | "log.repaired"
  | "log.truncated";

/** What was decided, by which rule, and the line of the policy file it stands in. */
export interface Verdict {
  readonly allowed: boolean;
  readonly rule: string;
  /** Absent where the rule is not the file's own. */
  readonly line?: number | undefined;
}

/**
 * One event. Every text and the arguments are redacted (see `redact.ts`) and cut to fixed limits before they are
 * written; `seq`, `prev`, `time` and `hash` are added by the log.
 */
export interface AuditEvent {
  readonly kind: AuditKind;
  /** The client's id of the request. */
  readonly id?: string | number | undefined;
  /** Number of the session or the single request, counted since the start: with `id` it ties an intent to its result. */
  readonly connection?: number | undefined;
  /** Who asked, as the transport knows it. */
  readonly principal?: string | undefined;
  /** The MCP method, for example `tools/call`. */
  readonly method?: string | undefined;
  /** Name of the tool or prompt, or URI of the resource. */
  readonly tool?: string | undefined;
  readonly arguments?: unknown;
  readonly decision?: Verdict | undefined;
  readonly duration_ms?: number | undefined;
  /** How it ended: `ok`, `error`, `timeout`, `cancelled`, … */
  readonly outcome?: string | undefined;
  /** The id a caller was given instead of the text of an exception. */
  readonly error_id?: string | undefined;
  /** Text of an exception. It appears here and nowhere else. */
  readonly error?: string | undefined;
  /** Short hash of the policy in force. */
  readonly policy?: string | undefined;
  /** Whatever else belongs to this kind of event. */
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** Where events go. */
export interface AuditSink {
  /** Resolves once the record is safe; rejects with an `AuditError` when it is not, and then nothing may be run. */
  record(event: AuditEvent): Promise<void>;
  /** Writes what waits, then lets go of the file. */
  close(): Promise<void>;
  /** The fault that keeps the log from recording, or undefined while all is well. */
  readonly failure: Error | undefined;
}
