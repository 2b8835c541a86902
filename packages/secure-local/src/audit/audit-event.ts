// Names what the audit log records: the kinds of event, their fields, and the interface every sink has.

/** What happened. One JSON line is written for each. */
type AuditKind =
  | "start"
  | "stop"
  | "policy.loaded"
  | "policy.rejected"
  | "people.changed"
  | "people.ended"
  | "people.rejected"
  | "lock.loaded"
  | "lock.rejected"
  | "call.intent"
  | "call.result"
  | "denied"
  | "plugins.changed"
  | "plugins.quarantined"
  | "plugin.runs"
  | "plugin.fetches"
  | "plugin.keeps"
  | "server.started"
  | "server.quarantined"
  | "server.asked"
  | "server.answered"
  | "server.login"
  | "approval.asked"
  | "approval.given"
  | "approval.denied"
  | "approval.taken_back"
  | "sandbox.begun"
  | "sandbox.refused"
  | "sandbox.ended"
  | "recording.begun"
  | "recording.ended"
  | "cluster.joined"
  | "cluster.heads"
  | "checkpoints.away"
  | "checkpoints.back"
  | "cluster.away"
  | "cluster.back"
  | "log.repaired"
  | "log.truncated"
  | "log.restored";

/** What was decided, by which rule, and the line of the policy file it stands in. */
interface Verdict {
  readonly allowed: boolean;
  readonly rule: string;
  /** Absent where the rule is not the file's own. */
  readonly line?: number | undefined;
}

/** The request that was sent to a server of the policy for a call. */
export interface UpstreamHop {
  /** Date of the revision the server speaks. */
  readonly revision: string;
  /** How it is reached: `stdio`, `http`, … */
  readonly transport: string;
  /** Ids of the request on that hop: one that is sent again, or answers a question, has another. */
  readonly ids?: readonly (string | number)[] | undefined;
  /** When it was sent, as a text like that of `time`. */
  readonly sent: string;
  /** Milliseconds until the server's answer; absent where the record was written before it came. */
  readonly ms?: number | undefined;
}

/**
 * One event. Every text and the arguments are redacted (see `event-text.ts`) and cut to fixed limits before they are
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
  /** What the client calls itself, with its version: its own words, for people who read the log and for no decision. */
  readonly client?: string | undefined;
  /** Date of the revision the client speaks; only where `server` is. */
  readonly revision?: string | undefined;
  /** The profile the call was made under; absent for the whole policy. */
  readonly profile?: string | undefined;
  /** The MCP method, for example `tools/call`. */
  readonly method?: string | undefined;
  /** Name of the tool or prompt, or URI of the resource. */
  readonly tool?: string | undefined;
  /** The server of the policy whose tool, prompt or resource that is; absent for our own. */
  readonly server?: string | undefined;
  /** The call's way to that server. */
  readonly upstream?: UpstreamHop | undefined;
  readonly arguments?: unknown;
  readonly decision?: Verdict | undefined;
  readonly duration_ms?: number | undefined;
  /** How it ended: `ok`, `error`, `timeout`, `cancelled`, … */
  readonly outcome?: string | undefined;
  /** What the caller was answered with, as it left: cleaned. Only where the policy says `audit.results`. */
  readonly result?: unknown;
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
  /** Whether signed checkpoints of it can be written; undefined where none are. */
  readonly checkpoints?: { readonly fault: string | undefined } | undefined;
}

// The one error of the audit layer: a record could not be kept, or a log cannot be used.

/**
 * Why: the file failed, was written by somebody else, no longer has its name, is not one of ours, is in use; too much waits,
 * or the log is closed.
 */
export type AuditErrorCode = "io" | "foreign_writer" | "taken_away" | "not_ours" | "in_use" | "queue_full" | "closed";

export class AuditError extends Error {
  readonly code: AuditErrorCode;
  readonly file: string;

  constructor(code: AuditErrorCode, file: string, message: string, options?: ErrorOptions) {
    super(`${file}: ${message}`, options);
    this.name = "AuditError";
    this.code = code;
    this.file = file;
  }
}

const CANNOT_OPEN = {
  what: "the audit log cannot be opened",
  advice: "Fix it, or name another file with --audit FILE, or audit.log_file in the policy.",
};

/** Runs an action whose errors mean that the log cannot be opened. */
export function orAuditError<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw toAuditError(error, file, CANNOT_OPEN);
  }
}

/** The error itself when it is ours; otherwise one that says what failed, why, and what to do. */
export function toAuditError(error: unknown, file: string, text: { what: string; advice: string }): AuditError {
  if (error instanceof AuditError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new AuditError("io", file, `${text.what} (${why}). ${text.advice}`, { cause: error });
}
