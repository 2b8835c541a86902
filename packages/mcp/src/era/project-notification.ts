// Projects what a server notifies its client of.
import type { Revision } from "../protocol/revisions/revision.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import type { DetailedTask } from "../protocol/extensions/task.js";
import { pick } from "./project-members.js";
import { projectResult } from "./project-result.js";
import { requestedTask } from "./project-task.js";

/** Every notification the specification knows; others are a program's own and pass as they are. */
const KNOWN: ReadonlySet<string> = new Set(REVISIONS.flatMap((revision) => [...revision.serverNotifications]));

/** Params of a notification, or undefined when the revision lacks it. */
export function projectNotification(revision: Revision, method: string, params: object): object | undefined {
  if (!revision.serverNotifications.has(method)) return KNOWN.has(method) ? undefined : params;
  switch (method) {
    case "notifications/progress":
      return pick(params, revision.fields.progress);
    case "notifications/tasks":
      return projectResult(revision, "task", params);
    case "notifications/tasks/status":
      return requestedTask(params as DetailedTask);
    default:
      return params;
  }
}
