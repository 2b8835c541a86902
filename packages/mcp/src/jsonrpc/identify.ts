// Reads who a refused message is from (its request id), without parsing it and without being fooled by it.
import { isRequestId, type RequestId } from "./message.js";
import type { Excerpt } from "./transport.js";
import { closingQuote, endOfValue } from "./scan.js";

export interface Identity {
  /** Set only for a request whose id stands once at the top level. */
  readonly id: RequestId | undefined;
  /** True for an object that shows a method and no id: a notification, which is never answered. */
  readonly silent: boolean;
}

interface Members {
  ids: number;
  id: unknown;
  method: boolean;
  response: boolean;
}

// Many senders put the id last, after the params: then it stands right before the brace that ends the message.
const LAST_ID = /[{,]\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;
const NOBODY: Identity = { id: undefined, silent: false };
const NOTIFICATION: Identity = { id: undefined, silent: true };

// Enough for the members before the params, and for the id after them.
const HEAD_LENGTH = 4_096;
const TAIL_LENGTH = 256;
// An id longer than this is not worth reading out of a message that is refused anyway.
const LONGEST_ID = 1_024;

/** What `identify` needs to see of a text that is too costly to look at as a whole. */
export function excerpt(text: string): Excerpt {
  if (text.length <= HEAD_LENGTH) return { head: text, tail: undefined };
  return { head: text.slice(0, HEAD_LENGTH), tail: text.slice(-TAIL_LENGTH) };
}

/** Looks at the whole text when there is no `tail`. Linear in what it looks at. */
export function identify({ head, tail }: Excerpt): Identity {
  const members = topLevelMembers(head);
  if (members === undefined || !members.method || members.response) return NOBODY;
  if (members.ids === 0 && tail !== undefined) {
    const last = LAST_ID.exec(tail)?.[1];
    if (last !== undefined) {
      members.ids = 1;
      members.id = literal(last);
    }
  }
  if (members.ids === 0) return (tail ?? head).trimEnd().endsWith("}") ? NOTIFICATION : NOBODY;
  return members.ids === 1 && isRequestId(members.id) ? { id: members.id, silent: false } : NOBODY;
}

/** The request that an unreadable response answers; undefined for anything that shows no result and no error. */
export function answeredId({ head, tail }: Excerpt): RequestId | undefined {
  const members = topLevelMembers(head);
  if (members === undefined || members.method || !members.response || members.ids > 1) return undefined;
  const last = members.ids === 0 ? LAST_ID.exec(tail ?? head)?.[1] : undefined;
  const id = last === undefined ? members.id : literal(last);
  return isRequestId(id) ? id : undefined;
}

/** Whether a text begins as a response whose id has not been seen so far. */
export function isAnswerWithoutId(head: string): boolean {
  const members = topLevelMembers(head);
  return members !== undefined && members.response && members.ids === 0;
}

// Tolerant: reads members until the text ends or stops looking like an object.
function topLevelMembers(text: string): Members | undefined {
  const found: Members = { ids: 0, id: undefined, method: false, response: false };
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return undefined;
  do {
    const keyStart = skipSpace(text, at + 1);
    const keyEnd = text[keyStart] === '"' ? closingQuote(text, keyStart) : -1;
    if (keyEnd < 0) break;
    const colon = skipSpace(text, keyEnd + 1);
    if (text[colon] !== ":") break;
    const start = skipSpace(text, colon + 1);
    at = endOfValue(text, start);
    note(found, keyText(text.slice(keyStart, keyEnd + 1)), text.slice(start, Math.min(at, start + LONGEST_ID)));
  } while (text[at] === ",");
  return found;
}

function note(found: Members, key: string, raw: string): void {
  if (key === "id") {
    found.ids++;
    found.id = literal(raw.trimEnd());
  } else if (key === "method") {
    found.method = raw.startsWith('"');
  } else if (key === "result" || key === "error") {
    found.response = true;
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 32) at++;
  return at;
}

function keyText(raw: string): string {
  return raw.includes("\\") ? String(literal(raw)) : raw.slice(1, -1);
}

function literal(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
