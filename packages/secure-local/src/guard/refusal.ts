// The answers the guard gives instead of a handler's: results a model can act on for tools, errors for everything else.
import type { Answer, Call, LoggingLevel } from "@secure-local/mcp/server";
import { McpErrorCode, RpcError } from "@secure-local/mcp/server";
import { ErrorCode } from "@secure-local/mcp/jsonrpc";
import { AuditError, type AuditErrorCode } from "../audit/audit-event.js";
import { redactValue } from "../audit/redact.js";
import type { Decision } from "../policy/decide.js";
import { cleanValue } from "./cleaning/clean-result.js";
import { seconds } from "./deadline.js";
import { SlidingWindow } from "./rate-limits.js";
import type { Subject } from "./compiled-policy.js";

/** Why a request is not served, or not answered, and what its audit record says of it. */
export interface Refusal {
  readonly text: string;
  /** The rule behind it, for the record. */
  readonly rule: string;
  /** Where the rule stands in the policy file; absent where it is not the file's own. */
  readonly line?: number | undefined;
  readonly outcome: "denied" | "rate_limited" | "unknown";
  /** Why the thing itself is withheld, for the record; absent where the policy refuses. */
  readonly withheld?: string | undefined;
  readonly error: RpcError;
}

export function denied(subject: Subject, { rule, reason, withheld }: Decision): Refusal {
  const place = rule.line === undefined ? "" : ` (line ${rule.line} of the policy)`;
  const text = `Denied. ${reason} Rule: ${rule.text}${place}.`;
  const data = { path: subject.path, constraint: `a ${subject.kind} the policy allows`, rule: rule.text };
  const error = new RpcError(ErrorCode.InvalidParams, text, data);
  return { text, rule: rule.text, line: rule.line, outcome: "denied", error, withheld };
}

/** Nothing has this name; the codes are those the library itself gives. */
export function unknown({ kind, name, path }: Subject): Refusal {
  const rule = `there is no such ${kind}`;
  if (kind === "resource") {
    const text = `Resource not found: ${name}`;
    return { text, rule, outcome: "unknown", error: new RpcError(McpErrorCode.ResourceNotFound, text, { uri: name }) };
  }
  const text = `Unknown ${kind}: ${name}`;
  const data = { path, constraint: `the name of a ${kind} in ${kind}s/list` };
  return { text, rule, outcome: "unknown", error: new RpcError(ErrorCode.InvalidParams, text, data) };
}

/** `what` is over its limit of `limit` a minute; `key` is where the policy raises it, undefined where nothing does. */
export function limited(what: string, limit: number, { waitMs, key }: { waitMs: number; key?: string }): Refusal {
  const wait = Math.ceil(waitMs / 1_000);
  // A place is held a moment longer than the minute that it counts for.
  const until = wait > 60 ? "just over a minute" : `${wait} second${wait === 1 ? "" : "s"}`;
  const raise = key === undefined ? "" : ` To allow more, raise ${key} in the policy.`;
  const text = `Too many ${what}: at most ${limit} a minute are allowed. Try again in ${until}.${raise}`;
  const error = new RpcError(ErrorCode.InternalError, text, { retryAfterMs: Math.ceil(waitMs) });
  return { text, rule: `rate limit: ${limit} a minute`, outcome: "rate_limited", error };
}

export const NOT_RECORDED = "Not run: the audit log is unavailable, and calls that cannot be recorded are not made.";
export const WITHHELD = "The call ended, but the audit log became unavailable, so its result is withheld.";

/** What to do about a log that takes no records. Callers need not know where it lies; the server's stderr says that. */
export function logAdvice(error: unknown): string {
  const code = error instanceof AuditError ? error.code : "io";
  return LOG_ADVICE[code] ?? "Free space or repair the disk, or restart the server with another audit log.";
}

const LOG_ADVICE: Readonly<Partial<Record<AuditErrorCode, string>>> = {
  taken_away: "Its file was moved, removed or exchanged while the server ran: put it back, or restart the server.",
  foreign_writer:
    "Somebody else changed its file: check it with `mcp-secure-local audit verify`, then restart the server.",
  queue_full: "Too many records wait for the disk: try again when it answers.",
};

/** `task`: whether it had become one, which has a time limit of its own; `why`: what is known of the cause. */
export function timedOut(
  { kind, name }: Subject,
  ms: number,
  { task, why }: { readonly task: boolean; readonly why?: string | undefined },
): string {
  const key = task ? "task_timeout" : `timeouts.${kind === "tool" ? name : "default"}`;
  if (why !== undefined)
    return `The ${kind} ${name} timed out after ${seconds(ms)}: ${why}. The server's standard error shows what it wrote. If it only needs longer, raise tools.${key} in the policy.`;
  return `The ${kind} ${name} timed out after ${seconds(ms)}. To give it longer, raise tools.${key} in the policy.`;
}

/** Tools are answered with a result the model can read; everything else, and what does not exist, with an error. */
export function refuse(subject: Subject, refusal: Refusal): Answer | RpcError {
  return subject.kind === "tool" && refusal.outcome !== "unknown" ? toolFailure(refusal.text) : refusal.error;
}

/** For a request the guard could not bring to an end. */
export function giveUp(subject: Subject, text: string): Answer | RpcError {
  return subject.kind === "tool" ? toolFailure(text) : new RpcError(ErrorCode.InternalError, text);
}

function toolFailure(text: string): Answer {
  return { content: [{ type: "text", text }], isError: true };
}

type Told = Readonly<Record<"text" | "rule", string>>;

/** What is told of a call that nobody lets go on, and by which rule. */
export const UNKNOWN_CALL: Told = Object.freeze({
  text: "Denied. The policy was changed while this call began. Make it again.",
  rule: "approvals",
});

export const UNTOLD =
  "The call ended, but what the processes of this server share cannot be reached (UNREACHABLE), so its result is withheld: the others have to know what was read.";

export const UNTOLD_QUESTION =
  "What the processes of this server share cannot be reached (UNREACHABLE), so the question is not passed on: the others have to know what was read.";

export const NO_CALL: Told = Object.freeze({
  text: "Denied. Nothing is done outside of a call that is under way.",
  rule: "plugins act within a call",
});

// Tells callers what the guard did, as log messages of theirs and nobody else's.

/** Ranks of the levels used here, as the protocol counts them from 0 for debug. */
const RANKS: Readonly<Record<Extract<LoggingLevel, "notice" | "warning">, number>> = { notice: 2, warning: 3 };
/** Messages a minute for everybody together: a client that is refused all the time need not be told all the time. */
const MESSAGES = 120;

export class ClientLog {
  readonly #window = new SlidingWindow();
  readonly #own = new WeakSet();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sends a message that belongs to the request, if its caller wants that level. Secrets are taken out. */
  send(call: Call, level: keyof typeof RANKS, data: Readonly<Record<string, unknown>>): void {
    if (RANKS[level] < call.caller.logLevel || this.#window.take(MESSAGES, this.#now()) > 0) return;
    const params = { level, logger: "guard", data: cleanValue(redactValue(data)) };
    this.#own.add(params);
    void call.notify("notifications/message", params);
  }

  /** Whether a message is ours, and tells of nothing that was read. */
  isOwn(params: object): boolean {
    return this.#own.has(params);
  }
}

/** @throws RpcError when that is what there is to tell. */
export function answerOf(told: Answer | RpcError): Answer {
  if (told instanceof RpcError) throw told;
  return told;
}
