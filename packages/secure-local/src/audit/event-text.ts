// Writes an event as the middle of a JSON line: redacted, bounded, and free of everything that could end or forge a line.
import type { AuditEvent } from "./audit-event.js";
import { escapeUnseen } from "./escape-unseen.js";
import { MAX_TEXT, redactString, redactValue } from "./redact.js";
import { mayHoldSecret } from "./secret-patterns.js";

/** The event's fields as `,"name":value…`, in a fixed order. Fields that are undefined are left out. Never throws. */
export function eventText(event: AuditEvent): string {
  const { id, connection, decision, duration_ms: duration } = event;
  let text = `,"kind":${usualText(event.kind)}`;
  if (id !== undefined) text += `,"id":${typeof id === "number" ? JSON.stringify(id) : anyText(id)}`;
  if (connection !== undefined) text += `,"connection":${connection}`;
  if (event.principal !== undefined) text += `,"principal":${usualText(event.principal)}`;
  if (event.method !== undefined) text += `,"method":${usualText(event.method)}`;
  if (event.tool !== undefined) text += `,"tool":${usualText(event.tool)}`;
  if (event.arguments !== undefined) text += `,"arguments":${valueText(event.arguments)}`;
  if (decision) {
    const line = decision.line === undefined ? "" : `,"line":${decision.line}`;
    text += `,"decision":{"allowed":${decision.allowed},"rule":${usualText(decision.rule)}${line}}`;
  }
  if (duration !== undefined) text += `,"duration_ms":${JSON.stringify(duration)}`;
  if (event.outcome !== undefined) text += `,"outcome":${usualText(event.outcome)}`;
  if (event.error_id !== undefined) text += `,"error_id":${anyText(event.error_id)}`;
  if (event.error !== undefined) text += `,"error":${anyText(event.error)}`;
  if (event.policy !== undefined) text += `,"policy":${usualText(event.policy)}`;
  if (event.detail !== undefined) text += `,"detail":${valueText(event.detail)}`;
  return text;
}

/** Texts kept with their written form: the names, rules and outcomes of a server fit many times over. */
const MAX_USUAL = 512;
/** Longer texts are rarely the same twice. */
const MAX_USUAL_LENGTH = 128;
const usual = new Map<string, string>();

/** A text of which a server has few: its written form is made once. */
function usualText(text: string): string {
  const known = usual.get(text);
  if (known !== undefined) return known;
  const written = anyText(text);
  if (text.length <= MAX_USUAL_LENGTH) {
    if (usual.size >= MAX_USUAL) usual.clear();
    usual.set(text, written);
  }
  return written;
}

function anyText(text: string): string {
  if (text.length <= MAX_TEXT && !mayHoldSecret(text)) return JSON.stringify(text);
  return escapeUnseen(JSON.stringify(redactString(text)));
}

/**
 * The common value is short, holds no secret and is written as it is; only others are copied, cut and redacted first. What
 * a reader of the log would not see counts as what may hold a secret, so that a plain text needs no second look.
 */
function valueText(value: unknown): string {
  const plain = hasLongText(value) ? undefined : json(value);
  if (plain !== undefined && plain.length <= MAX_TEXT && !mayHoldSecret(plain)) return plain;
  return escapeUnseen(json(redactValue(value)) ?? "null");
}

/** Whether a text right inside the value is longer than a record keeps: a megabyte need not be written to be cut. */
function hasLongText(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  try {
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key];
      if (typeof member === "string" && member.length > MAX_TEXT) return true;
    }
    return false;
  } catch {
    return true;
  }
}

/** Undefined when the value cannot be written: it is cyclic, too deep, or throws when it is read. */
function json(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
