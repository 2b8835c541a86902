// Writes an event as the middle of a JSON line: redacted, bounded, and free of everything that could end or forge a line.
import type { AuditEvent } from "./audit-event.js";
import { MAX_TEXT, redactString, redactValue } from "./redact.js";
import { MAYBE_SECRET } from "./secret-patterns.js";

/** JSON escapes C0 itself; these are the other characters that some reader takes for an end of line or a command. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029]/;
const UNSAFE_ALL = /[\u007f-\u009f\u2028\u2029]/g;
/** Printable ASCII without the quote and the backslash: text that needs no escaping. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** The event's fields as `,"name":value…`, in a fixed order. Fields that are undefined are left out. */
export function eventText(event: AuditEvent): string {
  const text = plainText(event);
  const safe = text !== undefined && text.length <= MAX_TEXT && !MAYBE_SECRET.test(text) ? text : redactedText(event);
  return UNSAFE.test(safe) ? safe.replace(UNSAFE_ALL, escape) : safe;
}

/** The common case: nothing to redact, so the event is written as it came. Undefined when it cannot be written at all. */
function plainText(event: AuditEvent): string | undefined {
  try {
    return fields(event, event.arguments, event.detail);
  } catch {
    return undefined;
  }
}

function redactedText(event: AuditEvent): string {
  const { decision } = event;
  const clean: AuditEvent = {
    kind: event.kind,
    id: typeof event.id === "string" ? redactString(event.id) : event.id,
    principal: redacted(event.principal),
    method: redacted(event.method),
    tool: redacted(event.tool),
    decision: decision && { allowed: decision.allowed, rule: redactString(decision.rule) },
    duration_ms: event.duration_ms,
    outcome: redacted(event.outcome),
    error_id: redacted(event.error_id),
    error: redacted(event.error),
    policy: redacted(event.policy),
  };
  return fields(clean, redactValue(event.arguments), redactValue(event.detail));
}

function redacted(text: string | undefined): string | undefined {
  return text === undefined ? undefined : redactString(text);
}

function fields(event: AuditEvent, args: unknown, detail: unknown): string {
  const { id, decision, duration_ms: duration } = event;
  let text = `,"kind":${quote(event.kind)}`;
  if (id !== undefined) text += `,"id":${typeof id === "number" ? JSON.stringify(id) : quote(id)}`;
  if (event.principal !== undefined) text += `,"principal":${quote(event.principal)}`;
  if (event.method !== undefined) text += `,"method":${quote(event.method)}`;
  if (event.tool !== undefined) text += `,"tool":${quote(event.tool)}`;
  if (args !== undefined) text += `,"arguments":${JSON.stringify(args) ?? "null"}`;
  if (decision) text += `,"decision":{"allowed":${decision.allowed === true},"rule":${quote(decision.rule)}}`;
  if (duration !== undefined) text += `,"duration_ms":${JSON.stringify(duration)}`;
  if (event.outcome !== undefined) text += `,"outcome":${quote(event.outcome)}`;
  if (event.error_id !== undefined) text += `,"error_id":${quote(event.error_id)}`;
  if (event.error !== undefined) text += `,"error":${quote(event.error)}`;
  if (event.policy !== undefined) text += `,"policy":${quote(event.policy)}`;
  if (detail !== undefined) text += `,"detail":${JSON.stringify(detail) ?? "null"}`;
  return text;
}

function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
