// Lets in over HTTP whoever has the one token of this server, and records who had not.
import { timingSafeEqual } from "node:crypto";
import { requestGate, staticTokenAuthenticator } from "@secure-local/mcp/auth";
import type { Authenticate } from "@secure-local/mcp/http";
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

export function httpDoor({ token, audit, onRefused }: HttpDoorOptions): Authenticate {
  const gate = requestGate(staticTokenAuthenticator([{ token, principal: OWNER }]));
  const usual = Buffer.from(`Bearer ${token}`);
  const window = new SlidingWindow();
  const judge: Authenticate = async (head) => {
    const outcome = await gate.authenticate(head);
    if (typeof outcome === "string") return outcome;
    onRefused();
    if (window.take(RECORDS, performance.now()) === 0) void record(audit, head.path, outcome.text);
    return outcome;
  };
  // Nearly every request brings the token in its usual form, and is worth no more than one comparison.
  return (head) => {
    const header = head.query === "" ? head.header("authorization") : undefined;
    return header !== undefined && isSame(Buffer.from(header), usual) ? OWNER : judge(head);
  };
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Nobody waits for this record: the request is refused whether or not the log can take it. */
function record(audit: AuditSink, path: string, reason: string): Promise<void> {
  const decision = { allowed: false, rule: "serve: bearer token" };
  return audit
    .record({ kind: "denied", outcome: "unauthorized", decision, detail: { path, reason } })
    .catch(() => undefined);
}
