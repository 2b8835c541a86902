// The newest revision, and the names of all: what a program needs that meets no client of an older one.
import { REVISION_2026_07_28 } from "./2026-07-28.js";
import type { Revision } from "./revision.js";

export const NEWEST: Revision = REVISION_2026_07_28;

/** The dates of all revisions, newest first. */
export const DATES: readonly string[] = [NEWEST.date, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/** Requests that a client may send in some revision and not in the newest. */
const OLDER_METHODS = /^(?:initialize|ping|resources\/(?:un)?subscribe|logging\/setLevel|tasks\/(?:list|result))$/;

/** Notifications that a server may send in some revision and not in the newest. */
const OLDER_NOTIFICATIONS = /^notifications\/(?:elicitation\/complete|tasks\/status)$/;

/** Whether a method is a request of the specification, in any revision. */
export function isSpecifiedMethod(method: string): boolean {
  return NEWEST.methods.has(method) || OLDER_METHODS.test(method);
}

/** Whether a method is a notification that servers send by the specification, in any revision. */
export function isSpecifiedNotification(method: string): boolean {
  return NEWEST.serverNotifications.has(method) || OLDER_NOTIFICATIONS.test(method);
}
