// Lets in over HTTP whoever has the one token of this server, and records who had not.
import { staticTokenAuthenticator } from "@secure-local/mcp/auth";
import type { HttpAuthorization } from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import { SlidingWindow } from "../guard/sliding-window.js";

/** Who has the token: the person who started the server. Handlers and the audit log know callers by this name. */
export const OWNER = "owner";

/** Refusals recorded a minute: enough to see an attack, too few to fill a disk with. */
const RECORDS = 60;

export interface HttpDoorOptions {
  readonly token: string;
  readonly audit: AuditSink;
  /** Told of every refusal. */
  readonly onRefused: () => void;
}

/** Every request that is refused is told to `onRefused`, and so many a minute are one record each in the audit log. */
export function httpDoor({ token, audit, onRefused }: HttpDoorOptions): HttpAuthorization {
  const window = new SlidingWindow();
  return {
    authenticator: staticTokenAuthenticator([{ token, principal: OWNER }]),
    onRefused({ message }, { path }) {
      onRefused();
      if (window.take(RECORDS, performance.now()) === 0) void record(audit, path, message);
    },
  };
}

/** Nobody waits for this record: the request is refused whether or not the log can take it. */
function record(audit: AuditSink, path: string, reason: string): Promise<void> {
  const decision = { allowed: false, rule: "serve: bearer token" };
  return audit
    .record({ kind: "denied", outcome: "unauthorized", decision, detail: { path, reason } })
    .catch(() => undefined);
}
