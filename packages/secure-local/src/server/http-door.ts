// Lets in over HTTP whoever has the one token of this server, and records who had not.
import {
  type Authenticator,
  type AuthOutcome,
  type AuthRequest,
  staticTokenAuthenticator,
} from "@secure-local/mcp/auth";
import type { HttpAuthorization } from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import { SlidingWindow } from "../guard/sliding-window.js";
import type { MemoryGate } from "./memory-gate.js";

/** Who has the token: the person who started the server. Handlers and the audit log know callers by this name. */
export const OWNER = "owner";

/** Refusals recorded a minute: enough to see an attack, too few to fill a disk with. */
const RECORDS = 60;

export interface HttpDoorOptions {
  readonly token: string;
  readonly audit: AuditSink;
  /** Told of every request without the token. */
  readonly onRefused: () => void;
  /** Asked about whoever has it. */
  readonly gate: Pick<MemoryGate, "refusal">;
}

/** Every request without the token is told to `onRefused`, and so many a minute are one record each in the audit log. */
export function httpDoor({ token, audit, onRefused, gate }: HttpDoorOptions): HttpAuthorization {
  const window = new SlidingWindow();
  return {
    authenticator: behind(gate, staticTokenAuthenticator([{ token, principal: OWNER }])),
    onRefused({ status, message }, { path }) {
      if (status === NO_ROOM) return;
      onRefused();
      if (window.take(RECORDS, performance.now()) === 0) void record(audit, path, message);
    },
  };
}

/** Of a refusal that has nothing to do with the token. */
const NO_ROOM = 503;

/** Strangers hear that they are strangers, whatever else there is to say. */
function behind(gate: HttpDoorOptions["gate"], tokens: Authenticator): Authenticator {
  const judge = (request: AuthRequest, outcome: AuthOutcome): AuthOutcome => {
    const refusal = outcome.ok ? gate.refusal(request) : undefined;
    if (refusal === undefined) return outcome;
    const { text, ...answer } = refusal;
    return { ok: false, ...answer, challenge: "", error: "temporarily_unavailable", message: text };
  };
  return {
    authenticate(request) {
      const outcome = tokens.authenticate(request);
      return outcome instanceof Promise ? outcome.then((later) => judge(request, later)) : judge(request, outcome);
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
